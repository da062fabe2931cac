//! Sealing the result of a relocatable link, so that the images in it and the
//! entries that they are for stay with each other.
//!
//! An object that `ld -r` made of host objects and a registration object (see
//! [`crate::host_object`]) has a constructor that registers the entries between
//! `__start_llvm_offload_entries` and `__stop_llvm_offload_entries`. In a program
//! with other such objects these would be the entries of all. So the section
//! and the two symbols get a name of the object's own: the known name with a
//! hash of the object, as LLVM 22.1.8's clang-linker-wrapper does it (through
//! llvm-objcopy), and so do those of older compilers' entries. The device code that has been linked is taken out.

use std::borrow::Cow;
use std::io::{self, Read, Write};

use goblin::elf::header::ET_REL;
use goblin::elf::section_header::{
    SHF_EXCLUDE, SHN_UNDEF, SHT_NOBITS, SHT_NULL, SHT_PROGBITS, SHT_SYMTAB, SectionHeader,
};
use md5::{Digest, Md5};

use crate::elf::{Elf, ElfError};
use crate::entry::SECTIONS;
use crate::host_object::SHF_GNU_RETAIN;
use crate::offload_binary::SECTION_NAME;

/// What is left of device code: an empty section, which no linker passes on to
/// a program.
const LINKED_SECTION: &[u8] = b".llvm.offloading.linked";

/// Why an object can't be sealed.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// It is not an ELF file, or a broken one.
    #[error(transparent)]
    Elf(#[from] ElfError),
    /// It is an ELF file of another kind.
    #[error("only relocatable 64-bit little endian ELF objects can be sealed")]
    Kind,
    /// It has no section of entries, so no registration object is part of it.
    #[error("there is no section of offload entries in it, such as {}", SECTIONS[0].0)]
    NoEntries,
    /// Its tables would get too large for the format.
    #[error("its names take more than 4 GiB")]
    TooLarge,
    /// The sink failed.
    #[error(transparent)]
    Io(#[from] io::Error),
}

/// A number that tells an object from others: the low half of the MD5 hash of all
/// that `object` reads. It is not kept in memory.
///
/// # Errors
/// Those of `object`.
pub fn id(object: &mut impl Read) -> io::Result<u64> {
    let mut hash = Md5::new();
    let mut buffer = vec![0; 1 << 16];
    loop {
        match object.read(&mut buffer)? {
            0 => break,
            size => hash.update(&buffer[..size]),
        }
    }
    let digest: [u8; 16] = hash.finalize().into();
    let [a, b, c, d, e, f, g, h, ..] = digest;
    Ok(u64::from_le_bytes([a, b, c, d, e, f, g, h]))
}

/// Writes the relocatable object in `object`, sealed, to `out`; `id` is its [`id()`].
///
/// Sections keep their indices and symbols theirs, so no relocation changes;
/// what does not change is written from where it lies. The section of entries
/// becomes one that linkers keep even if nothing refers to it. The result is
/// the same for the same object.
///
/// # Errors
/// [`Error`]; part of the result may have been written by then.
pub fn seal(object: &[u8], id: u64, out: &mut impl Write) -> Result<(), Error> {
    let elf = Elf::parse(object)?;
    if elf.header.e_type != ET_REL || !elf.is_64_bit_little_endian() {
        return Err(Error::Kind);
    }
    let suffix = format!("_{id:x}");
    let mut sealed = Sealed::of(&elf)?;
    sealed.remove_device_code(&elf)?;
    let mut has_entries = false;
    for (name, _) in SECTIONS {
        if elf.named(name)?.is_empty() {
            continue;
        }
        has_entries = true;
        let new_name = format!("{name}{suffix}");
        sealed.rename_sections(&elf, name, &new_name)?;
        for index in 0..elf.sections.len() {
            if elf.sections[index].sh_type == SHT_SYMTAB {
                sealed.rename_symbols(&elf, index, name, &new_name)?;
            }
        }
    }
    if !has_entries {
        return Err(Error::NoEntries);
    }
    sealed.write(object, out)?;
    Ok(())
}

/// The object with what has changed so far.
struct Sealed<'a> {
    /// The headers; their offsets are those of the original.
    headers: Vec<SectionHeader>,
    contents: Vec<Cow<'a, [u8]>>,
}

impl<'a> Sealed<'a> {
    fn of(elf: &Elf<'a>) -> Result<Self, Error> {
        let sections = 0..elf.sections.len();
        let contents = sections.map(|section| match elf.sections[section].sh_type {
            // Section 0 has numbers where others have a place.
            SHT_NULL => Ok(Cow::Borrowed(&[][..])),
            _ => elf.contents(section).map(Cow::Borrowed),
        });
        Ok(Self {
            headers: elf.sections.clone(),
            contents: contents.collect::<Result<_, ElfError>>()?,
        })
    }

    fn remove_device_code(&mut self, elf: &Elf<'a>) -> Result<(), Error> {
        let linked = self.add_name(elf.names_index(), LINKED_SECTION)?;
        for index in elf.named(SECTION_NAME)? {
            let header = &mut self.headers[index];
            header.sh_name = linked;
            header.sh_type = SHT_PROGBITS;
            header.sh_flags = u64::from(SHF_EXCLUDE);
            self.contents[index] = Cow::Borrowed(&[]);
        }
        Ok(())
    }

    fn rename_sections(&mut self, elf: &Elf<'a>, name: &str, new: &str) -> Result<(), Error> {
        let names = elf.names_index();
        let new_name = self.add_name(names, new.as_bytes())?;
        for index in elf.named(name)? {
            self.headers[index].sh_name = new_name;
            self.headers[index].sh_flags |= SHF_GNU_RETAIN;
        }
        let new_name = self.add_name(names, format!(".rela{new}").as_bytes())?;
        for index in elf.named(&format!(".rela{name}"))? {
            self.headers[index].sh_name = new_name;
        }
        Ok(())
    }

    fn rename_symbols(
        &mut self,
        elf: &Elf<'a>,
        table: usize,
        name: &str,
        new_name: &str,
    ) -> Result<(), Error> {
        const SYMBOL_SIZE: usize = 24;
        let symbols = elf.symbols(table)?;
        let names = elf.sections[table].sh_link as usize;
        for prefix in ["__start_", "__stop_"] {
            let old = format!("{prefix}{name}");
            let is_meant = |(_, symbol): &(usize, goblin::elf::Sym)| {
                symbol.st_shndx == SHN_UNDEF as usize
                    && symbols.name(symbol) == Some(old.as_bytes())
            };
            for (index, _) in symbols.iter().enumerate().filter(is_meant) {
                let new = self.add_name(names, format!("{prefix}{new_name}").as_bytes())?;
                let new = u32::try_from(new).map_err(|_| Error::TooLarge)?;
                let symbol = index * SYMBOL_SIZE;
                // The table was read, so the symbol is in it; its name comes first.
                self.contents[table].to_mut()[symbol..symbol + 4]
                    .copy_from_slice(&new.to_le_bytes());
            }
        }
        Ok(())
    }

    /// Adds a name to a table of names and returns where it stands.
    fn add_name(&mut self, table: usize, name: &[u8]) -> Result<usize, Error> {
        let section = table;
        let names = self
            .contents
            .get_mut(table)
            .ok_or(ElfError::OutOfRange { section })?
            .to_mut();
        let place = names.len();
        names.extend_from_slice(name);
        names.push(0);
        u32::try_from(names.len()).map_err(|_| Error::TooLarge)?;
        Ok(place)
    }

    /// Writes the contents in the order of the original, then the headers.
    fn write(mut self, object: &[u8], out: &mut impl Write) -> io::Result<()> {
        const HEADER_SIZE: usize = 64;
        let mut order: Vec<usize> = (1..self.headers.len()).collect();
        order.sort_by_key(|section| (self.headers[*section].sh_offset, *section));
        let mut end = HEADER_SIZE as u64;
        for section in &order {
            let header = &mut self.headers[*section];
            // Linkers go by the header; in the file it is enough for tables of words.
            header.sh_offset = end.next_multiple_of(header.sh_addralign.clamp(1, 16));
            if header.sh_type != SHT_NOBITS {
                header.sh_size = self.contents[*section].len() as u64;
                end = header.sh_offset + header.sh_size;
            }
        }
        let table = end.next_multiple_of(8);

        let mut file_header = object[..HEADER_SIZE].to_vec();
        // SHF_GNU_RETAIN means what it says under this ABI only.
        const OS_ABI: usize = 7;
        const ELFOSABI_GNU: u8 = 3;
        file_header[OS_ABI] = ELFOSABI_GNU;
        const SECTION_HEADERS: usize = 40;
        file_header[SECTION_HEADERS..SECTION_HEADERS + 8].copy_from_slice(&table.to_le_bytes());
        out.write_all(&file_header)?;
        let mut position = HEADER_SIZE as u64;
        for section in order {
            let contents = &self.contents[section];
            if !contents.is_empty() {
                pad(out, position, self.headers[section].sh_offset)?;
                out.write_all(contents)?;
                position = self.headers[section].sh_offset + contents.len() as u64;
            }
        }
        pad(out, position, table)?;
        for header in &self.headers {
            out.write_all(&encoded(header))?;
        }
        Ok(())
    }
}

/// Fills up with less than an alignment of zeros.
fn pad(out: &mut impl Write, from: u64, to: u64) -> io::Result<()> {
    io::copy(&mut io::Read::take(io::repeat(0), to - from), out).map(drop)
}

/// `Elf64_Shdr`, little endian.
fn encoded(header: &SectionHeader) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(64);
    // A name's place was read from 32 bits or checked to fit.
    bytes.extend((header.sh_name as u32).to_le_bytes());
    bytes.extend(header.sh_type.to_le_bytes());
    for word in [
        header.sh_flags,
        header.sh_addr,
        header.sh_offset,
        header.sh_size,
    ] {
        bytes.extend(word.to_le_bytes());
    }
    bytes.extend(header.sh_link.to_le_bytes());
    bytes.extend(header.sh_info.to_le_bytes());
    bytes.extend(header.sh_addralign.to_le_bytes());
    bytes.extend(header.sh_entsize.to_le_bytes());
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::entry::{self, Generation};
    use crate::host_object::{HostTarget, openmp};
    use crate::offload_binary::{Image, ImageKind, OffloadKind};

    fn registration() -> Vec<u8> {
        let mut object = Vec::new();
        let host = HostTarget::from_triple("x86_64-unknown-linux-gnu").unwrap();
        let image = Image::new(
            ImageKind::Object,
            OffloadKind::OpenMp,
            "x86_64-unknown-linux-gnu",
            "",
            b"an image",
        );
        openmp::write_for_relocatable_link(host, Generation::Llvm21, &[image], &mut object)
            .unwrap();
        object
    }

    fn sealed(object: &[u8]) -> Result<Vec<u8>, Error> {
        let mut out = Vec::new();
        let id = id(&mut &*object).unwrap();
        seal(object, id, &mut out).map(|()| out)
    }

    fn names(object: &[u8]) -> Vec<String> {
        let elf = Elf::parse(object).unwrap();
        let name = |section| elf.section_name(section).unwrap();
        let names = (1..elf.sections.len()).map(name);
        names
            .map(|name| String::from_utf8_lossy(name).into_owned())
            .collect()
    }

    #[test]
    fn section_and_symbols_get_the_same_name() {
        let object = registration();
        let out = sealed(&object).unwrap();
        let section = names(&out)
            .into_iter()
            .find(|name| name.starts_with("llvm_offload_entries_"))
            .unwrap();
        for prefix in ["__start_", "__stop_"] {
            let symbol = [prefix, &section, "\0"].concat();
            assert!(contains(&out, symbol.as_bytes()), "{symbol}");
        }
        assert_eq!(names(&object).len(), names(&out).len());
        assert_eq!(entry::entries_size(&out).unwrap(), 0);
        assert!(contains(&out, b"an image"));
        // Nothing is left to seal.
        assert!(matches!(sealed(&out), Err(Error::NoEntries)));
    }

    fn contains(bytes: &[u8], wanted: &[u8]) -> bool {
        bytes.windows(wanted.len()).any(|window| window == wanted)
    }

    #[test]
    fn other_files_are_refused() {
        assert!(matches!(sealed(b"no ELF file"), Err(Error::Elf(_))));
        let program = std::fs::read(std::env::current_exe().unwrap()).unwrap();
        assert!(matches!(sealed(&program), Err(Error::Kind)));
    }

    #[test]
    fn damaged_objects_never_panic() {
        let object = registration();
        for length in 0..object.len() {
            let _ = sealed(&object[..length]);
        }
        for bit in 0..object.len() * 8 {
            let mut damaged = object.clone();
            damaged[bit / 8] ^= 1 << (bit % 8);
            let _ = sealed(&damaged);
        }
    }
}
