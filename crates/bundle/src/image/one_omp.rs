//! The ELF file in which Intel's OpenMP runtime wants SPIR-V, "oneOMP" by its
//! notes.
//!
//! The layout is that of clang-linker-wrapper 22.1.8, byte for byte.

use goblin::elf::header::{ET_DYN, EV_CURRENT};
use goblin::elf::section_header::{SHT_NOTE, SHT_PROGBITS, SHT_STRTAB};

use super::Error;
use super::format::EM_INTELGT;
use crate::elf::Elf;

const MODULE_SECTION: &str = "__openmp_offload_spirv_0";

const HEADER_SIZE: u16 = 64;
const SECTION_HEADER_SIZE: u16 = 64;

/// The owner of the notes.
const OWNER: &[u8] = b"INTELONEOMPOFFLOAD\0";

/// Types and contents of the notes: the version of the layout; of image 0 its
/// format (1 is SPIR-V) and its options for compiler and linker (none), each
/// ended by a NUL but for the last; the number of images.
const NOTES: [(u32, &[u8]); 3] = [(1, b"1.0"), (3, b"0\x001\0\0"), (2, b"1")];

const SECTION_NAMES: &[u8] =
    b"\0.note.inteloneompoffload\0.shstrtab\0.strtab\0__openmp_offload_spirv_0\0";

/// The ELF file for Intel's OpenMP runtime that holds `module`, which is not
/// looked at.
///
/// # Errors
/// [`Error::TooLarge`] when the sizes overflow.
pub fn one_omp(module: &[u8]) -> Result<Vec<u8>, Error> {
    let notes = notes();
    let module_start = usize::from(HEADER_SIZE) + notes.len();
    let strings = module_start
        .checked_add(module.len())
        .ok_or(Error::TooLarge)?;
    // One byte of strings: the empty one.
    let names = strings.checked_add(1).ok_or(Error::TooLarge)?;
    let sections = names
        .checked_add(SECTION_NAMES.len())
        .and_then(|end| end.checked_next_multiple_of(8))
        .ok_or(Error::TooLarge)?;

    let mut file = header(sections as u64);
    file.extend(&notes);
    file.extend(module);
    file.push(0);
    file.extend(SECTION_NAMES);
    file.resize(sections, 0);
    file.extend([0; SECTION_HEADER_SIZE as usize]);
    for (name, kind, start, size, alignment) in [
        (1, SHT_NOTE, usize::from(HEADER_SIZE), notes.len(), 0),
        (44, SHT_PROGBITS, module_start, module.len(), 0),
        (36, SHT_STRTAB, strings, 1, 1),
        (26, SHT_STRTAB, names, SECTION_NAMES.len(), 1),
    ] {
        file.extend(section_header(
            name,
            kind,
            start as u64,
            size as u64,
            alignment,
        ));
    }
    Ok(file)
}

fn notes() -> Vec<u8> {
    let mut notes = Vec::new();
    for (kind, contents) in NOTES {
        // All lengths are a few bytes.
        notes.extend((OWNER.len() as u32).to_le_bytes());
        notes.extend((contents.len() as u32).to_le_bytes());
        notes.extend(kind.to_le_bytes());
        for part in [OWNER, contents] {
            notes.extend(part);
            notes.resize(notes.len().next_multiple_of(4), 0);
        }
    }
    notes
}

/// The file header, up to the position of the section headers and behind it.
fn header(sections: u64) -> Vec<u8> {
    // 64 bits, little endian.
    let mut header = b"\x7fELF\x02\x01\x01".to_vec();
    header.resize(16, 0);
    header.extend(ET_DYN.to_le_bytes());
    header.extend(EM_INTELGT.to_le_bytes());
    header.extend(u32::from(EV_CURRENT).to_le_bytes());
    // No entry point and no program headers.
    header.extend([0; 16]);
    header.extend(sections.to_le_bytes());
    header.extend([0; 4]);
    for number in [HEADER_SIZE, 0, 0, SECTION_HEADER_SIZE, 5, 4] {
        header.extend(number.to_le_bytes());
    }
    header
}

fn section_header(name: u32, kind: u32, start: u64, size: u64, alignment: u64) -> Vec<u8> {
    let mut header = Vec::new();
    header.extend(name.to_le_bytes());
    header.extend(kind.to_le_bytes());
    // No flags, no address.
    header.extend([0; 16]);
    header.extend(start.to_le_bytes());
    header.extend(size.to_le_bytes());
    // No link to another section.
    header.extend([0; 8]);
    header.extend(alignment.to_le_bytes());
    header.extend([0; 8]);
    header
}

/// The SPIR-V module in a file that [`one_omp`] or clang-linker-wrapper 22 made.
///
/// # Errors
/// [`Error::Elf`] for broken files, [`Error::NoModule`] for others.
pub fn module_in_one_omp(file: &[u8]) -> Result<&[u8], Error> {
    let elf = Elf::parse(file)?;
    match elf.named(MODULE_SECTION)?.as_slice() {
        [section] => Ok(elf.contents(*section)?),
        _ => Err(Error::NoModule),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// By clang-linker-wrapper.
    const FILE: &[u8] = include_bytes!("../../tests/data/device.oneomp");

    #[test]
    fn the_bytes_are_those_of_clang_linker_wrapper() {
        let module = module_in_one_omp(FILE).unwrap();
        assert!(module.starts_with(&super::super::spirv::MAGIC));
        assert_eq!(one_omp(module).unwrap(), FILE);
    }

    #[test]
    fn section_names_are_where_the_headers_say() {
        for (start, name) in [
            (1, ".note.inteloneompoffload"),
            (44, MODULE_SECTION),
            (36, ".strtab"),
            (26, ".shstrtab"),
        ] {
            assert!(SECTION_NAMES[start..].starts_with(name.as_bytes()));
            assert_eq!(SECTION_NAMES[start + name.len()], 0);
        }
    }

    #[test]
    fn damaged_files_are_errors() {
        for end in 0..FILE.len() {
            let _ = module_in_one_omp(&FILE[..end]);
        }
        let mut changed = FILE.to_vec();
        for position in 0..FILE.len() {
            changed[position] ^= 0x81;
            let _ = module_in_one_omp(&changed);
            changed[position] ^= 0x81;
        }
        let other = include_bytes!("../../tests/data/device.so");
        assert!(matches!(module_in_one_omp(other), Err(Error::NoModule)));
    }
}
