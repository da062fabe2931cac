//! Entries of linked programs and libraries, whose pointers are addresses.

use std::collections::HashMap;
use std::ops::Range;

use goblin::elf::header::{EM_AARCH64, EM_PPC64, EM_RISCV, EM_X86_64, ET_DYN, ET_EXEC};
use goblin::elf::reloc::{
    R_AARCH64_ABS64, R_AARCH64_RELATIVE, R_PPC64_ADDR64, R_PPC64_RELATIVE, R_RISCV_64,
    R_RISCV_RELATIVE, R_X86_64_64, R_X86_64_RELATIVE, Reloc,
};
use goblin::elf::section_header::{SHF_ALLOC, SHN_UNDEF, SHT_RELA};

use super::generation::word;
use super::{Error, Form, OffloadEntry, SECTIONS, coff, open, text};
use crate::elf::{Elf, Segment, string_at};

/// Reads the offload entries of a linked ELF or PE program or shared library,
/// in file order.
///
/// A pointer is what the dynamic linker will make of it: the addend of a
/// relocation in a `SHT_RELA` section, or what stands in the file where there
/// is none, as in a program that is not relocated or one whose relocations are
/// packed (`DT_RELR`). Entries that are all zero are padding and left out.
///
/// # Errors
/// [`Error`]; an entry whose name can't be read is named by its position.
pub fn read_linked(file: &[u8]) -> Result<Vec<OffloadEntry>, Error> {
    if coff::is_linked(file) {
        return coff::read_linked(file);
    }
    let elf = open(file)?;
    if ![ET_EXEC, ET_DYN].contains(&elf.header.e_type) {
        let expected = "a linked program or shared library";
        return Err(Error::FileType {
            found: elf.header.e_type,
            expected,
        });
    }
    if elf.sections.is_empty() {
        return Err(Error::NoSectionHeaders);
    }
    let mut entries = Vec::new();
    let mut memory = Vec::new();
    let mut index = 0;
    for of_entries in SECTIONS {
        for section in elf.named(of_entries.0)? {
            if memory.is_empty() {
                memory = elf.loaded()?;
            }
            let start = elf.sections[section].sh_addr;
            let contents = elf.contents(section)?;
            let addresses = relocated(&elf, start..start.saturating_add(contents.len() as u64))?;
            let relocated = |offset: u64| addresses.get(&start.wrapping_add(offset)).copied();
            let form = Form::of(of_entries, contents, |at| relocated(at).is_some());
            for (position, bytes) in form.split(contents)?.enumerate() {
                let name = relocated((position * bytes.len() + form.name_offset()) as u64);
                if name.is_some() || bytes.iter().any(|byte| *byte != 0) {
                    let mut entry = form.without_name(bytes);
                    let address = name.unwrap_or(word(bytes, form.name_offset()));
                    entry.name = text(index, string_in(&memory, address))?;
                    entries.push(entry);
                }
                index += 1;
            }
        }
    }
    Ok(entries)
}

/// What the dynamic linker stores at the addresses in `range`, each relative
/// to where the file is loaded.
fn relocated(elf: &Elf<'_>, range: Range<u64>) -> Result<HashMap<u64, u64>, Error> {
    let (relative, absolute) = match elf.header.e_machine {
        EM_AARCH64 => (R_AARCH64_RELATIVE, R_AARCH64_ABS64),
        EM_PPC64 => (R_PPC64_RELATIVE, R_PPC64_ADDR64),
        EM_RISCV => (R_RISCV_RELATIVE, R_RISCV_64),
        EM_X86_64 => (R_X86_64_RELATIVE, R_X86_64_64),
        _ => return Ok(HashMap::new()),
    };
    let mut addresses = HashMap::new();
    for (index, header) in elf.sections.iter().enumerate() {
        if header.sh_type != SHT_RELA || header.sh_flags & u64::from(SHF_ALLOC) == 0 {
            continue;
        }
        let symbols = header.sh_link as usize;
        let in_range = |relocation: &Reloc| range.contains(&relocation.r_offset);
        for relocation in elf.relocations(index, true)?.iter().filter(in_range) {
            let addend = relocation.r_addend.unwrap_or_default();
            if relocation.r_type == relative {
                addresses.insert(relocation.r_offset, addend as u64);
            } else if relocation.r_type == absolute {
                let symbol = elf.symbols(symbols)?.get(relocation.r_sym);
                let symbol = symbol.filter(|symbol| symbol.st_shndx != SHN_UNDEF as usize);
                if let Some(symbol) = symbol {
                    let address = symbol.st_value.wrapping_add_signed(addend);
                    addresses.insert(relocation.r_offset, address);
                }
            }
        }
    }
    Ok(addresses)
}

/// The string at an address of the loaded file.
fn string_in<'a>(memory: &[Segment<'a>], address: u64) -> Option<&'a [u8]> {
    memory.iter().find_map(|segment| {
        let offset = usize::try_from(address.checked_sub(segment.address)?).ok()?;
        string_at(segment.bytes, offset)
    })
}
