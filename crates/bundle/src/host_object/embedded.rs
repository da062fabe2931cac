//! A host object of constant code and one blob of device code.

use std::borrow::Cow;
use std::io::Write;

use goblin::elf::section_header::{SHF_ALLOC, SHT_PROGBITS};

use super::relocatable::{Relocatable, Section, Symbol};
use super::source::Blob;
use super::{Error, HostTarget, entries, template};

/// Where a blob goes.
pub(super) struct Place {
    /// The section, which holds nothing else.
    pub(super) section: &'static str,
    /// Segment and section where objects are Mach-O.
    pub(super) mach_o_section: &'static str,
    /// Its alignment in bytes.
    pub(super) alignment: u64,
    /// The name by which the code refers to the first byte.
    pub(super) symbol: &'static str,
}

impl Place {
    /// The same place in C source.
    pub(super) fn blob(&self) -> Blob<'static> {
        Blob {
            section: self.section,
            mach_o_section: self.mach_o_section,
            elf_type: "progbits",
            alignment: self.alignment,
            symbol: self.symbol,
        }
    }
}

/// Writes an object of `code`, compiled from `runtime/`, and `blob` to `out`.
pub(super) fn write(
    host: HostTarget,
    code: &[u8],
    entries_section: &'static str,
    place: &Place,
    blob: &[u8],
    out: &mut impl Write,
) -> Result<(), Error> {
    let mut object = Relocatable::new(host.machine());
    let section = object.add_section(Section {
        name: Cow::Borrowed(place.section.as_bytes()),
        kind: SHT_PROGBITS,
        flags: u64::from(SHF_ALLOC),
        alignment: place.alignment,
        entry_size: 0,
        pieces: vec![Cow::Borrowed(blob)],
        relocations: Vec::new(),
    });
    let size = blob.len() as u64;
    let symbol = object.add_symbol(Symbol::local(place.symbol.to_owned(), section, 0, size));
    template::add(&mut object, code, place.symbol, symbol)?;
    entries::add_section(&mut object, entries_section);
    object.add_stack_note();
    object.write(out)
}
