//! Device images: what they are and which symbols they define.

mod declare;
mod format;
mod ptx;
mod symbols;

pub use declare::declare_kernels;
pub use format::ImageFormat;
pub use symbols::{device_symbols, kernels};

use crate::elf::ElfError;

/// Why the symbols of a device image can't be told.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// Images of this format keep their symbols where this crate can't see them.
    #[error("the symbols of an image of format {0} can't be read")]
    Format(ImageFormat),
    /// The image is a broken ELF file.
    #[error("cannot read the device image: {0}")]
    Elf(#[from] ElfError),
}

#[cfg(test)]
mod tests;
