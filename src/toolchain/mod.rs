//! Finding libLLVM, ptxas, nvlink, lld and the host linker.
//!
//! What was named by flag, environment or toolchain file, in this order, is used or
//! is an error; only what was not named is looked for, and in a hermetic link not
//! even that.

mod cuda;
mod declared;
mod device_libraries;
mod file;
pub mod llvm;
pub mod omptarget;
pub mod rust;
mod search;

pub use device_libraries::DeviceLibraries;
pub use file::{ToolchainFile, ToolchainFileError};
pub use llvm::LlvmError;
pub use search::NotFound;

use crate::device_input::DeviceInput;
use crate::files;
use crate::options::{Choice, ToolPaths};
use crate::process::{Environment, Tool};
use crate::request::Style;
use file::Key;
use llvm::Candidate;
use offlink_bundle::host_object::{Format, Platform};
use offlink_llvm::Library;
use omptarget::{Omptarget, OmptargetError, Wanted};
use rust::Sysroot;
use search::{Rules, Search, undeclared};
use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

/// Where the tools of one link are.
#[derive(Clone, Debug)]
pub struct Toolchain {
    /// By flag or environment.
    chosen: ToolPaths,
    /// Also by the toolchain file.
    named: ToolPaths,
    /// By the toolchain file only, as options have it apart.
    omptarget: Option<PathBuf>,
    rules: Rules,
    is_for_one_target: bool,
    arguments: Vec<OsString>,
    /// The Rust toolchains to look into, the caller's first. Most links need
    /// none, so they are looked for when one does.
    rust: OnceLock<Vec<Sysroot>>,
}

impl Toolchain {
    /// `named` holds what flags and environment name; `arguments` is the line,
    /// which under rustc tells its toolchain's directory.
    pub fn new(named: &ToolPaths, arguments: &[OsString]) -> Self {
        let file = named.file.as_deref();
        let rules = Rules {
            hermetic: named.is_hermetic(),
            environment: Environment {
                is_clean: named.is_hermetic(),
                variables: file.map_or_else(BTreeMap::new, |file| file.environment.clone()),
            },
            launchers: BTreeMap::new(),
        };
        let mut toolchain = Self {
            chosen: named.clone(),
            named: named.clone(),
            omptarget: None,
            rules,
            is_for_one_target: false,
            arguments: arguments.to_vec(),
            rust: OnceLock::new(),
        };
        if let Some(file) = file {
            toolchain.complete(file.tools());
        }
        toolchain
    }

    fn search(&self, name: &'static str, key: Key, remedy: &'static str) -> Search<'_> {
        Search::new(name, key, &self.rules, remedy)
    }

    /// What flags, environment and toolchain file name.
    pub fn named(&self) -> &ToolPaths {
        &self.named
    }

    /// The Rust toolchains that are looked into, in order: none in a hermetic link.
    pub fn rust(&self) -> &[Sysroot] {
        self.rust.get_or_init(|| {
            if self.rules.hermetic {
                Vec::new()
            } else {
                rust::sysroots(&self.arguments)
            }
        })
    }

    /// The libLLVM that can read all of `bitcode`, opened.
    ///
    /// # Errors
    /// [`LlvmError`] when there is none.
    pub fn llvm<'a>(
        &self,
        bitcode: impl IntoIterator<Item = &'a DeviceInput>,
    ) -> Result<&'static Library, LlvmError> {
        if self.rules.hermetic && self.named.llvm.is_none() && !Library::IS_BUILT_IN {
            return Err(LlvmError::Undeclared(undeclared("libLLVM", Key::Llvm)));
        }
        let library = llvm::open(self.named.llvm.as_deref(), self.rust(), bitcode)?;
        if !Library::IS_BUILT_IN {
            // By the name that the user gave it, which the library resolves.
            files::read(self.named.llvm.as_deref().unwrap_or(library.path()));
        }
        Ok(library)
    }

    /// The libLLVM that [`Self::llvm`] opens unless it is refused then; `None` if
    /// there is none, or it is built in.
    pub fn llvm_by_name(&self, bitcode: &[&DeviceInput]) -> Option<PathBuf> {
        if self.rules.hermetic || Library::IS_BUILT_IN {
            return self.named.llvm.clone();
        }
        llvm::first_choice(self.named.llvm.as_deref(), self.rust(), bitcode)
    }

    /// The libLLVMs to choose from where none is named, in order: none in a hermetic
    /// link, nor where one is built in.
    pub fn llvm_candidates(&self) -> Vec<Candidate> {
        if self.rules.hermetic || Library::IS_BUILT_IN {
            return Vec::new();
        }
        llvm::candidates(self.rust()).collect()
    }

    /// libomptarget.
    ///
    /// # Errors
    /// [`OmptargetError`] when the named one is missing, or none is found.
    pub fn omptarget(&self, wanted: &Wanted<'_>) -> Result<Omptarget, OmptargetError> {
        if *wanted.choice == Choice::Found {
            if let Some(path) = &self.omptarget {
                return omptarget::named(path, wanted.entries);
            }
            if self.rules.hermetic {
                let error = undeclared("libomptarget", Key::Omptarget);
                return Err(OmptargetError::Undeclared(error));
            }
        }
        omptarget::find(wanted, self.rust(), self.named.llvm.as_deref())
    }

    /// ptxas.
    ///
    /// # Errors
    /// [`NotFound`] with all places that were looked at.
    pub fn ptxas(&self) -> Result<Tool, NotFound> {
        let remedy = "name one with --offlink-ptxas=PATH or OFFLINK_PTXAS, install one with \
                      'pip install nvidia-cuda-nvcc', or make PTX with --offlink-emit=ptx, for \
                      a runtime that compiles it";
        let search = self.search("ptxas", Key::Ptxas, remedy);
        let named = &self.named;
        cuda::tool(
            search,
            "ptxas",
            named.ptxas.as_deref(),
            named.cuda.as_deref(),
        )
    }

    /// nvlink.
    ///
    /// # Errors
    /// [`NotFound`] with all places that were looked at.
    pub fn nvlink(&self) -> Result<Tool, NotFound> {
        let remedy = "name one with --offlink-nvlink=PATH or OFFLINK_NVLINK, or install one with \
                      'pip install nvidia-cuda-nvcc'";
        let search = self.search("nvlink", Key::Nvlink, remedy);
        let named = &self.named;
        cuda::tool(
            search,
            "nvlink",
            named.nvlink.as_deref(),
            named.cuda.as_deref(),
        )
    }

    /// Where device libraries are looked for.
    pub fn device_libraries(&self) -> DeviceLibraries {
        DeviceLibraries::new(&self.named, &self.rules)
    }

    /// spirv-link of SPIRV-Tools.
    ///
    /// # Errors
    /// [`NotFound`] with all places that were looked at.
    pub fn spirv_link(&self) -> Result<Tool, NotFound> {
        let mut search = self.search(
            "spirv-link",
            Key::SpirvLink,
            "install SPIRV-Tools ('apt install spirv-tools'), name one with \
             --offlink-spirv-link=PATH or OFFLINK_SPIRV_LINK, or compile the device code to \
             bitcode, which LLVM links",
        );
        if let Some(path) = &self.named.spirv_link {
            return search.only(path);
        }
        search.path_variable(&["spirv-link"]);
        search.finish()
    }

    /// The distributor of device links, which is named by its path.
    pub fn distributor(&self, program: &Path) -> Tool {
        Tool {
            name: "the distributor",
            path: program.into(),
            rule: search::NAMED,
            launcher: Vec::new(),
            environment: self.rules.environment.clone(),
        }
    }

    /// nvidia-smi, which comes with NVIDIA's driver.
    ///
    /// # Errors
    /// [`NotFound`] when it is not in PATH.
    pub fn nvidia_smi(&self) -> Result<Tool, NotFound> {
        let rules = Rules::default();
        let remedy = "it comes with NVIDIA's driver";
        let mut search = Search::new("nvidia-smi", Key::Cuda, &rules, remedy);
        search.path_variable(&["nvidia-smi"]);
        search.finish()
    }

    /// lld: `rust-lld` of a Rust toolchain, `ld.lld` of ROCm or in PATH.
    ///
    /// # Errors
    /// [`NotFound`] with all places that were looked at.
    pub fn lld(&self) -> Result<Tool, NotFound> {
        let mut search = self.search(
            "lld",
            Key::Lld,
            "name one with --offlink-lld=PATH or OFFLINK_LLD; any Rust toolchain has one",
        );
        if let Some(path) = &self.named.lld {
            return search.only(path);
        }
        for sysroot in self.rust() {
            search.dir(&rust::host_bin(&sysroot.path), &["rust-lld"], RUSTS);
        }
        search.dir(Path::new("/opt/rocm/llvm/bin"), &["ld.lld"], "ROCm's");
        search.path_variable(&[
            "ld.lld",
            "ld.lld-23",
            "ld.lld-22",
            "ld.lld-21",
            "ld.lld-20",
            "ld.lld-19",
        ]);
        search.finish()
    }

    /// fatbinary, which is only printed: by its bare name where there is none.
    pub fn fatbinary(&self) -> PathBuf {
        let search = self.search("fatbinary", Key::Cuda, "");
        let tool = cuda::tool(search, "fatbinary", None, self.named.cuda.as_deref());
        tool.map_or_else(|_| "fatbinary".into(), |tool| tool.path)
    }

    /// A tool of LLVM's that is only printed: beside the program that started
    /// this one, which is clang if offlink stands in for its wrapper; else from
    /// PATH, and by its bare name where there is none.
    pub fn llvm_tool(&self, name: &'static str) -> PathBuf {
        let mut search = self.search(name, Key::Llvm, "");
        let parent = format!("/proc/{}/exe", std::os::unix::process::parent_id());
        if let Ok(program) = std::fs::read_link(parent)
            && let Some(dir) = program.parent()
        {
            search.dir(dir, &[name], "beside clang");
        }
        // A plain name may be that of an LLVM that knows no device code.
        let versioned = ["-23", "-22", "-21", "-20", "-19", ""].map(|end| format!("{name}{end}"));
        search.path_variable(&versioned.each_ref().map(String::as_str));
        // Names in PATH may carry versions, and be links to plain names.
        search.finish().map_or_else(
            |_| name.into(),
            |tool| tool.path.canonicalize().unwrap_or(tool.path),
        )
    }

    /// The compiler driver that links CPU images: the host linker if that is a
    /// driver, else the one in PATH, so that a link makes the same image whoever
    /// asks for it; in a hermetic link the compiler that is declared.
    ///
    /// # Errors
    /// [`NotFound`] with all places that were looked at.
    pub fn driver(&self, style: Style) -> Result<Tool, NotFound> {
        if style == Style::Cc {
            return Ok(Tool {
                name: "the compiler driver",
                ..self.host_linker_tool(style)?
            });
        }
        let mut search = self.search(
            "a compiler driver for CPU images",
            Key::Cc,
            "install gcc or clang, or link through 'offlink cc'",
        );
        if let (true, Some(path)) = (self.rules.hermetic, &self.named.cc) {
            return search.only(path);
        }
        search.path_variable(DRIVERS);
        search.finish()
    }

    /// The compiler driver that makes code for the host: the one named, the host
    /// linker if that is a driver, a cross compiler by GNU's name for it, or clang.
    ///
    /// # Errors
    /// [`NotFound`] with all places that were looked at.
    pub fn compiler(
        &self,
        style: Style,
        platform: Platform,
        triple: &str,
    ) -> Result<Compiler, NotFound> {
        let mut search = self.search(
            "a compiler for the host",
            Key::Cc,
            "name one with --offlink-cc=PATH or OFFLINK_CC; clang compiles for any host",
        );
        let tool = match &self.named.cc {
            Some(path) => search.named(path)?,
            None if style == Style::Cc => Tool {
                name: "the compiler driver",
                ..self.host_linker_tool(style)?
            },
            None => {
                let cross = platform.gnu_name().map(|name| format!("{name}-gcc"));
                let names: Vec<&str> = cross.iter().map(String::as_str).chain(CLANGS).collect();
                search.path_variable(&names);
                search.finish()?
            }
        };
        // gcc is made for one host, which its name tells; clang has to be told, and
        // whatever compiles for macOS is a clang.
        let name = tool.path.file_name().unwrap_or_default().to_string_lossy();
        let mut arguments = Vec::new();
        if name.contains("clang") || platform.format() == Format::MachO {
            arguments.push(format!("--target={triple}").into());
        }
        Ok(Compiler { tool, arguments })
    }

    /// The program that makes the output: the one named, or the usual one for
    /// the style of the line.
    ///
    /// # Errors
    /// [`NotFound`] with all places that were looked at.
    pub fn host_linker(&self, style: Style) -> Result<PathBuf, NotFound> {
        self.host_linker_tool(style).map(|tool| tool.path)
    }

    /// As [`Self::host_linker`], with why it is this one.
    ///
    /// # Errors
    /// [`NotFound`] with all places that were looked at.
    pub fn host_linker_tool(&self, style: Style) -> Result<Tool, NotFound> {
        let mut search = self.search(
            "the host linker",
            Key::HostLinker,
            "name one with --offlink-host-linker=PATH or OFFLINK_HOST_LINKER",
        );
        if let Some(path) = &self.named.host_linker {
            return search.named(path);
        }
        match style {
            Style::Cc => search.path_variable(DRIVERS),
            Style::Ld => search.path_variable(&["ld", "ld.lld"]),
            Style::Ld64 => search.path_variable(&[
                "ld64.lld",
                "ld64.lld-23",
                "ld64.lld-22",
                "ld64.lld-21",
                "ld64.lld-20",
                "ld64.lld-19",
            ]),
            Style::Link => search.path_variable(&[
                "lld-link",
                "lld-link-23",
                "lld-link-22",
                "lld-link-21",
                "lld-link-20",
                "lld-link-19",
            ]),
            Style::LldFlavor => {
                for sysroot in self.rust() {
                    search.dir(&rust::host_bin(&sysroot.path), &["rust-lld"], RUSTS);
                }
                search.path_variable(&["lld", "ld.lld"]);
            }
        }
        search.finish()
    }
}

/// Why a tool of a Rust toolchain is taken.
const RUSTS: &str = "the Rust toolchain's";

/// Usual names of compiler drivers.
const DRIVERS: &[&str] = &["cc", "gcc", "clang"];

/// Usual names of clang.
const CLANGS: [&str; 6] = [
    "clang", "clang-23", "clang-22", "clang-21", "clang-20", "clang-19",
];

/// A compiler driver, and how it is told its host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Compiler {
    /// The driver.
    pub tool: Tool,
    /// What comes before all other arguments.
    pub arguments: Vec<OsString>,
}

/// A variable of the environment, if it is set and not empty.
fn variable(name: &str) -> Option<OsString> {
    std::env::var_os(name).filter(|value| !value.is_empty())
}

/// The subdirectories of `dir`, in order of their names, whose names `wanted`.
/// A directory that can't be read has none.
pub(crate) fn subdirectories(dir: &Path, wanted: impl Fn(&str) -> bool) -> Vec<PathBuf> {
    let Ok(entries) = std::fs::read_dir(dir) else {
        return Vec::new();
    };
    let mut found: Vec<PathBuf> = entries
        .filter_map(Result::ok)
        .map(|entry| entry.path())
        .filter(|path| {
            path.file_name()
                .and_then(OsStr::to_str)
                .is_some_and(&wanted)
        })
        .filter(|path| path.is_dir())
        .collect();
    found.sort();
    found
}
