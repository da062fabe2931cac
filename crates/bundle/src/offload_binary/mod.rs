//! The offload binary: device images with the target that each was built for.
//!
//! The layout is the one of LLVM's object library. Version 1 was read off the
//! output of llvm-offload-binary 22.1.8; versions 2 and 3 follow the format
//! that LLVM 23 and 24 document in their `OffloadBinary` header. All integers
//! are little endian and every binary starts on a multiple of [`ALIGNMENT`].

mod compression;
mod kind;
mod parse;
mod string_table;
mod write;

use std::borrow::Cow;

pub use compression::Compression;
pub use kind::{ImageKind, OffloadKind};
pub use parse::{ParseError, parse};
pub(crate) use write::Encoded;
pub use write::{Version, WriteError, write};

/// The four bytes that every offload binary starts with.
pub const MAGIC: [u8; 4] = [0x10, 0xff, 0x10, 0xad];

/// The alignment of an offload binary and of the images in it, in bytes.
pub const ALIGNMENT: usize = 8;

/// The type of the ELF sections that hold offload binaries (`SHT_LLVM_OFFLOADING`).
pub const SECTION_TYPE: u32 = 0x6fff_4c0b;

/// The name of the sections that hold offload binaries; COFF has no section
/// types, so there the name alone marks them.
pub const SECTION_NAME: &str = ".llvm.offloading";

/// [`Image::flags`] of an entry that has strings but no image (LLVM 23's `OIF_Metadata`).
pub const FLAG_METADATA: u32 = 1;

const HEADER_SIZE: usize = 32;
/// Version 3 appends the inflated size to the header.
const HEADER_SIZE_V3: usize = 40;
const ENTRY_SIZE: usize = 40;
const STRING_ELEMENT_SIZE_V1: usize = 16;
/// Since version 2 an element also holds the length of its value.
const STRING_ELEMENT_SIZE: usize = 24;

/// One device image and what is known about it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Image<'a> {
    /// What the bytes are.
    pub image_kind: ImageKind,
    /// The language runtime that the image is for.
    pub offload_kind: OffloadKind,
    /// [`FLAG_METADATA`] or zero.
    pub flags: u32,
    /// Keys and values in file order; `triple` and `arch` are the usual keys.
    /// A value may hold any bytes, except that version 1 can't hold a NUL.
    pub strings: Vec<(String, Vec<u8>)>,
    /// The image itself, without padding.
    pub data: Cow<'a, [u8]>,
}

impl<'a> Image<'a> {
    /// An image for `triple` and `arch`, in the order in which
    /// clang-linker-wrapper 22 writes those two keys. `arch` may be empty.
    pub fn new(
        image_kind: ImageKind,
        offload_kind: OffloadKind,
        triple: &str,
        arch: &str,
        data: impl Into<Cow<'a, [u8]>>,
    ) -> Self {
        Image {
            image_kind,
            offload_kind,
            flags: 0,
            strings: vec![
                ("triple".to_owned(), triple.into()),
                ("arch".to_owned(), arch.into()),
            ],
            data: data.into(),
        }
    }

    /// The value of `key`; of several with that key the last, as in LLVM's reader.
    pub fn string(&self, key: &str) -> Option<&[u8]> {
        let found = self.strings.iter().rev().find(|(name, _)| name == key);
        found.map(|(_, value)| value.as_slice())
    }

    /// The target triple, or an empty string when there is none in UTF-8.
    pub fn triple(&self) -> &str {
        self.text("triple")
    }

    /// The architecture or target ID, or an empty string when there is none in UTF-8.
    pub fn arch(&self) -> &str {
        self.text("arch")
    }

    fn text(&self, key: &str) -> &str {
        let value = self.string(key).unwrap_or_default();
        std::str::from_utf8(value).unwrap_or_default()
    }

    /// Sorts the strings into the order in which llvm-offload-binary 22.1.8
    /// writes the keys that compilers use: `feature`, `arch`, `triple`,
    /// `symbols`. It is the order of that tool's hash table, so keys that it
    /// knows nothing of have no place in it; they go last, in their own order.
    pub fn sort_strings_like_packager(&mut self) {
        const ORDER: [&str; 4] = ["feature", "arch", "triple", "symbols"];
        let place = |key: &str| ORDER.iter().position(|known| *known == key);
        self.strings
            .sort_by_key(|(key, _)| place(key).unwrap_or(ORDER.len()));
    }
}

/// `offset` rounded up to [`ALIGNMENT`], or `None` when that overflows.
fn align(offset: usize) -> Option<usize> {
    offset.checked_next_multiple_of(ALIGNMENT)
}

#[cfg(test)]
mod tests;
