//! Running the tools that a link needs: ptxas, nvlink, lld.

use std::ffi::OsString;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use thiserror::Error;

/// A tool that was found, and how to call it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tool {
    /// The tool's usual name, for messages: `ptxas`, `nvlink`, `lld`.
    pub name: &'static str,
    /// The program.
    pub path: PathBuf,
    /// Why it is this one: `CUDA_HOME`, `PATH` …
    pub rule: &'static str,
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
    /// Runs the tool and waits; returns what it printed, stderr first. Nothing
    /// of it is shown, and its locale is C, so that messages are the same
    /// everywhere.
    ///
    /// # Errors
    /// [`ToolError`] when it can't be started or does not exit with 0.
    pub fn run(&self, arguments: &[OsString], purpose: &str) -> Result<String, ToolError> {
        let output = Command::new(&self.path)
            .args(arguments)
            .env("LC_ALL", "C")
            .stdin(Stdio::null())
            .output()
            .map_err(|source| ToolError::Start {
                name: self.name,
                path: self.path.clone(),
                source,
            })?;
        let mut stderr = String::from_utf8_lossy(&output.stderr).into_owned();
        stderr.push_str(&String::from_utf8_lossy(&output.stdout));
        if output.status.success() {
            return Ok(stderr);
        }
        Err(ToolError::Failed {
            name: self.name,
            purpose: purpose.into(),
            status: output.status,
            stderr,
        })
    }
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
