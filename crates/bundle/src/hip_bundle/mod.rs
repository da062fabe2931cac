//! The bundle of device images that HIP programs carry, and its compressed form.
//!
//! The layouts are those of `clang-offload-bundler`; they were read off the
//! output of version 22.1.8. Version 1 of the compressed form, and zlib in it,
//! were checked by what that tool reads, as it doesn't write them. All integers
//! are little endian.

mod compressed;
mod id;
mod parse;
mod write;

use std::borrow::Cow;

pub use compressed::{CompressedVersion, Compression, Header, Method};
pub use id::{Id, IdError};
pub use parse::{ParseError, inflate, parse};
pub use write::{WriteError, compress, write};

/// The 24 bytes that every bundle starts with when it is not compressed.
pub const MAGIC: [u8; 24] = *b"__CLANG_OFFLOAD_BUNDLE__";

/// The four bytes that every compressed bundle starts with.
pub const COMPRESSED_MAGIC: [u8; 4] = *b"CCOB";

/// The alignment of images in bytes that clang-linker-wrapper 22 asks for
/// (`-bundle-align=4096`), that of a page.
pub const ALIGNMENT: u64 = 4096;

/// The size of an entry without its ID, and of the count before all entries.
const ENTRY_SIZE: usize = 24;
const COUNT_SIZE: usize = 8;

/// One bundle and where it was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Bundle<'a> {
    /// Where it starts, in bytes from the start of what was parsed.
    pub offset: usize,
    /// What the header says when the bundle is compressed.
    pub compressed: Option<Header>,
    /// Its entries in file order.
    pub entries: Vec<Entry<'a>>,
}

/// One image and the target that it is for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry<'a> {
    /// The bundle entry ID as it stands in the file, such as
    /// `hip-amdgcn-amd-amdhsa--gfx90a`; [`Id::parse`] takes it apart.
    pub id: String,
    /// The image itself, without padding; empty for a host.
    pub data: Cow<'a, [u8]>,
}

#[cfg(test)]
mod tests;
