//! Device images in a section: each in an offload binary, where LLVM's tools find
//! it, and registered without that wrapping.

use std::borrow::Cow;

use goblin::elf::section_header::SHF_ALLOC;

use super::Error;
use super::relocatable::{Relocatable, Section, SectionId, Symbol, SymbolId};
use crate::offload_binary::{self, Encoded, Image};

/// A section's name and `sh_type`.
pub(super) type NameAndType = (&'static str, u32);

/// Where LLVM's tools look for images.
pub(super) const SECTION: NameAndType =
    (offload_binary::SECTION_NAME, offload_binary::SECTION_TYPE);

/// One image in the object.
pub(super) struct Embedded {
    pub(super) symbol: SymbolId,
    /// In bytes. No slice is larger than `isize::MAX`.
    pub(super) size: i64,
}

/// Each image as an offload binary of version 1.
pub(super) fn encode<'a>(images: &'a [Image<'_>]) -> Result<Vec<Encoded<'a>>, Error> {
    images
        .iter()
        .enumerate()
        .map(|(index, image)| {
            Encoded::version_1(image).map_err(|source| Error::Image {
                index,
                triple: image.triple().to_owned(),
                arch: image.arch().to_owned(),
                source,
            })
        })
        .collect()
}

/// Adds the offload binaries; `name` gives the name of an image's symbol by the
/// position of the image.
pub(super) fn add<'a>(
    object: &mut Relocatable<'a>,
    binaries: &'a [Encoded<'a>],
    section: NameAndType,
    name: impl Fn(usize) -> String,
) -> Vec<Embedded> {
    let mut pieces = Vec::new();
    for binary in binaries {
        pieces.push(Cow::Borrowed(binary.head.as_slice()));
        pieces.extend(binary.after_head().map(Cow::Borrowed));
    }
    if pieces.is_empty() {
        return Vec::new();
    }
    let section = add_section(object, section, pieces);
    let mut start = 0;
    let mut images = Vec::new();
    for (index, binary) in binaries.iter().enumerate() {
        let size = binary.image_size();
        let address = start + binary.head.len() as u64;
        let symbol = object.add_symbol(Symbol::local(name(index), section, address, size));
        images.push(Embedded {
            symbol,
            size: size as i64,
        });
        start += binary.size as u64;
    }
    images
}

/// Adds the section of these contents.
pub(super) fn add_section<'a>(
    object: &mut Relocatable<'a>,
    (name, kind): NameAndType,
    pieces: Vec<Cow<'a, [u8]>>,
) -> SectionId {
    object.add_section(Section {
        name: Cow::Borrowed(name.as_bytes()),
        kind,
        flags: u64::from(SHF_ALLOC),
        alignment: offload_binary::ALIGNMENT as u64,
        entry_size: 0,
        pieces,
        relocations: Vec::new(),
    })
}
