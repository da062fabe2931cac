//! Offload entries: by these host code names the kernels and variables that
//! it expects to find in a device image.
//!
//! The layout is that of LLVM 21 and newer (and of main of autumn 2026), seen
//! in objects of clang 22.1.8: 56 bytes in section `llvm_offload_entries`.

mod coff;
mod linked;
mod object;

pub use linked::read_linked;
pub use object::read_object;

use goblin::elf::header::ET_REL;

use crate::elf::{Elf, ElfError};
use crate::host_object::ENTRIES_SECTION;

/// The size of an entry in bytes.
pub const ENTRY_SIZE: usize = 56;

/// The sections in which compilers before LLVM 21 put entries of another,
/// smaller layout (seen in objects of clang 19.1.7).
pub const LEGACY_SECTIONS: [&str; 3] = [
    "omp_offloading_entries",
    "cuda_offloading_entries",
    "hip_offloading_entries",
];

/// Where the pointer to the name stands in an entry.
const NAME_OFFSET: usize = 24;

/// One offload entry, as far as it concerns the link. The host address and the
/// auxiliary pointer are left out: they mean nothing before the program runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OffloadEntry {
    /// The version of the layout, 1 so far.
    pub version: u16,
    /// The runtimes that register the entry, as bits: 1 OpenMP, 2 CUDA, 4 HIP, 8 SYCL.
    pub kind: u16,
    /// What sort of symbol it is, by rules of its kind.
    pub flags: u32,
    /// The size of the variable in bytes, zero for a kernel.
    pub size: u64,
    /// More about the variable, by rules of its kind.
    pub data: u64,
    /// The name of the symbol in the device image.
    pub name: String,
}

impl OffloadEntry {
    /// Reads all but the name.
    fn without_name(bytes: &[u8; ENTRY_SIZE]) -> Self {
        let [_, packed, _, _, size, data, _] = words(bytes);
        OffloadEntry {
            version: packed as u16,
            kind: (packed >> 16) as u16,
            flags: (packed >> 32) as u32,
            size,
            data,
            name: String::new(),
        }
    }
}

/// An entry is seven words, three of which are pointers.
fn words(bytes: &[u8; ENTRY_SIZE]) -> [u64; ENTRY_SIZE / 8] {
    let mut words = [0; ENTRY_SIZE / 8];
    let (chunks, _) = bytes.as_chunks();
    for (word, chunk) in words.iter_mut().zip(chunks) {
        *word = u64::from_le_bytes(*chunk);
    }
    words
}

/// Why the offload entries of a file could not be read.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The file is not an ELF file, or a broken one.
    #[error(transparent)]
    Elf(#[from] ElfError),
    /// The file is a broken COFF object or PE file.
    #[error(transparent)]
    Coff(#[from] ::object::read::Error),
    /// The file is of another class or byte order, whose entries differ.
    #[error("offload entries are read from 64-bit little endian ELF files only")]
    NotElf64Le,
    /// The file has the wrong type for the function that was called.
    #[error("ELF type {found} where {expected} is needed")]
    FileType {
        /// `e_type` of the file.
        found: u16,
        /// What is needed.
        expected: &'static str,
    },
    /// The file has been stripped of its section headers, without which
    /// nothing says where the entries are.
    #[error("the file has no section headers, so its offload entries can't be found")]
    NoSectionHeaders,
    /// The section does not hold a whole number of entries.
    #[error("section llvm_offload_entries holds {size} bytes, not a multiple of {ENTRY_SIZE}")]
    SectionSize {
        /// The size of the section in bytes.
        size: usize,
    },
    /// The name of an entry can't be read.
    #[error("the name of offload entry {index} can't be read: {reason}")]
    Name {
        /// The position of the entry in the file, from zero.
        index: usize,
        /// What is wrong.
        reason: &'static str,
    },
}

/// Reads the offload entries of an ELF, COFF or PE file of any type, in file
/// order.
///
/// # Errors
/// As [`read_object`] and [`read_linked`].
pub fn read(file: &[u8]) -> Result<Vec<OffloadEntry>, Error> {
    if coff::is_coff(file) && !coff::is_linked(file) {
        return coff::read_object(file);
    }
    if coff::is_linked(file) {
        return coff::read_linked(file);
    }
    if Elf::parse(file)?.header.e_type == ET_REL {
        read_object(file)
    } else {
        read_linked(file)
    }
}

/// The sum of the sizes, in bytes, of the sections of offload entries in an ELF,
/// COFF or PE file of any type; zero when it has none.
///
/// What the linker made of these sections is as large as the sum over its
/// inputs, unless it lost some.
///
/// # Errors
/// [`Error`] when there are no section headers or they can't be read.
pub fn entries_size(file: &[u8]) -> Result<u64, Error> {
    if coff::is_coff(file) {
        return coff::entries_size(file);
    }
    let elf = Elf::parse(file)?;
    if elf.sections.is_empty() {
        return Err(Error::NoSectionHeaders);
    }
    let sections = elf.named(ENTRIES_SECTION)?;
    let sizes = sections
        .iter()
        .map(|section| elf.sections[*section].sh_size);
    Ok(sizes.fold(0, u64::saturating_add))
}

/// The name of a section with entries of the layout before LLVM 21, if an ELF
/// file has one (in COFF objects they are not looked for): such an object has to be compiled anew.
///
/// # Errors
/// [`Error`] when the section headers can't be read.
pub fn legacy_entries(file: &[u8]) -> Result<Option<&'static str>, Error> {
    if coff::is_coff(file) {
        return Ok(None);
    }
    let elf = Elf::parse(file)?;
    for name in LEGACY_SECTIONS {
        let sections = elf.named(name)?;
        if sections
            .iter()
            .any(|section| elf.sections[*section].sh_size != 0)
        {
            return Ok(Some(name));
        }
    }
    Ok(None)
}

/// The file's headers, when it is of the class and byte order of the layout.
fn open(file: &[u8]) -> Result<Elf<'_>, Error> {
    let elf = Elf::parse(file)?;
    if elf.is_64_bit_little_endian() {
        Ok(elf)
    } else {
        Err(Error::NotElf64Le)
    }
}

/// The entries in the contents of a section.
fn split(contents: &[u8]) -> Result<&[[u8; ENTRY_SIZE]], Error> {
    let (entries, rest) = contents.as_chunks();
    if rest.is_empty() {
        Ok(entries)
    } else {
        Err(Error::SectionSize {
            size: contents.len(),
        })
    }
}

/// The text that a name pointer leads to.
fn text(index: usize, bytes: Option<&[u8]>) -> Result<String, Error> {
    let error = |reason| Error::Name { index, reason };
    let bytes = bytes.ok_or_else(|| error("it points to no NUL-terminated string"))?;
    let text = std::str::from_utf8(bytes).map_err(|_| error("it is not UTF-8"))?;
    Ok(text.to_owned())
}

#[cfg(test)]
mod tests;
