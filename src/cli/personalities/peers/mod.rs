//! The programs beside clang-linker-wrapper that offlink stands in for: they
//! pack, unpack and wrap images, and link them for one target. All of them end
//! with 1 when something is wrong, whatever it is, and so does offlink under
//! their names.

mod archive;
mod error;
mod fatbinary;
mod line;
pub mod llvm_bitcode_linker;
mod nvlink_wrapper;
mod offload_binary;
mod offload_bundler;
mod offload_wrapper;

pub use error::PeerError;

use crate::Error;
use crate::cli::{UsageError, own_options};
use crate::options::Options;
use crate::report;
use crate::response_file;
use std::ffi::OsString;
use std::process::ExitCode;

/// Carries out a peer's line.
type Run = fn(Vec<OsString>, Options) -> Result<(), Error>;

/// The peers: the names that each goes by, and what it does.
const TABLE: &[(&[&str], Run)] = &[
    (
        &["llvm-offload-binary", "clang-offload-packager"],
        offload_binary::run,
    ),
    (&["llvm-offload-wrapper"], offload_wrapper::run),
    (&["clang-offload-bundler"], offload_bundler::run),
    (&["clang-nvlink-wrapper"], nvlink_wrapper::run),
    (&["fatbinary"], fatbinary::run),
    (&["llvm-bitcode-linker"], llvm_bitcode_linker::run),
];

/// A peer's line, to be carried out.
pub struct Peer {
    run: Run,
    arguments: Vec<OsString>,
    options: Options,
}

impl Peer {
    /// The line of the peer with this name, which may end in a version as in
    /// `clang-offload-bundler-22`; `None` if no peer has it.
    pub fn named(name: &str, arguments: &[OsString], options: &Options) -> Option<Self> {
        let (_, run) = TABLE
            .iter()
            .find(|(names, _)| names.contains(&without_version(name)))?;
        Some(Self {
            run: *run,
            arguments: arguments.to_vec(),
            options: options.clone(),
        })
    }

    /// Carries it out and says how to end: with 0 or, after a message, with 1.
    pub fn run(self) -> ExitCode {
        let mut options = self.options;
        let arguments = response_file::expand(self.arguments);
        let done = own_options::take_out(arguments, &mut options)
            .map_err(|error| Error::from(UsageError::from(error)));
        let verbose = options.verbose;
        match done.and_then(|arguments| (self.run)(arguments, options)) {
            Ok(()) => ExitCode::SUCCESS,
            Err(error) => {
                report::failure(&error, verbose);
                ExitCode::FAILURE
            }
        }
    }
}

/// `name` without `-22` or `-22.1` at its end.
pub fn without_version(name: &str) -> &str {
    let is_version = |text: &str| {
        text.starts_with(|c: char| c.is_ascii_digit())
            && text.chars().all(|c| c.is_ascii_digit() || c == '.')
    };
    match name.rsplit_once('-') {
        Some((stem, version)) if is_version(version) => stem,
        _ => name,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_with_and_without_version() {
        for name in [
            "llvm-bitcode-linker",
            "clang-offload-packager-19",
            "llvm-offload-binary-22.1",
            "llvm-offload-wrapper",
            "fatbinary",
        ] {
            assert!(
                Peer::named(name, &[], &Options::default()).is_some(),
                "{name}"
            );
        }
        for name in ["clang-22", "offlink", "fatbinary-x", "-22"] {
            assert!(
                Peer::named(name, &[], &Options::default()).is_none(),
                "{name}"
            );
        }
    }
}
