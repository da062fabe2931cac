//! Takes the compiled registration code over into an object being written.

use std::borrow::Cow;
use std::collections::HashMap;

use goblin::elf::section_header::{SHF_ALLOC, SHT_NOBITS, SHT_RELA, SHT_SYMTAB, SHT_X86_64_UNWIND};
use goblin::elf::sym::STT_FILE;

use super::Error;
use super::relocatable::{Relocatable, Relocation, Section, SectionId, Symbol, SymbolId};
use crate::elf::{Elf, Symbols};

/// Adds the sections, symbols and relocations of `template` to `object`.
///
/// The template's undefined symbol `descriptor` becomes the symbol
/// `definition` of `object`. What a compiler adds that is not part of the
/// program (comments, its own unwind tables, the source's file name) is left
/// out, so that the result is the same whichever directory it was built in.
pub(super) fn add<'a>(
    object: &mut Relocatable<'a>,
    template: &'a [u8],
    descriptor: &str,
    definition: SymbolId,
) -> Result<(), Error> {
    let elf = Elf::parse(template)?;
    let mut sections: HashMap<usize, SectionId> = HashMap::new();
    for (index, header) in elf.sections.iter().enumerate() {
        let name = elf.section_name(index)?;
        let is_unwind = name == b".eh_frame" || header.sh_type == SHT_X86_64_UNWIND;
        let is_loaded = header.sh_flags & u64::from(SHF_ALLOC) != 0 && header.sh_size != 0;
        if !is_loaded || is_unwind {
            continue;
        }
        if header.sh_type == SHT_NOBITS {
            return Err(Error::Template("it has variables of its own".to_owned()));
        }
        let id = object.add_section(Section {
            name: Cow::Borrowed(name),
            kind: header.sh_type,
            flags: header.sh_flags,
            alignment: header.sh_addralign,
            entry_size: header.sh_entsize,
            pieces: vec![Cow::Borrowed(elf.contents(index)?)],
            relocations: Vec::new(),
        });
        sections.insert(index, id);
    }

    let symtab = elf
        .sections
        .iter()
        .position(|section| section.sh_type == SHT_SYMTAB);
    let symtab = symtab.ok_or_else(|| Error::Template("it has no symbols".to_owned()))?;
    let table = elf.symbols(symtab)?;
    let symbols = add_symbols(object, &table, &sections, descriptor, definition);

    for (index, header) in elf.sections.iter().enumerate() {
        let target = sections.get(&(header.sh_info as usize));
        let Some(target) = target.filter(|_| header.sh_type == SHT_RELA) else {
            continue;
        };
        for relocation in elf.relocations(index, true)?.iter() {
            let symbol = symbols.get(&relocation.r_sym).ok_or_else(|| {
                Error::Template(format!("a relocation needs symbol {}", relocation.r_sym))
            })?;
            object.relocate(
                *target,
                Relocation {
                    offset: relocation.r_offset,
                    kind: relocation.r_type,
                    symbol: *symbol,
                    addend: relocation.r_addend.unwrap_or_default(),
                },
            );
        }
    }
    Ok(())
}

/// Adds the symbols that are undefined or in one of `sections`; returns what
/// became of each, by its index in the template.
fn add_symbols<'a>(
    object: &mut Relocatable<'a>,
    table: &Symbols<'a>,
    sections: &HashMap<usize, SectionId>,
    descriptor: &str,
    definition: SymbolId,
) -> HashMap<usize, SymbolId> {
    let mut symbols = HashMap::new();
    for (index, symbol) in table.iter().enumerate().skip(1) {
        let name = table.name(&symbol).unwrap_or_default();
        let section = sections.get(&symbol.st_shndx).copied();
        let is_undefined = symbol.st_shndx == 0;
        if symbol.st_type() == STT_FILE || (section.is_none() && !is_undefined) {
            continue;
        }
        let id = if is_undefined && name == descriptor.as_bytes() {
            definition
        } else {
            object.add_symbol(Symbol {
                name: Cow::Borrowed(name),
                info: symbol.st_info,
                other: symbol.st_other,
                section,
                value: symbol.st_value,
                size: symbol.st_size,
            })
        };
        symbols.insert(index, id);
    }
    symbols
}
