//! Making an entry of an image as a compiler wrote it.

use std::borrow::Cow;

use offlink_ptx::text;

use super::{
    Arch, ArchError, Compression, Entry, FLAG_64_BIT, FLAG_COMPATIBILITY, FLAG_HOST_LINUX, Kind,
};
use crate::elf::{Elf, ElfError};
use crate::image::ImageFormat;
use crate::image::target::{ABI_VERSION, cubin_arch_number};

/// From this architecture on a cubin's `.nv.compat` is copied to its entry.
const FIRST_ARCH_WITH_COMPATIBILITY: u32 = 100;

/// What LTO-IR starts with; seen in the output of cicc 13.0.88.
const LTO_IR_MAGIC: [u8; 4] = [0xed, 0x43, 0x4e, 0x7f];

/// Why an image can't become an entry.
#[derive(Debug, thiserror::Error)]
pub enum ImageError {
    /// The name of the architecture is none.
    #[error(transparent)]
    Arch(#[from] ArchError),
    /// Only PTX and cubins go into fatbins.
    #[error("the image for {arch} is {format}, not PTX or a cubin")]
    Format {
        /// The architecture that was asked for.
        arch: Arch,
        /// What the image is instead.
        format: ImageFormat,
    },
    /// The image is no LTO-IR.
    #[error("the image for {arch} is no LTO-IR, which nvcc makes with -dlto")]
    LtoIr {
        /// The architecture that was asked for.
        arch: Arch,
    },
    /// The image is for another architecture.
    #[error("the {kind} for {arch} was compiled for sm_{found}")]
    WrongArch {
        /// `cubin` or `PTX`.
        kind: &'static str,
        /// The architecture that was asked for.
        arch: Arch,
        /// The number of the architecture that the image names.
        found: u32,
    },
    /// The PTX does not start as PTX has to.
    #[error("the PTX for {arch} has no valid {directive} directive")]
    Ptx {
        /// The architecture that was asked for.
        arch: Arch,
        /// The directive that is missing or malformed.
        directive: &'static str,
    },
    /// The cubin is a broken ELF file.
    #[error("cannot read the cubin for {arch}: {source}")]
    Elf {
        /// The architecture that was asked for.
        arch: Arch,
        /// What is wrong with it.
        source: ElfError,
    },
}

impl<'a> Entry<'a> {
    /// An entry for a cubin or for PTX, as `fatbinary` 13.0.88 makes it for a
    /// Linux host: not compressed, without identifier, the version, the flags
    /// and the options as the image has them.
    ///
    /// `arch` is a name such as `sm_90a`. The number in it has to be a cubin's
    /// own, and at least that which PTX has as its target, although `fatbinary`
    /// does not look at the latter: a driver takes the entry's word for it.
    /// Suffixes are not compared, as cubins of CUDA 13 don't have them.
    ///
    /// PTX is stored as it is, less any NULs at its end. `fatbinary` also drops
    /// comments and indentation, in a manner that differs between versions.
    ///
    /// # Errors
    /// [`ImageError`] when `arch` is no such name or the image no such image.
    pub fn from_image(arch: &str, image: &'a [u8]) -> Result<Self, ImageError> {
        let arch = arch.parse()?;
        match ImageFormat::detect(image) {
            ImageFormat::CubinFinal | ImageFormat::CubinRelocatable => {
                Self::from_cubin(arch, image)
            }
            ImageFormat::Ptx => Self::from_ptx(arch, image),
            format => Err(ImageError::Format { arch, format }),
        }
    }

    /// An entry for LTO-IR, as `fatbinary` 13.0.88 makes it for a Linux host: not
    /// compressed, without identifier, and with empty options for cicc. `arch` is
    /// a name such as `sm_90a`, which the image doesn't tell.
    ///
    /// # Errors
    /// [`ImageError`] when `arch` is no such name or the image no LTO-IR; of the
    /// latter `fatbinary` takes some.
    pub fn from_lto_ir(arch: &str, image: &'a [u8]) -> Result<Self, ImageError> {
        let arch = arch.parse()?;
        let behind_magic = image.strip_prefix(&LTO_IR_MAGIC);
        let Some(&[major, minor]) = behind_magic.and_then(|rest| rest.first_chunk()) else {
            return Err(ImageError::LtoIr { arch });
        };
        Ok(Entry {
            kind: Kind::LtoIr,
            arch,
            version: (major.into(), minor.into()),
            flags: FLAG_HOST_LINUX | FLAG_64_BIT,
            identifier: None,
            options: Some(Cow::Borrowed(&[])),
            compression: Compression::None,
            data: Cow::Borrowed(image),
        })
    }

    fn from_cubin(arch: Arch, image: &'a [u8]) -> Result<Self, ImageError> {
        let malformed = |source| ImageError::Elf { arch, source };
        let elf = Elf::parse(image).map_err(malformed)?;
        let abi_version = elf.header.e_ident[ABI_VERSION];
        let found = cubin_arch_number(&elf.header);
        if found != arch.number {
            let kind = "cubin";
            return Err(ImageError::WrongArch { kind, arch, found });
        }
        let mut flags = FLAG_HOST_LINUX;
        if elf.is_64_bit_little_endian() {
            flags |= FLAG_64_BIT;
        }
        let mut options = None;
        if arch.number >= FIRST_ARCH_WITH_COMPATIBILITY
            && let Some(section) = elf.named(".nv.compat").map_err(malformed)?.first()
        {
            flags |= FLAG_COMPATIBILITY;
            options = Some(Cow::Borrowed(elf.contents(*section).map_err(malformed)?));
        }
        Ok(Entry {
            kind: Kind::Elf,
            arch,
            version: (1, abi_version.into()),
            flags,
            identifier: None,
            options,
            compression: Compression::None,
            data: Cow::Borrowed(image),
        })
    }

    fn from_ptx(arch: Arch, image: &'a [u8]) -> Result<Self, ImageError> {
        let malformed = |directive| ImageError::Ptx { arch, directive };
        let head = text::head(image).map_err(malformed)?;
        let target: Arch = head.target.parse().map_err(|_| malformed(".target"))?;
        let part = |number: u32| u16::try_from(number).map_err(|_| malformed(".version"));
        let version = head.version.number();
        if target.number > arch.number {
            return Err(ImageError::WrongArch {
                kind: "PTX",
                arch,
                found: target.number,
            });
        }
        let address_size = if head.is_64_bit { FLAG_64_BIT } else { 0 };
        Ok(Entry {
            kind: Kind::Ptx,
            arch,
            version: (part(version / 10)?, part(version % 10)?),
            flags: FLAG_HOST_LINUX | address_size,
            identifier: None,
            options: Some(Cow::Borrowed(&[])),
            compression: Compression::None,
            data: Cow::Borrowed(super::parse::without_nuls(image)),
        })
    }
}
