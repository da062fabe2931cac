//! Offload entries: by these host code names the kernels and variables that
//! it expects to find in a device image.
//!
//! They have had several forms, which [`Generation`] tells apart.

mod coff;
mod generation;
mod linked;
mod mach_o;
mod object;

pub use generation::{Generation, SECTIONS};
pub use linked::read_linked;
pub use object::read_object;

use goblin::elf::header::ET_REL;

use crate::elf::{Elf, ElfError};
use crate::offload_binary::OffloadKind;
use generation::Form;

/// One offload entry, as far as it concerns the link. The host address and the
/// auxiliary pointer are left out: they mean nothing before the program runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OffloadEntry {
    /// The compilers whose form it has.
    pub generation: Generation,
    /// The runtimes that register the entry, as bits: 1 OpenMP, 2 CUDA, 4 HIP, 8 SYCL.
    /// Before LLVM 21 it is the section that says so.
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
    /// Whether the runtime of `kind` registers it.
    pub fn is_of(&self, kind: OffloadKind) -> bool {
        self.kind & kind.number() != 0
    }

    /// Whether it is a variable of CUDA or HIP that host and device share.
    pub fn is_managed(&self) -> bool {
        const SORT_MASK: u32 = 7;
        const MANAGED: u32 = 1;
        let has_sort = self.is_of(OffloadKind::Cuda) || self.is_of(OffloadKind::Hip);
        has_sort && self.size != 0 && self.flags & SORT_MASK == MANAGED
    }
}

/// Why the offload entries of a file could not be read.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The file is not an ELF file, or a broken one.
    #[error(transparent)]
    Elf(#[from] ElfError),
    /// The file is a broken COFF object, PE file or Mach-O file.
    #[error(transparent)]
    Object(#[from] ::object::read::Error),
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
    #[error("section {section} holds {size} bytes, not a multiple of {entry_size}")]
    SectionSize {
        /// The section.
        section: &'static str,
        /// The size of the section in bytes.
        size: usize,
        /// The size of an entry in bytes.
        entry_size: usize,
    },
    /// The entries of a COFF object have a form that is read from ELF files only.
    #[error(
        "the form of section {section} is from before LLVM 21, and known for Linux only; \
         compile with clang 21 or newer"
    )]
    OldCoff {
        /// The section.
        section: &'static str,
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

/// Reads the offload entries of an ELF, COFF, PE or Mach-O file of any type, in
/// file order.
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
    if mach_o::is_mach_o(file) {
        return mach_o::read(file);
    }
    if Elf::parse(file)?.header.e_type == ET_REL {
        read_object(file)
    } else {
        read_linked(file)
    }
}

/// The sum of the sizes, in bytes, of the sections of offload entries in an ELF,
/// COFF, PE or Mach-O file of any type; zero when it has none.
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
    if mach_o::is_mach_o(file) {
        return mach_o::entries_size(file);
    }
    let elf = Elf::parse(file)?;
    if elf.sections.is_empty() {
        return Err(Error::NoSectionHeaders);
    }
    let mut size: u64 = 0;
    for (name, _) in SECTIONS {
        for section in elf.named(name)? {
            size = size.saturating_add(elf.sections[section].sh_size);
        }
    }
    Ok(size)
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

/// The text that a name pointer leads to.
fn text(index: usize, bytes: Option<&[u8]>) -> Result<String, Error> {
    let error = |reason| Error::Name { index, reason };
    let bytes = bytes.ok_or_else(|| error("it points to no NUL-terminated string"))?;
    let text = std::str::from_utf8(bytes).map_err(|_| error("it is not UTF-8"))?;
    Ok(text.to_owned())
}

#[cfg(test)]
mod tests;
