//! Device images: what they are and which symbols they define.

mod declare;
mod format;
mod one_omp;
mod ptx;
mod spirv;
mod symbols;
pub(crate) mod target;

pub use declare::declare_kernels;
pub use format::ImageFormat;
pub use one_omp::{module_in_one_omp, one_omp};
pub use symbols::{device_symbols, kernels, spirv_imports};
pub use target::{ImageTarget, object_target, target};

use crate::elf::ElfError;

/// Why the symbols of a device image can't be told.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// Images of this format keep their symbols where this crate can't see them.
    #[error("the symbols of an image of format {0} can't be read")]
    Format(ImageFormat),
    /// The image does not say what it was made for.
    #[error("the image does not say what it is for: {0}")]
    Target(&'static str),
    /// The image is a broken ELF file.
    #[error("cannot read the device image: {0}")]
    Elf(#[from] ElfError),
    /// The image is a broken SPIR-V module.
    #[error("cannot read the device image: malformed SPIR-V module")]
    Spirv,
    /// The image is too large for its container.
    #[error("the device image is too large for its container")]
    TooLarge,
    /// The image looks like Intel's container, but lacks the part for SPIR-V.
    #[error("cannot read the device image: no SPIR-V module in Intel's container")]
    NoModule,
}

#[cfg(test)]
mod tests;
