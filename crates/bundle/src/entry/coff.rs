//! Entries of Windows' files: COFF objects, and PE programs and libraries.

use std::collections::HashMap;

use object::read::coff::{CoffBigFile, CoffFile};
use object::read::pe::PeFile64;
use object::{Object, ObjectSection, ObjectSymbol, SymbolSection};

use super::generation::{COMMON_SECTION, word};
use super::{Error, Form, OffloadEntry, SECTIONS, text};
use crate::elf::string_at;
use crate::host_object::{Format, Platform, is_big_coff_object};

/// The name of the entries' section in a program: linkers cut it off after eight
/// bytes (lld-link 22.1.8).
const LINKED_SECTION: &str = "llvm_off";

/// Whether the file is a COFF object or a PE file rather than ELF.
pub(super) fn is_coff(file: &[u8]) -> bool {
    is_linked(file)
        || Platform::of_file(file).is_some_and(|platform| platform.format() == Format::Coff)
}

/// Whether the file is a PE program or library.
pub(super) fn is_linked(file: &[u8]) -> bool {
    file.starts_with(b"MZ")
}

pub(super) fn read_object(file: &[u8]) -> Result<Vec<OffloadEntry>, Error> {
    if is_big_coff_object(file) {
        return of_object(&CoffBigFile::<&[u8]>::parse(file)?);
    }
    of_object(&CoffFile::<&[u8]>::parse(file)?)
}

fn of_object<'a>(object: &impl Object<'a>) -> Result<Vec<OffloadEntry>, Error> {
    let mut entries = Vec::new();
    let mut index = 0;
    for section in object.sections() {
        let name = section.name_bytes()?;
        if let Some(section) = old_section(name) {
            return Err(Error::OldCoff { section });
        }
        if !is_entries(name) {
            continue;
        }
        let targets: HashMap<u64, object::RelocationTarget> = section
            .relocations()
            .map(|(offset, relocation)| (offset, relocation.target()))
            .collect();
        let form = Form::COMMON;
        for (position, bytes) in form.split(section.data()?)?.enumerate() {
            let offset = position * bytes.len() + form.name_offset();
            let target = targets.get(&(offset as u64));
            if target.is_some() || bytes.iter().any(|byte| *byte != 0) {
                let mut entry = form.without_name(bytes);
                // The addend stands where the pointer will.
                let addend = word(bytes, form.name_offset());
                let name = target.and_then(|target| string_of(object, *target, addend));
                entry.name = text(index, name)?;
                entries.push(entry);
            }
            index += 1;
        }
    }
    Ok(entries)
}

fn string_of<'a>(
    object: &impl Object<'a>,
    target: object::RelocationTarget,
    addend: u64,
) -> Option<&'a [u8]> {
    let object::RelocationTarget::Symbol(symbol) = target else {
        return None;
    };
    let symbol = object.symbol_by_index(symbol).ok()?;
    let SymbolSection::Section(section) = symbol.section() else {
        return None;
    };
    let data = object.section_by_index(section).ok()?.data().ok()?;
    string_at(
        data,
        usize::try_from(symbol.address().checked_add(addend)?).ok()?,
    )
}

pub(super) fn read_linked(file: &[u8]) -> Result<Vec<OffloadEntry>, Error> {
    let program = PeFile64::<&[u8]>::parse(file)?;
    let mut entries = Vec::new();
    let mut index = 0;
    for section in program.sections() {
        if !is_entries(section.name_bytes()?) {
            continue;
        }
        // The file's section may be padded beyond the loaded one.
        let data = section.data()?;
        let size = usize::try_from(section.size()).unwrap_or(data.len());
        let form = Form::COMMON;
        for bytes in form.split(&data[..size.min(data.len())])? {
            // The ends of the section are zero entries.
            if bytes.iter().any(|byte| *byte != 0) {
                let mut entry = form.without_name(bytes);
                let address = word(bytes, form.name_offset());
                let name = program.sections().find_map(|section| {
                    let offset = address.checked_sub(section.address())?;
                    string_at(section.data().ok()?, usize::try_from(offset).ok()?)
                });
                entry.name = text(index, name)?;
                entries.push(entry);
            }
            index += 1;
        }
    }
    Ok(entries)
}

pub(super) fn entries_size(file: &[u8]) -> Result<u64, Error> {
    fn size<'a>(file: &impl Object<'a>) -> u64 {
        let is_of_entries = |section: &_| {
            let name = ObjectSection::name_bytes(section);
            name.is_ok_and(is_entries)
        };
        let sections = file.sections().filter(is_of_entries);
        sections.map(|it| it.size()).fold(0, u64::saturating_add)
    }
    if is_linked(file) {
        return Ok(size(&PeFile64::<&[u8]>::parse(file)?));
    }
    if is_big_coff_object(file) {
        return Ok(size(&CoffBigFile::<&[u8]>::parse(file)?));
    }
    Ok(size(&CoffFile::<&[u8]>::parse(file)?))
}

/// Linkers sort sections of one name by what follows a dollar sign, and drop that.
fn base_name(name: &[u8]) -> &[u8] {
    name.split(|byte| *byte == b'$').next().unwrap_or_default()
}

fn is_entries(name: &[u8]) -> bool {
    name == LINKED_SECTION.as_bytes() || base_name(name) == COMMON_SECTION.as_bytes()
}

/// The section of entries before LLVM 21 that the name is of.
fn old_section(name: &[u8]) -> Option<&'static str> {
    let mut sections = SECTIONS.into_iter().map(|(section, _)| section);
    sections.find(|section| *section != COMMON_SECTION && base_name(name) == section.as_bytes())
}
