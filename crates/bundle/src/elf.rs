//! The parts of an ELF file that the other modules ask for, read when asked.
//!
//! Host objects come by the hundred, so nothing but the headers is read until
//! a section is wanted.

use std::ops::Range;

use goblin::container::Ctx;
use goblin::elf::header::{self, Header};
use goblin::elf::program_header::{PT_LOAD, ProgramHeader};
use goblin::elf::reloc::RelocSection;
use goblin::elf::section_header::{SHN_XINDEX, SHT_NOBITS, SHT_SYMTAB_SHNDX, SectionHeader};
use goblin::elf::sym::{Sym, Symtab};
/// Why an ELF file can't be read.
#[derive(Debug, thiserror::Error)]
pub enum ElfError {
    /// The bytes don't start with an ELF header.
    #[error("not an ELF file")]
    Magic,
    /// A header is cut off or contradicts itself.
    #[error("malformed ELF header: {0}")]
    Header(String),
    /// A section's contents lie outside of the file.
    #[error("section {section} lies outside of the file")]
    OutOfRange {
        /// The index of the section.
        section: usize,
    },
    /// A section refers to one that does not exist.
    #[error("section {section} refers to section {link}, which does not exist")]
    Link {
        /// The index of the section that refers.
        section: usize,
        /// The index that it refers to.
        link: usize,
    },
    /// A section is not a table of what its type says.
    #[error("section {section} is no table of {what}")]
    Table {
        /// The index of the section.
        section: usize,
        /// What it should hold.
        what: &'static str,
    },
}

pub(crate) struct Elf<'a> {
    data: &'a [u8],
    pub(crate) header: Header,
    pub(crate) sections: Vec<SectionHeader>,
    ctx: Ctx,
}

impl<'a> Elf<'a> {
    /// Reads the file header and the section headers.
    pub(crate) fn parse(data: &'a [u8]) -> Result<Self, ElfError> {
        let header = Self::header_of(data)?;
        let ctx = Ctx::new(
            header.container().map_err(malformed)?,
            header.endianness().map_err(malformed)?,
        );
        let offset = usize::try_from(header.e_shoff)
            .map_err(|_| ElfError::Header("section headers beyond the address space".to_owned()))?;
        let sections = if offset == 0 {
            Vec::new()
        } else {
            // A slice, so that no offset in the file can overflow an addition.
            let table = data
                .get(offset..)
                .ok_or_else(|| ElfError::Header("section headers beyond the file".to_owned()))?;
            let parse = |count| SectionHeader::parse_from(table, 0, count, ctx).map_err(malformed);
            match usize::from(header.e_shnum) {
                0 => {
                    // So many sections that their number stands in section 0. One
                    // that the file has no room for is damage, not a request.
                    let count = parse(1)?.first().map_or(0, |first| first.sh_size);
                    let room = table.len() / usize::from(header.e_shentsize).max(1);
                    parse(usize::try_from(count).map_or(room, |count| count.min(room)))?
                }
                count => parse(count)?,
            }
        };
        Ok(Elf {
            data,
            header,
            sections,
            ctx,
        })
    }

    /// Reads the file header alone.
    pub(crate) fn header_of(data: &[u8]) -> Result<Header, ElfError> {
        if !data.starts_with(header::ELFMAG) {
            return Err(ElfError::Magic);
        }
        goblin::elf::Elf::parse_header(data).map_err(malformed)
    }

    pub(crate) fn is_64_bit_little_endian(&self) -> bool {
        self.ctx.is_big() && self.ctx.is_little_endian()
    }

    /// The contents of a section; none for one that occupies no file space.
    pub(crate) fn contents(&self, section: usize) -> Result<&'a [u8], ElfError> {
        let header = self.section(section)?;
        if header.sh_type == SHT_NOBITS {
            return Ok(&[]);
        }
        range(header.sh_offset, header.sh_size)
            .and_then(|range| self.data.get(range))
            .ok_or(ElfError::OutOfRange { section })
    }

    fn section(&self, section: usize) -> Result<&SectionHeader, ElfError> {
        self.sections
            .get(section)
            .ok_or(ElfError::OutOfRange { section })
    }

    /// The indices of the sections with this name, in file order.
    pub(crate) fn named(&self, name: &str) -> Result<Vec<usize>, ElfError> {
        if self.sections.is_empty() {
            return Ok(Vec::new());
        }
        let names = self.contents(self.names_index())?;
        let is_named =
            |section: &SectionHeader| string_at(names, section.sh_name) == Some(name.as_bytes());
        let sections = self.sections.iter().enumerate().skip(1);
        Ok(sections
            .filter(|(_, section)| is_named(section))
            .map(|(index, _)| index)
            .collect())
    }

    /// The index of the section that holds the names of sections.
    pub(crate) fn names_index(&self) -> usize {
        match u32::from(self.header.e_shstrndx) {
            // With so many sections the index does not fit and stands in section 0.
            SHN_XINDEX => self.sections[0].sh_link as usize,
            index => index as usize,
        }
    }

    pub(crate) fn section_name(&self, section: usize) -> Result<&'a [u8], ElfError> {
        let names = self.contents(self.names_index())?;
        string_at(names, self.section(section)?.sh_name).ok_or(ElfError::OutOfRange { section })
    }

    pub(crate) fn symbols(&self, section: usize) -> Result<Symbols<'a>, ElfError> {
        let what = "symbols";
        let contents = self.contents(section)?;
        let count = contents.len() / Sym::size(self.ctx.container);
        let table = if count == 0 {
            None
        } else {
            let table = Symtab::parse(contents, 0, count, self.ctx);
            Some(table.map_err(|_| ElfError::Table { section, what })?)
        };
        let link = self.section(section)?.sh_link as usize;
        let names = self
            .contents(link)
            .map_err(|_| ElfError::Link { section, link })?;
        let extended = self.sections.iter().position(|other| {
            other.sh_type == SHT_SYMTAB_SHNDX && other.sh_link as usize == section
        });
        let extended = extended.map(|index| self.contents(index)).transpose()?;
        Ok(Symbols {
            table,
            names,
            extended,
        })
    }

    pub(crate) fn relocations(
        &self,
        section: usize,
        is_rela: bool,
    ) -> Result<RelocSection<'a>, ElfError> {
        let contents = self.contents(section)?;
        RelocSection::parse(contents, 0, contents.len(), is_rela, self.ctx).map_err(|_| {
            ElfError::Table {
                section,
                what: "relocations",
            }
        })
    }

    /// The segments that are loaded, as far as they are in the file.
    pub(crate) fn loaded(&self) -> Result<Vec<Segment<'a>>, ElfError> {
        let beyond = || ElfError::Header("program headers beyond the file".to_owned());
        let offset = usize::try_from(self.header.e_phoff).map_err(|_| beyond())?;
        let table = self.data.get(offset..).ok_or_else(beyond)?;
        let headers = ProgramHeader::parse(table, 0, self.header.e_phnum.into(), self.ctx)
            .map_err(malformed)?;
        let mut segments = Vec::new();
        for header in headers.iter().filter(|header| header.p_type == PT_LOAD) {
            let bytes = range(header.p_offset, header.p_filesz)
                .and_then(|range| self.data.get(range))
                .ok_or_else(|| ElfError::Header("a segment lies outside of the file".to_owned()))?;
            segments.push(Segment {
                address: header.p_vaddr,
                bytes,
            });
        }
        Ok(segments)
    }
}

/// A loaded segment: where it starts in memory, and its bytes in the file.
pub(crate) struct Segment<'a> {
    pub(crate) address: u64,
    pub(crate) bytes: &'a [u8],
}

/// A symbol table with its names.
pub(crate) struct Symbols<'a> {
    table: Option<Symtab<'a>>,
    names: &'a [u8],
    /// Section indices too large for a symbol, by symbol index.
    extended: Option<&'a [u8]>,
}

impl<'a> Symbols<'a> {
    pub(crate) fn get(&self, index: usize) -> Option<Sym> {
        self.table.as_ref()?.get(index)
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = Sym> + use<'a> {
        self.table.as_ref().map(Symtab::iter).into_iter().flatten()
    }

    /// The name of a symbol; `None` when it lies outside of the string table.
    pub(crate) fn name(&self, symbol: &Sym) -> Option<&'a [u8]> {
        string_at(self.names, symbol.st_name)
    }

    /// The index of the section that the symbol with this index is in.
    pub(crate) fn section_of(&self, index: usize, symbol: &Sym) -> Option<usize> {
        if symbol.st_shndx != SHN_XINDEX as usize {
            return Some(symbol.st_shndx);
        }
        let start = index.checked_mul(4)?;
        let bytes = self.extended?.get(start..)?.first_chunk()?;
        Some(u32::from_le_bytes(*bytes) as usize)
    }
}

/// The bytes of the string at `offset`, without the NUL that has to end it.
pub(crate) fn string_at(table: &[u8], offset: usize) -> Option<&[u8]> {
    let rest = table.get(offset..)?;
    let length = rest.iter().position(|byte| *byte == 0)?;
    Some(&rest[..length])
}

fn malformed(error: goblin::error::Error) -> ElfError {
    ElfError::Header(error.to_string())
}

fn range(offset: u64, size: u64) -> Option<Range<usize>> {
    let start = usize::try_from(offset).ok()?;
    let end = start.checked_add(usize::try_from(size).ok()?)?;
    Some(start..end)
}
