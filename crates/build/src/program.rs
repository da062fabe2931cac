//! The program `offlink`, and what it is asked to do.

use crate::archs::Target;
use crate::{Error, Image};
use serde_json::Value;
use std::env;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// offlink, found.
pub struct Offlink(PathBuf);

/// LLVM's offload runtime.
pub struct OffloadRuntime {
    /// The shared library.
    pub library: PathBuf,
    /// The folder where programs have to look for it, if the loader does not.
    pub run_path: Option<PathBuf>,
}

impl Offlink {
    /// The one that `OFFLINK` names, or the first in `PATH` or in cargo's `bin` folder.
    ///
    /// # Errors
    /// [`Error::NoOfflink`] if there is none.
    pub fn find() -> Result<Self, Error> {
        println!("cargo::rerun-if-env-changed=OFFLINK");
        if let Some(named) = env::var_os("OFFLINK") {
            return Ok(Self(named.into()));
        }
        let name = format!("offlink{}", env::consts::EXE_SUFFIX);
        let path = env::var_os("PATH").unwrap_or_default();
        let cargo_home = env::var_os("CARGO_HOME").map(|home| Path::new(&home).join("bin"));
        let mut folders = env::split_paths(&path).chain(cargo_home);
        let found = folders.find_map(|folder| {
            let file = folder.join(&name);
            file.is_file().then_some(file)
        });
        found.map(Self).ok_or(Error::NoOfflink)
    }

    /// The path of the program.
    pub fn path(&self) -> &Path {
        &self.0
    }

    /// Links `inputs` into the image for `target`.
    ///
    /// # Errors
    /// [`Error::Offlink`] with what offlink says.
    pub fn link(
        &self,
        inputs: &[PathBuf],
        target: &Target,
        emit_ptx: bool,
        opt_level: Option<u8>,
        output: &Path,
    ) -> Result<(), Error> {
        let mut line: Vec<OsString> = vec!["link".into()];
        line.push(format!("--triple={}", target.triple).into());
        line.push(format!("--arch={}", target.arch).into());
        if emit_ptx {
            line.push("--emit=ptx".into());
        }
        line.extend(opt_level.map(|level| format!("-O{level}").into()));
        line.extend(["-o".into(), output.into()]);
        line.extend(inputs.iter().map(OsString::from));
        self.run(&line).map(drop)
    }

    /// Makes an offload binary of the images.
    ///
    /// # Errors
    /// [`Error::Offlink`] with what offlink says.
    pub fn bundle(&self, images: &[Image], output: &Path) -> Result<(), Error> {
        let mut line: Vec<OsString> = vec!["bundle".into(), "-o".into(), output.into()];
        for image in images {
            let mut argument = OsString::from("--image=file=");
            argument.push(&image.file);
            let Target { triple, arch } = &image.target;
            argument.push(format!(",triple={triple},arch={arch},kind=openmp"));
            line.push(argument);
        }
        self.run(&line).map(drop)
    }

    /// Makes the host object that registers the images of `bundle`.
    ///
    /// # Errors
    /// [`Error::Offlink`] with what offlink says.
    pub fn wrap(&self, bundle: &Path, host: &str, output: &Path) -> Result<(), Error> {
        let host = format!("--host-triple={host}");
        let line: [&OsStr; 5] = [
            "wrap".as_ref(),
            host.as_ref(),
            "-o".as_ref(),
            output.as_ref(),
            bundle.as_ref(),
        ];
        self.run(&line).map(drop)
    }

    /// The names of the kernels in `bundle`, in any image.
    ///
    /// # Errors
    /// [`Error::Offlink`] with what offlink says, [`Error::Answer`] if that is not
    /// what this version knows.
    pub fn kernels(&self, bundle: &Path) -> Result<Vec<String>, Error> {
        let line: [&OsStr; 3] = ["inspect".as_ref(), "--json".as_ref(), bundle.as_ref()];
        let answer = self.run(&line)?.stdout;
        kernels(&answer).ok_or(Error::Answer("inspect --json"))
    }

    /// The libomptarget that a program should be linked with.
    ///
    /// # Errors
    /// [`Error::NoOffloadRuntime`] if there is none, else as [`Offlink::kernels`].
    pub fn offload_runtime(&self) -> Result<OffloadRuntime, Error> {
        println!("cargo::rerun-if-env-changed=OFFLINK_OMPTARGET");
        let line: [&OsStr; 2] = ["doctor".as_ref(), "--json".as_ref()];
        let answer = self.run(&line)?.stdout;
        let tools = tools(&answer).ok_or(Error::Answer("doctor --json"))?;
        let runtime = tools.iter().find(|tool| tool["name"] == "libomptarget");
        let path = |key| {
            runtime
                .and_then(|tool| tool[key].as_str())
                .map(PathBuf::from)
        };
        Ok(OffloadRuntime {
            library: path("path").ok_or(Error::NoOffloadRuntime)?,
            run_path: path("run_path"),
        })
    }

    fn run(&self, line: &[impl AsRef<OsStr>]) -> Result<Output, Error> {
        let mut command = Command::new(&self.0);
        let output = output(command.args(line), &self.0.display().to_string())?;
        if !output.status.success() {
            let said = String::from_utf8_lossy(&output.stderr);
            return Err(Error::Offlink(said.into_owned()));
        }
        Ok(output)
    }
}

/// Runs a command to its end and collects what it says.
///
/// # Errors
/// [`Error::Start`] if it can't be started.
pub fn output(command: &mut Command, program: &str) -> Result<Output, Error> {
    command.output().map_err(|source| Error::Start {
        program: program.into(),
        source,
    })
}

/// What `offlink doctor --json` has found.
fn tools(answer: &[u8]) -> Option<Vec<Value>> {
    let answer: Value = serde_json::from_slice(answer).ok()?;
    answer["tools"].as_array().cloned()
}

/// The kernels that `offlink inspect --json` lists for all images.
fn kernels(answer: &[u8]) -> Option<Vec<String>> {
    let answer: Value = serde_json::from_slice(answer).ok()?;
    let mut names = Vec::new();
    for file in answer.as_array()? {
        for image in file["images"].as_array()? {
            for name in image["kernels"].as_array()? {
                names.push(name.as_str()?.to_owned());
            }
        }
    }
    Some(names)
}
