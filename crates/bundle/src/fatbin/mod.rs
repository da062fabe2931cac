//! The fatbin: NVIDIA's container of cubins and PTX for several architectures.
//!
//! NVIDIA documents what the container is for but not its layout. The layout
//! here was read off the output of `fatbinary` 13.0.88 and of the library
//! nvFatbin 12.9.82 with the options and architectures that they have. All
//! integers are little endian; entries are multiples of eight bytes long.

mod arch;
mod compression;
mod from_image;
mod parse;
mod write;

use std::borrow::Cow;

pub use arch::{Arch, ArchError, ArchVariant};
pub use compression::Compression;
pub use from_image::ImageError;
pub use parse::{ParseError, parse};
pub use write::{WriteError, write};

/// The four bytes that every fatbin starts with.
pub const MAGIC: [u8; 4] = 0xba55_ed50_u32.to_le_bytes();

/// The alignment of a fatbin and of the payloads in it, in bytes.
pub const ALIGNMENT: usize = 8;

/// [`Entry::flags`]: the image is for 64-bit hosts (`fatbinary -64`).
pub const FLAG_64_BIT: u64 = 1;
/// [`Entry::flags`]: compiled with debug information (`fatbinary -g`).
pub const FLAG_DEBUG: u64 = 2;
/// [`Entry::flags`]: the host runs Linux (nvFatbin's `-host=linux`, its default).
pub const FLAG_HOST_LINUX: u64 = 0x10;
/// [`Entry::flags`]: the host runs macOS (nvFatbin's `-host=mac`).
pub const FLAG_HOST_MAC: u64 = 0x20;
/// [`Entry::flags`]: the host runs Windows (nvFatbin's `-host=windows`).
pub const FLAG_HOST_WINDOWS: u64 = 0x40;
/// [`Entry::flags`]: [`Entry::options`] is the `.nv.compat` section of the
/// cubin, as `fatbinary` has it for `sm_100` and newer.
pub const FLAG_COMPATIBILITY: u64 = 0x100_0000;

const FLAG_LZ4: u64 = 0x2000;
const FLAG_ZSTD: u64 = 0x8000;
const FLAG_ARCH_SPECIFIC: u64 = 0x10_0000;
const FLAG_FAMILY_SPECIFIC: u64 = 0x20_0000;

/// The version of the container and of the entry headers.
const VERSION: u16 = 1;
const ENTRY_VERSION: u16 = 0x0101;
const HEADER_SIZE: usize = 16;
/// Identifier and options follow the entry header and count as part of it.
const ENTRY_HEADER_SIZE: usize = 64;
/// Where options start, from the entry's start, and how long they are.
const OPTIONS_HEADER_SIZE: usize = 8;

/// One fatbin and where it was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fatbin<'a> {
    /// Where it starts, in bytes from the start of what was parsed.
    pub offset: usize,
    /// Its entries in file order.
    pub entries: Vec<Entry<'a>>,
}

/// What the bytes of an entry are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Kind {
    /// PTX assembly, from which a driver makes code for newer devices.
    Ptx,
    /// A cubin.
    Elf,
    /// NVIDIA's form of LLVM's bitcode, which nvlink optimises (`nvcc -dlto`).
    LtoIr,
    /// PTX that was taken out of relocatable code, which a driver is to link
    /// (`fatbinary --image2=kind=reloc`).
    RelocatablePtx,
    /// A kind that offlink knows only the number of.
    Other(u16),
}

impl Kind {
    fn from_number(number: u16) -> Self {
        match number {
            1 => Self::Ptx,
            2 => Self::Elf,
            8 => Self::LtoIr,
            0x40 => Self::RelocatablePtx,
            _ => Self::Other(number),
        }
    }

    fn number(self) -> u16 {
        match self {
            Self::Ptx => 1,
            Self::Elf => 2,
            Self::LtoIr => 8,
            Self::RelocatablePtx => 0x40,
            Self::Other(number) => number,
        }
    }

    /// Whether the container ends the image with a NUL.
    fn is_text(self) -> bool {
        matches!(self, Self::Ptx | Self::RelocatablePtx)
    }
}

/// One image and what is known about it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry<'a> {
    /// What the bytes are.
    pub kind: Kind,
    /// The architecture that the image was compiled for.
    pub arch: Arch,
    /// The version of the code, major before minor: that of the PTX language
    /// for PTX, 1 and the ELF file's ABI version for cubins, and what the file
    /// says behind its magic bytes for LTO-IR.
    pub version: (u16, u16),
    /// `FLAG_…` constants of this module and bits whose meaning is unknown.
    /// The bits that say the same as [`Self::arch`] and [`Self::compression`]
    /// are not among them.
    pub flags: u64,
    /// The name of the source file (`fatbinary -ident`).
    pub identifier: Option<Cow<'a, [u8]>>,
    /// For PTX the options for ptxas (`fatbinary -cmdline`), which are there
    /// even when empty, as are those for cicc of LTO-IR (`fatbinary
    /// -cicc-cmdline`). For cubins see [`FLAG_COMPATIBILITY`].
    pub options: Option<Cow<'a, [u8]>>,
    /// How the container stores the image.
    pub compression: Compression,
    /// The image itself, not compressed. PTX is without the NUL that ends it in
    /// the container. A cubin that was not compressed may have up to seven bytes
    /// of padding, as the container does not tell its size.
    pub data: Cow<'a, [u8]>,
}

impl Entry<'_> {
    /// Whether `fatbinary` 13.0 compresses such an entry without being told to:
    /// PTX and images with debug information.
    pub fn is_compressed_by_default(&self) -> bool {
        self.kind == Kind::Ptx || self.flags & FLAG_DEBUG != 0
    }
}

#[cfg(test)]
mod tests;
