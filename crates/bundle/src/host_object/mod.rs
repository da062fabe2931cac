//! The relocatable object that registers device images with their runtime.
//!
//! Its code is constant and compiled when this crate is built (`runtime/`);
//! writing an object is copying that code, adding the images as a section and
//! the tables that point at them. The contents are those that LLVM 22.1.8's
//! clang-linker-wrapper gives its wrapper object of the same kind: a constructor
//! registers the images and, but for SYCL, leaves unregistering them to `atexit`.
//! All symbols that it defines are local, so that several such
//! objects, of one kind or of several, fit into one program.
//!
//! Each kind has a module with a `write`: [`openmp`], [`cuda`], [`hip`], [`sycl`].
//! For hosts that this crate has no compiled code for ([`HostTarget`]), a `source`
//! beside it gives the object as C source, which a compiler of the user makes into
//! it. The entries of one kind have one form ([`Generation`]), which the object goes
//! by.
//!
//! [`Generation`]: crate::entry::Generation

pub mod cuda;
mod embedded;
mod embedded_images;
mod entries;
mod flags;
pub mod hip;
mod host;
pub mod openmp;
mod platform;
mod relocatable;
mod source;
pub mod sycl;
mod template;

use std::io;

pub(crate) use entries::SHF_GNU_RETAIN;
pub use host::{HostTarget, UnsupportedHost};
pub use platform::{Format, Platform, is_big_coff_object};

use crate::elf::ElfError;
use crate::offload_binary::{ParseError, WriteError};

/// Why a host object could not be written.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// An image can't be put into an offload binary.
    #[error("cannot embed device image {index} ({triple} {arch}): {source}")]
    Image {
        /// The position of the image among those given.
        index: usize,
        /// Its target triple.
        triple: String,
        /// Its architecture.
        arch: String,
        /// What is wrong with it.
        source: WriteError,
    },
    /// The images can't be taken out of their container.
    #[error("cannot read the offload binary to be registered: {0}")]
    Binary(#[from] ParseError),
    /// There are more images than the descriptor can count.
    #[error("{0} device images are more than one host object can register")]
    TooMany(usize),
    /// The code compiled into this crate is not as it should be.
    #[error("the embedded registration code is unusable: {0}")]
    Template(String),
    /// The object would be malformed.
    #[error("cannot lay out the host object: {0}")]
    Layout(#[from] object::write::Error),
    /// The sink failed.
    #[error("cannot write the host object: {0}")]
    Io(#[from] io::Error),
}

impl From<ElfError> for Error {
    fn from(error: ElfError) -> Self {
        Error::Template(error.to_string())
    }
}

#[cfg(test)]
mod tests;
