//! What can be wrong with the line of a peer and with the files on it.

use offlink_bundle::{fatbin, hip_bundle};
use offlink_llvm::AssembleError;
use thiserror::Error;

/// A peer's line can't be carried out.
#[derive(Debug, Error)]
pub enum PeerError {
    /// No such option.
    #[error("unknown option '{0}'; --help lists the options")]
    Unknown(String),
    /// The option wants a value.
    #[error("option {option} needs a value: {expected}")]
    NoValue {
        /// The option.
        option: String,
        /// What the value stands for.
        expected: &'static str,
    },
    /// The value makes no sense.
    #[error("'{value}' is no value for {option}; it takes {expected}")]
    BadValue {
        /// The option.
        option: String,
        /// The value.
        value: String,
        /// What it should be.
        expected: &'static str,
    },
    /// Something that has to be there is not.
    #[error("{0} is missing")]
    Missing(&'static str),
    /// Two things that exclude each other, or that have to be equally many.
    #[error("{0}")]
    Mismatch(&'static str),
    /// offlink does not do it.
    #[error("{what} is not supported; {remedy}")]
    Unsupported {
        /// What was asked for.
        what: String,
        /// What to do instead.
        remedy: &'static str,
    },
    /// An image argument lacks something or has too much of it.
    #[error("image '{image}' {fault}")]
    Image {
        /// The argument.
        image: String,
        /// What is wrong with it.
        fault: String,
    },
    /// A target of a bundle is no bundle entry ID.
    #[error(
        "target '{0}' is no bundle entry ID; they are written like \
         hip-amdgcn-amd-amdhsa--gfx90a, with four components of the triple"
    )]
    Target(String),
    /// Two targets that can't stand in one bundle.
    #[error("targets '{first}' and '{second}' can't be in one bundle: {why}")]
    Conflict {
        /// One.
        first: String,
        /// The other.
        second: String,
        /// Why not.
        why: &'static str,
    },
    /// Some targets are not in the bundle.
    #[error("'{file}' holds nothing for {targets}; --list shows what it holds")]
    NotInBundle {
        /// The bundle.
        file: String,
        /// The targets.
        targets: String,
    },
    /// A bundle can't be read.
    #[error("cannot read the bundle '{file}': {source}")]
    Bundle {
        /// The file.
        file: String,
        /// What is wrong.
        source: hip_bundle::ParseError,
    },
    /// A text bundle can't be read.
    #[error("'{file}' is damaged: its bundle for {id} does not end")]
    TextBundle {
        /// The file.
        file: String,
        /// The ID of the part.
        id: String,
    },
    /// An archive can't be read.
    #[error("cannot read archive '{file}': {source}; make it anew")]
    Archive {
        /// The file.
        file: String,
        /// What is wrong.
        source: object::read::Error,
    },
    /// An image does not fit into a fatbin.
    #[error("cannot put '{file}' into a fatbin: {source}")]
    Fatbin {
        /// The file.
        file: String,
        /// What is wrong.
        source: fatbin::ImageError,
    },
    /// A section of a host object can't be read.
    #[error("cannot read section {section} of '{file}': {source}")]
    Section {
        /// The file.
        file: String,
        /// The section.
        section: &'static str,
        /// What is wrong.
        source: object::read::Error,
    },
    /// A fatbin whose PTX is to be taken can't be read.
    #[error("cannot read the fatbin in '{file}': {source}")]
    RelocatableFatbin {
        /// The file.
        file: String,
        /// What is wrong.
        source: fatbin::ParseError,
    },
    /// Two pieces of relocatable PTX that a driver can't tell apart.
    #[error(
        "'{file}' has PTX for {arch} with the identifier of another piece; give each an \
         --ident of its own"
    )]
    SameIdentifier {
        /// The file.
        file: String,
        /// The architecture of both.
        arch: fatbin::Arch,
    },
    /// The module can't be made.
    #[error(transparent)]
    Module(#[from] AssembleError),
    /// An input has no place in this link.
    #[error("'{0}' is neither bitcode, PTX nor a cubin, so it can't be linked for a GPU")]
    NotDeviceCode(String),
    /// A library is in none of the folders.
    #[error("cannot find library -l{0}; name its folder with -L")]
    Library(String),
}
