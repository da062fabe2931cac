//! Entries of relocatable objects, whose pointers are relocations.

use std::collections::HashMap;

use goblin::elf::header::ET_REL;
use goblin::elf::section_header::{SHN_UNDEF, SHT_RELA};
use goblin::elf::sym::STT_SECTION;

use super::{Error, Form, OffloadEntry, SECTIONS, coff, open, text};
use crate::elf::{Elf, Symbols, string_at};

/// Reads the offload entries of a relocatable ELF or COFF object, in file order.
///
/// Without a section of [`SECTIONS`] only the section headers are read.
/// Entries that are all zero are padding and left out.
///
/// # Errors
/// [`Error`]; an entry whose name can't be read is named by its position.
pub fn read_object(file: &[u8]) -> Result<Vec<OffloadEntry>, Error> {
    if coff::is_coff(file) {
        return coff::read_object(file);
    }
    let elf = open(file)?;
    if elf.header.e_type != ET_REL {
        let expected = "a relocatable object";
        return Err(Error::FileType {
            found: elf.header.e_type,
            expected,
        });
    }
    let mut entries = Vec::new();
    let mut index = 0;
    for of_entries in SECTIONS {
        for section in elf.named(of_entries.0)? {
            let names = Names::of_section(&elf, section)?;
            let contents = elf.contents(section)?;
            let form = Form::of(of_entries, contents, |at| names.targets.contains_key(&at));
            for (position, bytes) in form.split(contents)?.enumerate() {
                let offset = (position * bytes.len() + form.name_offset()) as u64;
                let name = names.bytes(&elf, offset);
                if name.is_some() || bytes.iter().any(|byte| *byte != 0) {
                    let mut entry = form.without_name(bytes);
                    entry.name = text(index, name.flatten())?;
                    entries.push(entry);
                }
                index += 1;
            }
        }
    }
    Ok(entries)
}

/// The relocations of one section of entries.
struct Names<'a> {
    /// Symbol table, symbol and addend by offset into the section.
    targets: HashMap<u64, (usize, usize, i64)>,
    tables: HashMap<usize, Symbols<'a>>,
}

impl<'a> Names<'a> {
    fn of_section(elf: &Elf<'a>, section: usize) -> Result<Self, Error> {
        let mut names = Names {
            targets: HashMap::new(),
            tables: HashMap::new(),
        };
        for (index, header) in elf.sections.iter().enumerate() {
            if header.sh_type != SHT_RELA || header.sh_info as usize != section {
                continue;
            }
            let table = header.sh_link as usize;
            names.tables.insert(table, elf.symbols(table)?);
            for relocation in elf.relocations(index, true)?.iter() {
                let addend = relocation.r_addend.unwrap_or_default();
                names
                    .targets
                    .insert(relocation.r_offset, (table, relocation.r_sym, addend));
            }
        }
        Ok(names)
    }

    /// The string that the pointer at `offset` leads to: `None` when nothing
    /// is relocated there, `Some(None)` when it leads to no string.
    fn bytes(&self, elf: &Elf<'a>, offset: u64) -> Option<Option<&'a [u8]>> {
        let (table, index, addend) = *self.targets.get(&offset)?;
        Some(self.target(elf, table, index, addend))
    }

    fn target(&self, elf: &Elf<'a>, table: usize, index: usize, addend: i64) -> Option<&'a [u8]> {
        let symbols = self.tables.get(&table)?;
        let symbol = symbols.get(index)?;
        let section = symbols.section_of(index, &symbol)?;
        if section == SHN_UNDEF as usize {
            return None;
        }
        // A section symbol's value is zero in a relocatable object.
        let value = if symbol.st_type() == STT_SECTION {
            0
        } else {
            symbol.st_value
        };
        let start = usize::try_from(value.checked_add_signed(addend)?).ok()?;
        string_at(elf.contents(section).ok()?, start)
    }
}
