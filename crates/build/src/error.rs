//! What can go wrong, in words for a build log.

use std::io;
use std::path::{Path, PathBuf};
use thiserror::Error as ThisError;

/// Why kernels could not be built.
#[derive(Debug, ThisError)]
#[non_exhaustive]
pub enum Error {
    /// The name of a set of kernels would make a bad file name.
    #[error("'{0}' can't name kernels: use letters, digits, '_' and '-'")]
    Name(String),
    /// There is no source, or each is for GPUs that `OFFLINK_ARCHS` leaves out.
    #[error("no kernels to build: name sources and architectures, or change OFFLINK_ARCHS")]
    Nothing,
    /// The text names no device.
    #[error(
        "'{0}' is no architecture: use NVIDIA's, such as sm_90, AMD's, such as gfx90a, or \
         offlink_build::HOST"
    )]
    Arch(String),
    /// cargo has not set a variable: this is no build script.
    #[error("the environment has no {0}; offlink-build works in cargo's build scripts only")]
    NotInBuildScript(&'static str),
    /// The program `offlink` is not there.
    #[error(
        "there is no program 'offlink' in PATH; install it (cargo install offlink) or set OFFLINK \
         to its path"
    )]
    NoOfflink,
    /// A source or a folder is not there or can't be used.
    #[error("'{}': {source}", file.display())]
    File {
        /// The file.
        file: PathBuf,
        /// What the system says.
        source: io::Error,
    },
    /// A program could not be started.
    #[error("can't run '{program}': {source}")]
    Start {
        /// The program.
        program: String,
        /// What the system says.
        source: io::Error,
    },
    /// A compiler failed.
    #[error("{program} could not compile '{}' for {triple}: {reason}", source_file.display())]
    Compile {
        /// The compiler.
        program: &'static str,
        /// The source.
        source_file: PathBuf,
        /// The device triple.
        triple: String,
        /// Its first error, with its place.
        reason: String,
    },
    /// A package makes no library.
    #[error(
        "the package in '{}' makes no library for {triple}; it needs a [lib] section or \
         src/lib.rs",
        folder.display()
    )]
    NoLibrary {
        /// The package's folder.
        folder: PathBuf,
        /// The device triple.
        triple: String,
    },
    /// offlink failed.
    #[error("{}", .0.trim_end())]
    Offlink(String),
    /// offlink's answer makes no sense: it is another version.
    #[error("'offlink {0}' gives an answer that this version of offlink-build does not know")]
    Answer(&'static str),
    /// There is no offload runtime to link with.
    #[error(
        "there is no libomptarget to link with; install it (package liboffload or libomp), or set \
         OFFLINK_OMPTARGET to its path"
    )]
    NoOffloadRuntime,
}

impl Error {
    pub(crate) fn file(file: &Path, source: io::Error) -> Self {
        Self::File {
            file: file.into(),
            source,
        }
    }
}
