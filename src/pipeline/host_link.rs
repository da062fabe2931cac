//! The host linker's part: it gets the line it would have got anyway, and the
//! registration object.

use super::mach_o_copies::Copies;
use super::work_dir::WorkDir;
use crate::output_file::{self, OutputError};
use crate::process::Tool;
use crate::request::{Request, Style};
use crate::{process, response_file};
use std::ffi::OsString;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::PathBuf;
use std::process::{ExitCode, ExitStatus};
use thiserror::Error;

/// The host linker can't be run.
#[derive(Debug, Error)]
pub enum HostLinkError {
    /// The program does not start.
    #[error(
        "cannot start the host linker '{}': {source}; name one with --offlink-host-linker",
        path.display()
    )]
    Start {
        /// The program.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// The response file can't be written.
    #[error(transparent)]
    ResponseFile(#[from] OutputError),
}

/// Above this many bytes the line goes through a response file: gcc hands its
/// line on in one environment variable, which the system limits to 128 KiB.
const LONG_LINE: usize = 100_000;

/// lld-link reads response files by rules of Windows and has no such limit.
fn needs_response_file(arguments: &[OsString], style: Style) -> bool {
    style != Style::Link && length(arguments) > LONG_LINE
}

/// Replaces this process by the host linker, with the line as it came. Returns
/// only if that fails.
pub fn exec(linker: &Tool, request: &Request) -> HostLinkError {
    let start = |source| HostLinkError::Start {
        path: linker.path.clone(),
        source,
    };
    if !needs_response_file(&request.arguments, request.style) {
        return start(linker.command().args(&request.arguments).exec());
    }
    // The file must outlive this process, so it can't be a temporary one that
    // is removed at its end; the linker runs as a child instead.
    let dir = match WorkDir::new(None, "offlink") {
        Ok(dir) => dir,
        Err(error) => return start(std::io::Error::other(error)),
    };
    match run(linker, request.style, request.arguments.clone(), &dir) {
        Ok(status) => {
            drop(dir);
            std::process::exit(raw_code(status).into())
        }
        Err(error) => error,
    }
}

/// Runs the host linker with these arguments and waits. Its output goes where
/// ours does.
///
/// # Errors
/// [`HostLinkError`] when it can't be run; that it fails is no error here.
pub fn run(
    linker: &Tool,
    style: Style,
    mut arguments: Vec<OsString>,
    work_dir: &WorkDir,
) -> Result<ExitStatus, HostLinkError> {
    if needs_response_file(&arguments, style) {
        // lld's generic driver looks for its flavor before it reads files.
        let kept = if style == Style::LldFlavor { 2 } else { 0 };
        let file = work_dir.file("host-link.rsp");
        output_file::write_bytes(&file, &response_file::quote(&arguments[kept..]))?;
        arguments.truncate(kept);
        let mut reference = OsString::from("@");
        reference.push(file);
        arguments.push(reference);
    }
    let mut command = linker.command();
    process::run(command.args(arguments), "host link", None, |_| Ok(())).map_err(|source| {
        HostLinkError::Start {
            path: linker.path.clone(),
            source,
        }
    })
}

/// What the host linker's line is made of.
#[derive(Clone, Copy, Debug)]
pub struct Line<'a> {
    /// The line as it came.
    pub request: &'a Request,
    /// The arguments that the host linker must not see.
    pub dropped: &'a [usize],
    /// The registration objects.
    pub objects: &'a [PathBuf],
    /// What stands in for inputs.
    pub copies: &'a Copies,
    /// What brings OpenMP's runtime, behind all else.
    pub runtime: &'a [OsString],
}

/// The host linker's line: the registration objects before all other inputs, so
/// that libraries behind it (`-lomptarget` under `--as-needed`) are seen to be
/// needed; without the files that only offlink understands; with the arguments
/// for OpenMP's runtime at the end.
pub fn arguments(line: &Line<'_>) -> Vec<OsString> {
    let Line {
        request,
        dropped,
        objects,
        copies,
        runtime,
    } = *line;
    let inputs = request.line.inputs.iter();
    let mut places = inputs.map(|input| &input.arguments);
    let first_input = places.find(|arguments| !arguments.is_empty());
    let front = if request.style == Style::LldFlavor {
        2
    } else {
        0
    };
    let place = first_input.map_or(front, |arguments| arguments.start);
    let mut arguments: Vec<OsString> = Vec::with_capacity(request.arguments.len() + 3);
    for (position, argument) in request.arguments.iter().enumerate() {
        if position == place {
            arguments.extend(objects.iter().map(OsString::from));
        }
        if !dropped.contains(&position) {
            arguments.push(copies.in_place(argument));
        }
    }
    if place >= request.arguments.len() {
        arguments.extend(objects.iter().map(OsString::from));
    }
    arguments.extend_from_slice(runtime);
    if request.line.names_lld && !request.line.is_for_macos {
        arguments.extend(keep_entries(request.style));
    }
    // A line's own choice stands behind it and holds.
    arguments.splice(front..front, copies.without_place(request.style));
    arguments
}

/// lld drops sections that only `__start_` and `__stop_` symbols refer to,
/// which is how the runtime finds the entries. GNU ld keeps them.
fn keep_entries(style: Style) -> Vec<OsString> {
    match style {
        Style::Cc => vec!["-Wl,-z,nostart-stop-gc".into()],
        Style::Ld | Style::LldFlavor => vec!["-z".into(), "nostart-stop-gc".into()],
        // There are no such symbols on Windows, and on macOS they don't matter.
        Style::Link | Style::Ld64 => Vec::new(),
    }
}

fn length(arguments: &[OsString]) -> usize {
    arguments.iter().map(|argument| argument.len() + 1).sum()
}

/// The exit code of the host linker, 128 + N if signal N ended it.
pub fn exit_code(status: ExitStatus) -> ExitCode {
    ExitCode::from(raw_code(status))
}

fn raw_code(status: ExitStatus) -> u8 {
    let code = status
        .code()
        .or_else(|| status.signal().map(|signal| 128 + signal));
    code.and_then(|code| u8::try_from(code).ok()).unwrap_or(1)
}
