//! Adding sections to a relocatable object without touching anything else of
//! it: contents, names and a new table of sections go to its end.

use goblin::elf::Elf;
use goblin::elf::header::ET_REL;
use goblin::elf::section_header::{SHF_EXCLUDE, SHT_PROGBITS};

/// The start of every ELF file of class 64, little-endian.
const CLASS_64_LITTLE: &[u8] = b"\x7fELF\x02\x01";
/// Where the header of such a file has these fields (System V ABI, `Elf64_Ehdr`).
const E_SHOFF: usize = 40;
const E_SHNUM: usize = 60;
/// The size of a section's header, and where it has these (`Elf64_Shdr`).
const SECTION_HEADER_SIZE: usize = 64;
const SH_OFFSET: usize = 24;
const SH_SIZE: usize = 32;
/// Section numbers from here on mean something else (`SHN_LORESERVE`).
const FIRST_RESERVED_INDEX: u16 = 0xff00;

/// `object` with sections of these names and contents behind its own, which
/// linkers leave out of what they make. `None` if it is no such object, is
/// damaged, or would have more than 65279 sections.
pub fn append(object: &[u8], sections: &[(String, &[u8])]) -> Option<Vec<u8>> {
    if !object.starts_with(CLASS_64_LITTLE) {
        return None;
    }
    let header = Elf::parse_header(object)
        .ok()
        .filter(|header| header.e_type == ET_REL)?;
    let count = usize::from(header.e_shnum);
    let table = slice(object, header.e_shoff, count * SECTION_HEADER_SIZE)?;
    let mut table = table.to_vec();
    let names_at = usize::from(header.e_shstrndx) * SECTION_HEADER_SIZE;
    let names_start = u64_at(&table, names_at + SH_OFFSET)?;
    let names_size = usize::try_from(u64_at(&table, names_at + SH_SIZE)?).ok()?;
    let mut names = slice(object, names_start, names_size)?.to_vec();

    let mut file = object.to_vec();
    for (name, contents) in sections {
        table.extend(u32::try_from(names.len()).ok()?.to_le_bytes());
        table.extend(SHT_PROGBITS.to_le_bytes());
        let (offset, size) = (file.len() as u64, contents.len() as u64);
        // Flags, address, offset, size, link and info, alignment, entry size.
        for field in [u64::from(SHF_EXCLUDE), 0, offset, size, 0, 1, 0] {
            table.extend(field.to_le_bytes());
        }
        file.extend(*contents);
        names.extend(name.as_bytes());
        names.push(0);
    }
    put(&mut table, names_at + SH_OFFSET, file.len() as u64)?;
    put(&mut table, names_at + SH_SIZE, names.len() as u64)?;
    file.extend(names);
    file.resize(file.len().next_multiple_of(8), 0);
    let table_start = file.len() as u64;
    put(&mut file, E_SHOFF, table_start)?;
    let count = u16::try_from(count + sections.len())
        .ok()
        .filter(|count| *count < FIRST_RESERVED_INDEX)?;
    file.get_mut(E_SHNUM..E_SHNUM + 2)?
        .copy_from_slice(&count.to_le_bytes());
    file.extend(table);
    Some(file)
}

fn slice(data: &[u8], start: u64, size: usize) -> Option<&[u8]> {
    let start = usize::try_from(start).ok()?;
    data.get(start..start.checked_add(size)?)
}

fn u64_at(data: &[u8], at: usize) -> Option<u64> {
    let bytes = data.get(at..at.checked_add(8)?)?;
    bytes.try_into().ok().map(u64::from_le_bytes)
}

fn put(data: &mut [u8], at: usize, number: u64) -> Option<()> {
    data.get_mut(at..at.checked_add(8)?)?
        .copy_from_slice(&number.to_le_bytes());
    Some(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An object with nothing but the section of the sections' names.
    fn object() -> Vec<u8> {
        let mut file = CLASS_64_LITTLE.to_vec();
        file.resize(64, 0);
        file[16..20].copy_from_slice(&[1, 0, 62, 0]);
        file[E_SHOFF] = 80;
        file[58..64].copy_from_slice(&[64, 0, 2, 0, 1, 0]);
        file.extend(b"\0.shstrtab\0");
        file.resize(80 + 2 * SECTION_HEADER_SIZE, 0);
        let names = 80 + SECTION_HEADER_SIZE;
        file[names..names + 8].copy_from_slice(&[1, 0, 0, 0, 3, 0, 0, 0]);
        file[names + SH_OFFSET] = 64;
        file[names + SH_SIZE] = 11;
        file
    }

    #[test]
    fn readers_find_the_sections() {
        let sections = [("one".to_owned(), &b"1"[..]), ("two".to_owned(), b"22")];
        let file = append(&object(), &sections).unwrap();
        let elf = Elf::parse(&file).unwrap();
        let found: Vec<_> = elf
            .section_headers
            .iter()
            .map(|section| {
                let (start, size) = (section.sh_offset as usize, section.sh_size as usize);
                let name = elf.shdr_strtab.get_at(section.sh_name).unwrap();
                (name, &file[start..start + size])
            })
            .collect();
        assert_eq!(found[1].0, ".shstrtab");
        assert_eq!(found[2..], [("one", &b"1"[..]), ("two", b"22")]);
    }

    #[test]
    fn what_is_no_whole_object_gets_no_sections() {
        let object = object();
        for end in 0..object.len() {
            assert_eq!(append(&object[..end], &[("s".into(), b"x")]), None, "{end}");
        }
        for bit in 0..8 * object.len() {
            let mut damaged = object.clone();
            damaged[bit / 8] ^= 1 << (bit % 8);
            // Whatever comes of it, it may not panic.
            let _ = append(&damaged, &[("s".into(), b"x")]);
        }
    }
}
