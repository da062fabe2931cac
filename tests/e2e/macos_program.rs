//! A program for macOS, read from its file.

use std::path::Path;

use object::macho::LC_DYLD_CHAINED_FIXUPS;
use object::read::macho::{MachOFile64, MachOSection64};
use object::{LittleEndian, Object, ObjectSection};

/// A loaded program, as far as it is in the file.
pub struct Program(Vec<u8>);

impl Program {
    pub fn read(path: &Path) -> Self {
        Program(std::fs::read(path).expect("a program"))
    }

    fn file(&self) -> MachOFile64<'_, LittleEndian> {
        MachOFile64::parse(&*self.0).expect("a Mach-O file")
    }

    /// The section, and where it is loaded.
    pub fn section(&self, segment: &str, name: &str) -> Option<(u64, Vec<u8>)> {
        let file = self.file();
        let found = file.sections().find(|section| {
            section.segment_name() == Ok(Some(segment)) && section.name() == Ok(name)
        })?;
        Some((found.address(), found.data().expect("contents").to_vec()))
    }

    pub fn bytes(&self, address: u64, size: u64) -> Vec<u8> {
        let file = self.file();
        let data = |section: MachOSection64<'_, '_, LittleEndian>| {
            Some(section.data_range(address, size).ok()??.to_vec())
        };
        file.sections()
            .find_map(data)
            .unwrap_or_else(|| panic!("{address:#x} is no address in the program"))
    }

    pub fn word(&self, address: u64) -> u64 {
        let bytes = self.bytes(address, 8);
        u64::from_le_bytes(bytes.try_into().expect("eight bytes"))
    }

    /// Where the loader makes the pointer at an address lead to. ld64.lld's links of
    /// chains have it in their 36 low bits.
    pub fn pointer(&self, address: u64) -> u64 {
        let word = self.word(address);
        let file = self.file();
        let mut commands = file.macho_load_commands().expect("load commands");
        let mut are_chained = false;
        while let Some(command) = commands.next().expect("a load command") {
            are_chained |= command.cmd() == LC_DYLD_CHAINED_FIXUPS;
        }
        if are_chained {
            assert_eq!(word >> 63, 0, "a pointer into another file");
            word & ((1 << 36) - 1)
        } else {
            word
        }
    }

    /// The code of each constructor.
    pub fn constructors(&self) -> Vec<u64> {
        if let Some((_, offsets)) = self.section("__TEXT", "__init_offsets") {
            let (offsets, _) = offsets.as_chunks();
            let offsets = offsets.iter().map(|it| u64::from(u32::from_le_bytes(*it)));
            return offsets.map(|offset| (1 << 32) + offset).collect();
        }
        let table = ["__DATA", "__DATA_CONST"]
            .iter()
            .find_map(|segment| self.section(segment, "__mod_init_func"));
        let (address, table) = table.expect("constructors");
        let places = (0..table.len() as u64).step_by(8);
        places.map(|place| self.pointer(address + place)).collect()
    }

    pub fn has_one_constructor(&self) {
        let (code, text) = self.section("__TEXT", "__text").expect("code");
        let constructors = self.constructors();
        assert_eq!(constructors.len(), 1);
        assert!((code..code + text.len() as u64).contains(&constructors[0]));
    }

    /// Its entries: where they start, and their bytes.
    pub fn entries(&self) -> (u64, Vec<u8>) {
        self.section("__DATA", "offload_entries").expect("entries")
    }
}
