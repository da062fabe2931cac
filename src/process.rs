//! Running the tools that a link needs: ptxas, nvlink, lld.

use crate::{files, timing};
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::Instant;
use thiserror::Error;
use wait4::{ResUse, Wait4};

/// What glibc's allocator does in the tools that are started: they ask for much memory, piece
/// by piece, and give it back at their end. Huge pages where the system has them for those that
/// ask, and steps of 2 MiB, save them most page faults, which are a good part of a short run.
/// The names are those of glibc's manual, "Memory Allocation Tunables"; older versions and other
/// libraries pass over what they don't know.
const ALLOCATOR: (&str, &str) = (
    "GLIBC_TUNABLES",
    "glibc.malloc.hugetlb=1:glibc.malloc.top_pad=2097152:\
     glibc.malloc.trim_threshold=33554432:glibc.malloc.mmap_threshold=33554432",
);

/// A tool that was found, and how to call it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tool {
    /// The tool's usual name, for messages: `ptxas`, `nvlink`, `lld`.
    pub name: &'static str,
    /// The program.
    pub path: PathBuf,
    /// Why it is this one: `CUDA_HOME`, `PATH` …
    pub rule: &'static str,
    /// The program that starts it, with its arguments; none for most.
    pub launcher: Vec<OsString>,
    /// What it sees of the environment.
    pub environment: Environment,
}

/// What tools see of the environment.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Environment {
    /// Nothing of this process's.
    pub is_clean: bool,
    /// Variables that are set in any case.
    pub variables: BTreeMap<String, String>,
}

/// The file of this program. Linux leads to it even if another has taken its place.
///
/// # Errors
/// When the system doesn't tell.
pub fn own_program() -> io::Result<PathBuf> {
    if cfg!(target_os = "linux") {
        Ok("/proc/self/exe".into())
    } else {
        std::env::current_exe()
    }
}

/// Where the file of this program lies, symbolic links resolved, for other processes; if it
/// lies nowhere any more, what this process knows it by.
pub fn own_path() -> PathBuf {
    let own = own_program().unwrap_or_else(|_| "offlink".into());
    own.canonicalize().unwrap_or(own)
}

/// A tool did not do its work.
#[derive(Debug, Error)]
pub enum ToolError {
    /// It can't be started.
    #[error("cannot start {name} ('{}'): {source}", path.display())]
    Start {
        /// The tool's usual name.
        name: &'static str,
        /// The program.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// It ran and failed.
    #[error("{name} {} for {purpose}: {}", ended(.status), first_line(.stderr))]
    Failed {
        /// The tool's usual name.
        name: &'static str,
        /// What it was run for, for instance `nvptx64-nvidia-cuda sm_90`.
        purpose: String,
        /// How it ended.
        status: std::process::ExitStatus,
        /// What it wrote to stderr (and stdout, where some tools complain).
        stderr: String,
    },
}

impl ToolError {
    /// What the tool printed, for the places that understand its messages.
    pub fn stderr(&self) -> &str {
        match self {
            Self::Start { .. } => "",
            Self::Failed { stderr, .. } => stderr,
        }
    }
}

impl Tool {
    /// The tool's command, to which arguments can be added.
    pub fn command(&self) -> Command {
        self.files().for_each(files::read);
        // The system would look for a bare name in PATH.
        let program = match self.path.components().count() {
            1 => Path::new(".").join(&self.path),
            _ => self.path.clone(),
        };
        let mut words = self.launcher.iter().map(OsString::as_os_str);
        let mut command = match words.next() {
            None => Command::new(program),
            Some(launcher) => {
                let mut command = Command::new(launcher);
                command.args(words).arg(program);
                command
            }
        };
        if self.environment.is_clean {
            // A place for its temporary files does not show in what it makes.
            let temporary = std::env::temp_dir();
            command
                .env_clear()
                .env("TMPDIR", temporary)
                .env("LC_ALL", "C");
        }
        let (tunables, values) = ALLOCATOR;
        if self.environment.is_clean || std::env::var_os(tunables).is_none() {
            command.env(tunables, values);
        }
        command.envs(&self.environment.variables);
        command
    }

    /// The files that are opened to start it: the program, its launcher and files
    /// among that one's arguments.
    pub fn files(&self) -> impl Iterator<Item = &Path> {
        let launcher = self.launcher.iter().map(Path::new);
        let launcher = launcher.filter(|path| path.components().count() > 1 && path.is_file());
        launcher.chain([self.path.as_path()])
    }

    /// Runs the tool and waits; returns what it printed, stderr first. Nothing
    /// of it is shown, and its locale is C, so that messages are the same
    /// everywhere.
    ///
    /// # Errors
    /// [`ToolError`] when it can't be started or does not exit with 0.
    pub fn run(&self, arguments: &[OsString], purpose: &str) -> Result<String, ToolError> {
        let mut command = self.command();
        command
            .env("LC_ALL", "C")
            .args(arguments)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let mut printed = Printed::default();
        let status = run(&mut command, self.name, Some(purpose), |child| {
            printed = Printed::of(child)?;
            Ok(())
        })
        .map_err(|source| ToolError::Start {
            name: self.name,
            path: command.get_program().into(),
            source,
        })?;
        let mut stderr = String::from_utf8_lossy(&printed.stderr).into_owned();
        stderr.push_str(&String::from_utf8_lossy(&printed.stdout));
        if status.success() {
            return Ok(stderr);
        }
        Err(ToolError::Failed {
            name: self.name,
            purpose: purpose.into(),
            status,
            stderr,
        })
    }
}

/// Runs a program and waits for its end, so that its times and its memory are
/// known; `watch` sees it while it runs. `job` is the target of the device link that it is for.
///
/// # Errors
/// Those of the system: it can't be started or waited for, or `watch` failed.
pub fn run(
    command: &mut Command,
    name: &'static str,
    job: Option<&str>,
    watch: impl FnOnce(&mut Child) -> io::Result<()>,
) -> io::Result<ExitStatus> {
    let began = Instant::now();
    let mut child = command.spawn()?;
    let watched = watch(&mut child);
    let ResUse { status, rusage } = child.wait4()?;
    timing::tool(job, name, began, &rusage);
    watched?;
    Ok(status)
}

/// What a tool wrote into its pipes.
#[derive(Default)]
struct Printed {
    stdout: Vec<u8>,
    stderr: Vec<u8>,
}

impl Printed {
    /// Reads both pipes to their ends at the same time, since a tool that finds one
    /// of them full waits.
    fn of(child: &mut Child) -> io::Result<Self> {
        let (stdout, stderr) = (child.stdout.take(), child.stderr.take());
        std::thread::scope(|scope| {
            let other = scope.spawn(|| read(stderr));
            let stdout = read(stdout)?;
            let stderr = other
                .join()
                .unwrap_or_else(|_| Err(io::ErrorKind::Other.into()))?;
            Ok(Self { stdout, stderr })
        })
    }
}

fn read(pipe: Option<impl Read>) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    if let Some(mut pipe) = pipe {
        pipe.read_to_end(&mut bytes)?;
    }
    Ok(bytes)
}

fn ended(status: &std::process::ExitStatus) -> String {
    use std::os::unix::process::ExitStatusExt;
    match (status.code(), status.signal()) {
        (Some(code), _) => format!("exited with status {code}"),
        (None, Some(signal)) => format!("was killed by signal {signal}"),
        (None, None) => "ended".into(),
    }
}

fn first_line(text: &str) -> &str {
    text.lines()
        .map(str::trim)
        .find(|line| !line.is_empty())
        .unwrap_or("it said nothing")
}
