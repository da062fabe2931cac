//! From an argument list to the command that it asks for.
//!
//! offlink answers to its own verbs, to the names of the programs that it
//! stands in for, and, given no verb, to a plain `cc` or `ld` line, since
//! cargo's `linker =` takes a path and no arguments.

mod help;
mod ld64_line;
mod ld_line;
mod own_options;
mod personalities;
mod tokens;
mod verbs;

use crate::image_argument::NoTriple;
use crate::mapped_file::ReadError;
use crate::options::{OptionError, Options};
use crate::request::Request;
use crate::{Error, build_system, pipeline, response_file, timing};
use personalities::peers::llvm_bitcode_linker;
use personalities::{cc, clang_linker_wrapper, guess, ld, lld_link, peers};
use std::ffi::{OsStr, OsString};
use std::path::Path;
use std::process::ExitCode;
use thiserror::Error as ThisError;

pub use personalities::peers::PeerError;
pub use verbs::Verb;

/// What one invocation is to do.
pub enum Command {
    /// A whole link.
    Link(Box<Request>),
    /// One of the single steps, or a look at a file.
    Verb(Box<Verb>),
    /// The line of a program that offlink stands in for, other than
    /// clang-linker-wrapper.
    Peer(Box<peers::Peer>),
    /// Print a text: help or the version.
    Print(String),
}

/// A line that can't be understood.
#[derive(Debug, ThisError)]
pub enum UsageError {
    /// An own option is wrong.
    #[error(transparent)]
    Option(#[from] OptionError),
    /// A file of arguments can't be read.
    #[error(transparent)]
    Params(#[from] ReadError),
    /// Device code is for no device.
    #[error(transparent)]
    NoTriple(#[from] NoTriple),
    /// A verb's arguments are wrong.
    #[error("{0}")]
    Verb(String),
    /// A file is none that `offlink wrap` takes.
    #[error("'{file}' is {found}, which can't be wrapped; bundle the images first")]
    NotToWrap {
        /// The file.
        file: String,
        /// What it is.
        found: String,
    },
    /// An offload binary holds images that are registered from another container.
    #[error(
        "'{file}' is an offload binary with images of kind {kind}, whose runtime reads another \
         container; bundle them without --format"
    )]
    OtherContainer {
        /// The file.
        file: String,
        /// The offload kind.
        kind: &'static str,
    },
    /// Images for SYCL don't come in one file of their own.
    #[error(
        "'{file}' holds images for SYCL, which are wrapped alone and from one file; bundle all of \
         them together"
    )]
    NotOneForSycl {
        /// The file.
        file: String,
    },
    /// Images of several kinds have no container in common but offload binaries.
    #[error("the images are of several kinds; bundle each kind, or use --format=offload-binary")]
    MixedKinds,
    /// Only what is loaded by the system has devices to run on.
    #[error(
        "'{file}' is no program or shared library for Linux; offlink inspect lists what is in it"
    )]
    NoProgram {
        /// The file.
        file: String,
    },
    /// PTX is asked for where there is none.
    #[error("{0} has no PTX; leave out --emit=ptx")]
    PtxForOther(String),
    /// An option of a peer has a value that makes no sense.
    #[error("'{value}' is no value for '{option}'; it takes {expected}")]
    BadValue {
        /// The option.
        option: String,
        /// The value.
        value: String,
        /// What it should be.
        expected: &'static str,
    },
    /// An option of a peer stands last, and its value is missing.
    #[error("option '{option}' needs an argument behind it")]
    NoArgument {
        /// The option.
        option: String,
    },
    /// Options of a peer that don't go together.
    #[error("{0}")]
    Contradiction(String),
    /// An option of a peer that offlink does not carry out.
    #[error("clang-linker-wrapper's option '{0}' is not supported; nothing was linked")]
    Unsupported(String),
}

impl From<clap::Error> for UsageError {
    /// clap's message without its usage text.
    fn from(error: clap::Error) -> Self {
        let message = error.to_string();
        let message = message.strip_prefix("error: ").unwrap_or(&message);
        let first = message.split("\n\n").next().unwrap_or_default();
        Self::Verb(first.trim().to_owned())
    }
}

/// Reads the whole argument list, the program's name first.
///
/// # Errors
/// [`Error::Usage`] when the line makes no sense.
pub fn parse(arguments: Vec<OsString>) -> Result<Command, Error> {
    let mut arguments = arguments.into_iter();
    let program = arguments.next().unwrap_or_default();
    let arguments: Vec<OsString> = arguments.collect();
    let options =
        Options::from_environment(|name| std::env::var_os(name)).map_err(UsageError::from)?;

    let name = base_name(&program);
    if let Some(command) = peer(name, &arguments, &options)? {
        return Ok(command);
    }
    if let "ld" | "ld.lld" = peers::without_version(name) {
        let request = ld::parse_as(name, expand(arguments), options)?;
        return Ok(Command::Link(Box::new(request)));
    }
    let first = arguments
        .first()
        .and_then(|argument| argument.to_str())
        .unwrap_or_default();
    if let Some(command) = peer(first, arguments.get(1..).unwrap_or_default(), &options)? {
        return Ok(command);
    }
    let request = match first {
        "" | "-h" | "--help" | "help" => return Ok(Command::Print(help::text())),
        "-V" | "--version" => return Ok(Command::Print(help::version())),
        "cc" => cc::parse(expand(arguments[1..].to_vec()), options)?,
        "ld" => ld::parse(expand(arguments[1..].to_vec()), options)?,
        "lld-link" => lld_link::parse(expand(arguments[1..].to_vec()), options)?,
        verb if verbs::NAMES.contains(&verb) => {
            return Ok(Command::Verb(Box::new(verbs::parse(
                &program, &arguments, options,
            )?)));
        }
        _ => {
            let arguments = expand(arguments);
            if llvm_bitcode_linker::is_line(&arguments)
                && let Some(command) = peer("llvm-bitcode-linker", &arguments, &options)?
            {
                return Ok(command);
            }
            if guess::is_ld_line(&arguments) {
                ld::parse(arguments, options)?
            } else {
                cc::parse(arguments, options)?
            }
        }
    };
    Ok(Command::Link(Box::new(request)))
}

fn expand(arguments: Vec<OsString>) -> Vec<OsString> {
    response_file::expand(arguments)
}

/// The line of the peer called `name`, if there is one of that name.
fn peer(
    name: &str,
    arguments: &[OsString],
    options: &Options,
) -> Result<Option<Command>, UsageError> {
    if peers::without_version(name) == "clang-linker-wrapper" {
        let arguments = expand(arguments.to_vec());
        return clang_linker_wrapper::parse(arguments, options.clone()).map(Some);
    }
    let peer = peers::Peer::named(name, arguments, options);
    Ok(peer.map(|peer| Command::Peer(Box::new(peer))))
}

fn base_name(program: &OsStr) -> &str {
    let name = Path::new(program).file_name();
    name.and_then(OsStr::to_str).unwrap_or_default()
}

impl Command {
    /// Whether details of errors are to be shown.
    pub fn verbose(&self) -> bool {
        match self {
            Self::Link(request) => request.options.verbose,
            Self::Verb(verb) => verb.verbose(),
            Self::Peer(_) | Self::Print(_) => false,
        }
    }

    /// Does it.
    ///
    /// # Errors
    /// Whatever went wrong; [`Error::exit_code`] says how to end.
    pub fn run(self) -> Result<ExitCode, Error> {
        match self {
            Self::Link(request) => {
                let outcome = pipeline::link(&request).and_then(|code| {
                    if code == ExitCode::SUCCESS {
                        build_system::finish(&request.options)?;
                    }
                    Ok(code)
                });
                let of_wrapper = request.wrapper.time_trace.as_ref();
                timing::reported(outcome, &request.options, of_wrapper)
            }
            Self::Verb(verb) => {
                let options = verb.options().clone();
                timing::reported(verb.run(), &options, None)
            }
            Self::Peer(peer) => Ok(peer.run()),
            Self::Print(text) => {
                crate::report::print(&text)?;
                Ok(ExitCode::SUCCESS)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn peers_are_known_by_name_and_by_first_word() {
        let kind = |line: &str| {
            let arguments = line.split_whitespace().map(OsString::from).collect();
            match parse(arguments).unwrap() {
                Command::Link(_) => "link",
                Command::Verb(_) => "verb",
                Command::Peer(_) => "peer",
                Command::Print(_) => "print",
            }
        };
        assert_eq!(kind("/bin/clang-linker-wrapper-22 --version"), "print");
        assert_eq!(kind("offlink clang-linker-wrapper a.o -o x"), "link");
        assert_eq!(kind("/bin/fatbinary --help"), "peer");
        assert_eq!(kind("offlink clang-offload-bundler-22 -list"), "peer");
        assert_eq!(kind("offlink inspect fatbinary"), "verb");
        assert_eq!(kind("offlink fatbinary.o"), "link");
        let of_rustc = "offlink a.o --target nvptx64-nvidia-cuda --target-cpu sm_90 -o k.ptx";
        assert_eq!(kind(of_rustc), "peer");
    }
}
