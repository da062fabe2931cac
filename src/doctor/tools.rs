//! The tools and libraries that a link would use, and what is missing.

use super::devices::Devices;
use crate::Error;
use crate::loader::Loader;
use crate::options::{Choice, Options};
use crate::output_file;
use crate::pipeline::host::{DEFAULT_HOST, Host};
use crate::pipeline::work_dir::WorkDir;
use crate::process::Tool;
use crate::request::{LinkLine, Style};
use crate::toolchain::llvm::makes_spirv;
use crate::toolchain::omptarget::Wanted;
use crate::toolchain::{NotFound, Toolchain};
use offlink_bundle::entry::Generation;
use offlink_bundle::host_object::Platform;
use offlink_llvm::Library;
use offlink_ptx::PtxVersion;
use offlink_ptx::ptxas::{self, Complaint};
use serde::Serialize;
use std::path::Path;

/// All that a link on this machine can use.
#[derive(Debug, Serialize)]
pub struct Found {
    /// One for each tool, in the order in which a link needs them.
    pub tools: Vec<ToolReport>,
    /// One for each sort of target.
    pub targets: Vec<TargetReport>,
    /// The devices of this machine.
    #[serde(flatten)]
    pub devices: Devices,
}

/// One tool or library.
#[derive(Debug, Default, Serialize)]
pub struct ToolReport {
    /// What it is.
    pub name: &'static str,
    /// Where it is.
    pub path: Option<String>,
    /// Why it is this one: `named`, `CUDA_HOME`, `PATH` …
    pub rule: Option<&'static str>,
    /// Its version, and what else decides what it can do.
    pub version: Option<String>,
    /// Why it can't be used, with a remedy.
    pub problem: Option<String>,
    /// It was named by an option or the environment.
    pub named: bool,
    /// The folder that a program needs in its run path to find it, if it does.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub run_path: Option<String>,
}

/// Whether images for one sort of target can be made.
#[derive(Debug, Serialize)]
pub struct TargetReport {
    /// The triple, or what else needs tools.
    pub target: &'static str,
    /// The tools that are missing; none if all is there.
    pub missing: Vec<&'static str>,
}

impl Found {
    /// Whether all that is named can be used.
    pub fn is_usable(&self) -> bool {
        let mut named = self.tools.iter().filter(|tool| tool.named);
        named.all(|tool| tool.problem.is_none())
    }
}

/// The names of the rows, by which targets refer to them.
const LLVM: &str = "libLLVM";
const BUILT_IN: &str = "built in";
const LLVM_SPIRV: &str = "libLLVM for SPIR-V";
const PTXAS: &str = "ptxas";
const LLD: &str = "lld";
const DRIVER: &str = "compiler driver";
const OMPTARGET: &str = "libomptarget";

/// Looks for everything as a link would that is started here.
///
/// # Errors
/// [`Error`] when there is no place for a temporary file.
pub fn find(options: &Options, toolchain: &Toolchain, devices: &Devices) -> Result<Found, Error> {
    let named = toolchain.named();
    let tools = vec![
        rust(toolchain),
        llvm(toolchain, named.llvm.as_deref()),
        llvm_for_spirv(toolchain, named.llvm.as_deref()),
        ptxas(toolchain.ptxas(), named.ptxas.is_some())?,
        tool("nvlink", toolchain.nvlink(), named.nvlink.is_some()),
        tool(LLD, toolchain.lld(), named.lld.is_some()),
        tool(
            "spirv-link",
            toolchain.spirv_link(),
            named.spirv_link.is_some(),
        ),
        tool(
            DRIVER,
            toolchain.host_linker_tool(Style::Cc),
            named.host_linker.is_some(),
        ),
        other_hosts(toolchain, named.cc.is_some()),
        tool(
            "linker of ld lines",
            toolchain.host_linker_tool(Style::Ld),
            false,
        ),
        omptarget(toolchain, &options.omptarget),
    ];
    let missing = |needed: &[&'static str]| {
        let lacks = |name: &&&str| {
            let mut rows = tools.iter().filter(|tool| tool.name == **name);
            rows.any(|tool| tool.problem.is_some())
        };
        needed.iter().filter(lacks).copied().collect()
    };
    let targets = [
        ("nvptx64-nvidia-cuda", &[LLVM, PTXAS][..]),
        ("amdgcn-amd-amdhsa", &[LLVM, LLD]),
        ("x86_64-unknown-linux-gnu", &[LLVM, DRIVER]),
        ("spirv64", &[LLVM_SPIRV]),
        ("OpenMP programs", &[DRIVER, OMPTARGET]),
    ];
    let targets = targets.map(|(target, needed)| TargetReport {
        target,
        missing: missing(needed),
    });
    Ok(Found {
        targets: targets.into(),
        tools,
        devices: Devices {
            found: devices.found.clone(),
            notes: devices.notes.clone(),
        },
    })
}

fn rust(toolchain: &Toolchain) -> ToolReport {
    let name = "Rust toolchain";
    match toolchain.rust().first() {
        Some(sysroot) => ToolReport {
            name,
            path: Some(sysroot.path.display().to_string()),
            rule: Some(sysroot.rule),
            ..ToolReport::default()
        },
        None => ToolReport {
            name,
            problem: Some(
                "none was found, and none is needed if libLLVM and lld come from elsewhere; \
                 rustup installs one"
                    .into(),
            ),
            ..ToolReport::default()
        },
    }
}

/// The library that bitcode of any age gets if nothing newer is needed.
fn llvm(toolchain: &Toolchain, named: Option<&Path>) -> ToolReport {
    let candidates = toolchain.llvm_candidates();
    let first = candidates.first();
    let mut report = ToolReport {
        name: LLVM,
        named: named.is_some(),
        ..ToolReport::default()
    };
    match toolchain.llvm([]) {
        Ok(library) => {
            let (version, targets) = (library.version(), library.targets().join(", "));
            report.path = Some(library.path().display().to_string());
            report.rule = match named {
                Some(_) => Some("named"),
                None if Library::IS_BUILT_IN => Some(BUILT_IN),
                None => first.map(|candidate| candidate.rule),
            };
            report.version = Some(format!("{version}, for {targets}"));
        }
        Err(error) => report.problem = Some(error.to_string()),
    }
    report
}

fn llvm_for_spirv(toolchain: &Toolchain, named: Option<&Path>) -> ToolReport {
    let candidates = toolchain.llvm_candidates();
    let found = match named {
        Some(path) => makes_spirv(path).then_some((path, "named")),
        // It always has that backend.
        None if Library::IS_BUILT_IN => toolchain
            .llvm([])
            .ok()
            .map(|library| (library.path(), BUILT_IN)),
        None => candidates
            .iter()
            .find(|candidate| makes_spirv(&candidate.path))
            .map(|candidate| (candidate.path.as_path(), candidate.rule)),
    };
    let mut report = ToolReport {
        name: LLVM_SPIRV,
        ..ToolReport::default()
    };
    match found {
        Some((path, rule)) => {
            report.path = Some(path.display().to_string());
            report.rule = Some(rule);
        }
        None => {
            report.problem = Some(
                "no libLLVM has that backend (rustc's has none, Debian's libllvm22 has it); name \
                 one with --offlink-llvm=PATH or OFFLINK_LLVM"
                    .into(),
            );
        }
    }
    report
}

/// A tool that says its version.
fn tool(name: &'static str, found: Result<Tool, NotFound>, named: bool) -> ToolReport {
    let mut report = ToolReport {
        name,
        named,
        ..ToolReport::default()
    };
    let tool = match found {
        Ok(tool) => tool,
        Err(error) => {
            report.problem = Some(error.to_string());
            return report;
        }
    };
    report.path = Some(tool.path.display().to_string());
    report.rule = Some(tool.rule);
    let mut arguments = Vec::new();
    if offlink_hsaco::lld::is_generic_driver(&tool.path) {
        arguments.extend(["-flavor".into(), "gnu".into()]);
    }
    arguments.push("--version".into());
    match tool.run(&arguments, "its version") {
        Ok(printed) => report.version = Some(version(&printed)),
        Err(error) => report.problem = Some(error.to_string()),
    }
    report
}

/// What follows "release" in what NVIDIA's tools print, else the first line.
fn version(printed: &str) -> String {
    let release = printed.split_once("release ").map(|(_, rest)| rest);
    let release = release.and_then(|rest| rest.split(',').next());
    let first = || printed.lines().next().unwrap_or_default();
    release.unwrap_or_else(first).trim().to_owned()
}

/// ptxas, with the newest PTX that it takes, which it tells when it gets newer.
fn ptxas(found: Result<Tool, NotFound>, named: bool) -> Result<ToolReport, Error> {
    const NEWER_THAN_ALL: &str = ".version 99.0\n.target sm_90\n.address_size 64\n";
    let newest = match &found {
        Ok(tool) => {
            let work_dir = WorkDir::new(None, "doctor")?;
            let file = work_dir.file("ptx");
            output_file::write_bytes(&file, NEWER_THAN_ALL.as_bytes())?;
            let arguments = ["--output-file".into(), "/dev/null".into(), file.into()];
            let complaint = tool.run(&arguments, "the newest PTX");
            newest_ptx(complaint.err().as_ref().map_or("", |error| error.stderr()))
        }
        Err(_) => None,
    };
    let mut report = tool(PTXAS, found, named);
    if let (Some(version), Some(newest)) = (&mut report.version, newest) {
        *version += &format!(", for PTX up to {newest}");
    }
    Ok(report)
}

fn newest_ptx(stderr: &str) -> Option<PtxVersion> {
    match ptxas::complaint(stderr) {
        Some(Complaint::VersionTooNew { newest }) => Some(newest),
        _ => None,
    }
}

/// The compiler of registration code for hosts that offlink has none for, of
/// which AArch64 is one.
fn other_hosts(toolchain: &Toolchain, named: bool) -> ToolReport {
    let (name, triple) = ("cc for other hosts", "aarch64-unknown-linux-gnu");
    let platform = Platform::from_triple(triple);
    let compiler = platform.map(|platform| toolchain.compiler(Style::Ld, platform, triple));
    match compiler {
        Ok(found) => tool(name, found.map(|found| found.tool), named),
        Err(error) => ToolReport {
            name,
            problem: Some(error.to_string()),
            ..ToolReport::default()
        },
    }
}

fn omptarget(toolchain: &Toolchain, choice: &Choice) -> ToolReport {
    let platform = Host::of_triple(DEFAULT_HOST).platform;
    let mut report = ToolReport {
        name: OMPTARGET,
        named: matches!(choice, Choice::Named(_)),
        ..ToolReport::default()
    };
    let found = toolchain.omptarget(&Wanted {
        choice,
        platform,
        entries: Generation::default(),
        line: &LinkLine::default(),
    });
    match found {
        Ok(library) => {
            report.path = Some(library.path.display().to_string());
            report.rule = Some(library.rule);
            let run_path = library.run_path(&Loader::new(platform, None));
            report.run_path = run_path.map(|dir| dir.display().to_string());
            report.version = library
                .version
                .map(|(major, minor)| format!("{major}.{minor}"));
        }
        Err(error) => report.problem = Some(error.to_string()),
    }
    report
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions() {
        let nvidias = "ptxas: NVIDIA (R) Ptx\nCuda compilation tools, release 13.0, V13.0.88\n";
        assert_eq!(version(nvidias), "13.0");
        assert_eq!(
            version("GNU ld (GNU Binutils) 2.40\nmore"),
            "GNU ld (GNU Binutils) 2.40"
        );
        assert_eq!(version(""), "");
    }
}
