//! Entries of macOS's files: Mach-O objects, programs and libraries.

use std::collections::HashMap;

use object::macho::LC_DYLD_CHAINED_FIXUPS;
use object::read::macho::{MachOFile64, MachOSection64};
use object::{
    LittleEndian, Object, ObjectSection, ObjectSegment, ObjectSymbol, RelocationTarget,
    SymbolSection,
};

use super::generation::word;
use super::{Error, Form, OffloadEntry, text};
use crate::elf::string_at;
use crate::host_object::{Format, Platform};
use crate::mach_o::is_entries;

type File<'a> = MachOFile64<'a, LittleEndian>;

/// Whether the file is a Mach-O file of a host that is known.
pub(super) fn is_mach_o(file: &[u8]) -> bool {
    Platform::of_file(file).is_some_and(|platform| platform.format() == Format::MachO)
}

pub(super) fn read(file: &[u8]) -> Result<Vec<OffloadEntry>, Error> {
    let file = File::parse(file)?;
    let loader = Loader::of(&file)?;
    let mut entries = Vec::new();
    let mut index = 0;
    for section in entry_sections(&file) {
        // Linked files have none: the loader's are elsewhere.
        let targets: HashMap<u64, RelocationTarget> = section
            .relocations()
            .map(|(offset, relocation)| (offset, relocation.target()))
            .collect();
        let form = Form::COMMON;
        for (position, bytes) in form.split(section.data()?)?.enumerate() {
            let offset = position * bytes.len() + form.name_offset();
            let target = targets.get(&(offset as u64));
            if target.is_some() || bytes.iter().any(|byte| *byte != 0) {
                let mut entry = form.without_name(bytes);
                let word = word(bytes, form.name_offset());
                let address = match target {
                    Some(target) => relocated(&file, *target, word),
                    None => loader.pointer(word),
                };
                let name = address.and_then(|address| string_in(&file, address));
                entry.name = text(index, name)?;
                entries.push(entry);
            }
            index += 1;
        }
    }
    Ok(entries)
}

pub(super) fn entries_size(file: &[u8]) -> Result<u64, Error> {
    let file = File::parse(file)?;
    let sizes = entry_sections(&file).map(|section| section.size());
    Ok(sizes.fold(0, u64::saturating_add))
}

fn entry_sections<'a, 'file>(
    file: &'file File<'a>,
) -> impl Iterator<Item = MachOSection64<'a, 'file, LittleEndian>> {
    file.sections().filter(|section| {
        let segment = section.segment_name_bytes().ok().flatten();
        let name = section.name_bytes().unwrap_or_default();
        is_entries(segment.unwrap_or_default(), name)
    })
}

/// The address, in the object, that a relocated pointer leads to. What stands in
/// its place is the addend or, where the target is a section, the address.
fn relocated(file: &File<'_>, target: RelocationTarget, word: u64) -> Option<u64> {
    match target {
        RelocationTarget::Symbol(symbol) => {
            let symbol = file.symbol_by_index(symbol).ok()?;
            let is_here = matches!(symbol.section(), SymbolSection::Section(_));
            is_here.then(|| symbol.address().wrapping_add(word))
        }
        RelocationTarget::Section(_) => Some(word),
        _ => None,
    }
}

/// How a linked file's pointers are stored.
struct Loader {
    /// Pointers are links of chains (`LC_DYLD_CHAINED_FIXUPS`) and not addresses.
    are_chained: bool,
    /// The address of the file's first byte.
    base: u64,
}

impl Loader {
    fn of(file: &File<'_>) -> Result<Self, Error> {
        let mut are_chained = false;
        let mut commands = file.macho_load_commands()?;
        while let Some(command) = commands.next()? {
            are_chained |= command.cmd() == LC_DYLD_CHAINED_FIXUPS;
        }
        let mut segments = file.segments();
        let text = segments.find(|segment| segment.name_bytes() == Ok(Some(b"__TEXT")));
        let base = text.map_or(0, |segment| segment.address());
        Ok(Self { are_chained, base })
    }

    /// The address that a stored pointer leads to; `None` if another file defines
    /// it. A link holds it in its 36 low bits: as such, or in relation to the file's
    /// start (`DYLD_CHAINED_PTR_64` and `DYLD_CHAINED_PTR_64_OFFSET` in Apple's
    /// `mach-o/fixup-chains.h`). The first 4 GiB of a program are not mapped, and a
    /// library starts at 0, so that it shows which.
    fn pointer(&self, word: u64) -> Option<u64> {
        const IS_IMPORT: u64 = 1 << 63;
        const TARGET: u64 = (1 << 36) - 1;
        if !self.are_chained {
            return Some(word);
        }
        let target = word & TARGET;
        let offset = if target < self.base { self.base } else { 0 };
        (word & IS_IMPORT == 0).then_some(target + offset)
    }
}

fn string_in<'a>(file: &File<'a>, address: u64) -> Option<&'a [u8]> {
    file.sections().find_map(|section| {
        let offset = address.checked_sub(section.address())?;
        string_at(section.data().ok()?, usize::try_from(offset).ok()?)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_of_chains() {
        let program = Loader {
            are_chained: true,
            base: 1 << 32,
        };
        let next = 3 << 51;
        for target in [0x1_0000_05fc, 0x5fc] {
            assert_eq!(program.pointer(next | target), Some(0x1_0000_05fc));
        }
        assert_eq!(program.pointer(next | 1 << 63), None);
        let library = Loader {
            are_chained: true,
            base: 0,
        };
        assert_eq!(library.pointer(next | 0x5fc), Some(0x5fc));
    }
}
