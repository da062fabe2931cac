//! The section of the program's offload entries, whose ends the registration
//! code needs.

use std::borrow::Cow;

use goblin::elf::section_header::{SHF_ALLOC, SHF_WRITE, SHT_PROGBITS};
use goblin::elf::sym::{STB_GLOBAL, STT_NOTYPE, STV_HIDDEN};

use super::relocatable::{Relocatable, Section, Symbol, SymbolId};

/// Tells linkers not to drop a section that nothing refers to.
pub(crate) const SHF_GNU_RETAIN: u64 = 1 << 21;

/// The symbols by which linkers mark the ends of the entries section.
pub(super) struct Entries {
    pub(super) start: SymbolId,
    pub(super) stop: SymbolId,
}

/// Adds an empty entries section, without which linkers leave the symbols of
/// its ends undefined in a program that has no entries.
pub(super) fn add_section(object: &mut Relocatable<'_>, name: &'static str) {
    let section = object.add_section(Section {
        name: Cow::Borrowed(name.as_bytes()),
        kind: SHT_PROGBITS,
        flags: u64::from(SHF_ALLOC | SHF_WRITE) | SHF_GNU_RETAIN,
        alignment: 8,
        entry_size: 0,
        pieces: Vec::new(),
        relocations: Vec::new(),
    });
    // GNU ld drops an empty section that no symbol is in.
    object.add_symbol(Symbol::local(format!("__dummy.{name}"), section, 0, 0));
}

/// Adds the symbols of that section's ends. Code that names them itself brings
/// them along.
pub(super) fn add_ends(object: &mut Relocatable<'_>, name: &'static str) -> Entries {
    let mut end = |prefix: &str| {
        object.add_symbol(Symbol {
            name: Cow::Owned(format!("{prefix}{name}").into_bytes()),
            info: (STB_GLOBAL << 4) | STT_NOTYPE,
            other: STV_HIDDEN,
            section: None,
            value: 0,
            size: 0,
        })
    };
    Entries {
        start: end("__start_"),
        stop: end("__stop_"),
    }
}
