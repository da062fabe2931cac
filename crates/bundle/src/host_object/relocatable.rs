//! A relocatable ELF object of sections whose contents lie elsewhere.

use std::borrow::Cow;
use std::io::{BufWriter, Write};

use object::elf;
use object::write::StreamingBuffer;
use object::write::elf::{FileHeader, Rel, SectionHeader, SectionIndex, Sym, Writer};

use super::Error;

/// The object's STT_FILE symbol. Without one GNU ld makes up its own from the
/// path of the object file, and the linked program would depend on that.
const FILE_SYMBOL: &[u8] = b"offlink.registration";

/// A section of a [`Relocatable`], by its position.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct SectionId(usize);

/// A symbol of a [`Relocatable`], by its position.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct SymbolId(usize);

pub(super) struct Section<'a> {
    pub(super) name: Cow<'a, [u8]>,
    pub(super) kind: u32,
    pub(super) flags: u64,
    pub(super) alignment: u64,
    pub(super) entry_size: u64,
    /// The contents, in order.
    pub(super) pieces: Vec<Cow<'a, [u8]>>,
    pub(super) relocations: Vec<Relocation>,
}

impl Section<'_> {
    fn size(&self) -> u64 {
        self.pieces.iter().map(|piece| piece.len() as u64).sum()
    }
}

pub(super) struct Relocation {
    pub(super) offset: u64,
    pub(super) kind: u32,
    pub(super) symbol: SymbolId,
    pub(super) addend: i64,
}

pub(super) struct Symbol<'a> {
    pub(super) name: Cow<'a, [u8]>,
    /// `st_info`: binding and type.
    pub(super) info: u8,
    /// `st_other`: visibility.
    pub(super) other: u8,
    /// Where it is defined, if it is.
    pub(super) section: Option<SectionId>,
    pub(super) value: u64,
    pub(super) size: u64,
}

impl Symbol<'_> {
    /// An object of `size` bytes, `value` bytes into `section`, that only this
    /// file knows.
    pub(super) fn local(name: String, section: SectionId, value: u64, size: u64) -> Self {
        Symbol {
            name: Cow::Owned(name.into_bytes()),
            info: elf::SymbolInfo::new(elf::STB_LOCAL, elf::STT_OBJECT).0,
            other: elf::STV_DEFAULT.0,
            section: Some(section),
            value,
            size,
        }
    }

    fn is_local(&self) -> bool {
        elf::SymbolInfo(self.info).st_bind() == elf::STB_LOCAL
    }
}

pub(super) struct Relocatable<'a> {
    machine: u16,
    sections: Vec<Section<'a>>,
    symbols: Vec<Symbol<'a>>,
}

impl<'a> Relocatable<'a> {
    pub(super) fn new(machine: u16) -> Self {
        Relocatable {
            machine,
            sections: Vec::new(),
            symbols: Vec::new(),
        }
    }

    pub(super) fn add_section(&mut self, section: Section<'a>) -> SectionId {
        self.sections.push(section);
        SectionId(self.sections.len() - 1)
    }

    pub(super) fn add_symbol(&mut self, symbol: Symbol<'a>) -> SymbolId {
        self.symbols.push(symbol);
        SymbolId(self.symbols.len() - 1)
    }

    pub(super) fn relocate(&mut self, section: SectionId, relocation: Relocation) {
        self.sections[section.0].relocations.push(relocation);
    }

    /// Adds the mark without which GNU ld gives the whole program an executable
    /// stack.
    pub(super) fn add_stack_note(&mut self) {
        self.add_section(Section {
            name: Cow::Borrowed(b".note.GNU-stack"),
            kind: elf::SHT_PROGBITS.0,
            flags: 0,
            alignment: 1,
            entry_size: 0,
            pieces: Vec::new(),
            relocations: Vec::new(),
        });
    }

    /// Writes the object: contents first, in the order of the sections, then
    /// what describes them.
    pub(super) fn write(&self, out: &mut impl Write) -> Result<(), Error> {
        let rela_names: Vec<_> = self
            .sections
            .iter()
            .map(|section| [b".rela".as_slice(), &section.name].concat())
            .collect();
        let mut buffer = StreamingBuffer::new(BufWriter::new(out));
        self.write_to(&rela_names, &mut buffer)?;
        buffer.flush()?;
        Ok(())
    }

    fn write_to<W: Write>(
        &self,
        rela_names: &[Vec<u8>],
        buffer: &mut StreamingBuffer<W>,
    ) -> Result<(), Error> {
        let (order, local_count) = self.symbol_order();
        let mut writer = Writer::new(object::Endianness::Little, true, buffer);

        writer.reserve_file_header();
        let mut placed = Vec::with_capacity(self.sections.len());
        for section in &self.sections {
            let name = writer.add_section_name(&section.name);
            let index = writer.reserve_section_index();
            let offset = writer.reserve(section.size(), section.alignment);
            placed.push((name, index, offset));
        }
        let file_name = writer.add_string(FILE_SYMBOL);
        // Right behind the null symbol, as linkers count the local symbols that
        // follow as the file's.
        writer.reserve_symbol_index(None);
        let symbol_names: Vec<_> = order
            .iter()
            .map(|symbol| &self.symbols[symbol.0].name)
            .map(|name| (!name.is_empty()).then(|| writer.add_string(name)))
            .collect();
        // Positions in the file, where local symbols come first.
        let mut symbol_indices = vec![0; self.symbols.len()];
        for symbol in &order {
            let section = self.symbols[symbol.0]
                .section
                .map(|section| placed[section.0].1);
            symbol_indices[symbol.0] = writer.reserve_symbol_index(section).0;
        }
        let symtab = writer.reserve_symtab_section_index();
        writer.reserve_symtab();
        writer.reserve_strtab_section_index();
        writer.reserve_strtab()?;
        let mut relas = Vec::new();
        for (position, section) in self.sections.iter().enumerate() {
            if !section.relocations.is_empty() {
                let name = writer.add_section_name(&rela_names[position]);
                writer.reserve_section_index();
                let offset = writer.reserve_relocations(section.relocations.len(), true);
                relas.push((name, position, offset));
            }
        }
        writer.reserve_shstrtab_section_index();
        writer.reserve_shstrtab()?;
        writer.reserve_section_headers();

        writer.write_file_header(&FileHeader {
            // SHF_GNU_RETAIN means what it says under this ABI only.
            os_abi: elf::ELFOSABI_GNU,
            e_type: elf::ET_REL,
            e_machine: elf::Machine(self.machine),
            ..FileHeader::default()
        })?;
        for (section, (_, _, offset)) in self.sections.iter().zip(&placed) {
            writer.pad_until(*offset);
            for piece in &section.pieces {
                writer.write(piece);
            }
        }
        writer.write_null_symbol();
        writer.write_symbol(&Sym {
            section: None,
            st_name: writer.string_offset(Some(file_name)),
            st_info: elf::SymbolInfo::new(elf::STB_LOCAL, elf::STT_FILE),
            st_other: elf::SymbolOther(0),
            st_shndx: elf::SHN_ABS,
            st_value: 0,
            st_size: 0,
        });
        for (symbol, name) in order.iter().zip(symbol_names) {
            let symbol = &self.symbols[symbol.0];
            writer.write_symbol(&Sym {
                section: symbol.section.map(|section| placed[section.0].1.0),
                st_name: writer.string_offset(name),
                st_info: elf::SymbolInfo(symbol.info),
                st_other: elf::SymbolOther(symbol.other),
                st_shndx: elf::SHN_UNDEF,
                st_value: symbol.value,
                st_size: symbol.size,
            });
        }
        writer.write_strtab();
        for (_, position, _) in &relas {
            writer.write_align_relocation();
            for relocation in &self.sections[*position].relocations {
                writer.write_relocation(
                    true,
                    &Rel {
                        r_offset: relocation.offset,
                        r_sym: symbol_indices[relocation.symbol.0],
                        r_type: elf::RelocationType(relocation.kind),
                        r_addend: relocation.addend,
                    },
                );
            }
        }
        writer.write_shstrtab();

        writer.write_null_section_header();
        for (section, (name, _, offset)) in self.sections.iter().zip(&placed) {
            writer.write_section_header(&SectionHeader {
                sh_name: writer.section_name_offset(Some(*name)),
                sh_type: elf::SectionType(section.kind),
                sh_flags: elf::SectionFlags(section.flags),
                sh_offset: *offset,
                sh_size: section.size(),
                sh_addralign: section.alignment,
                sh_entsize: section.entry_size,
                ..SectionHeader::default()
            });
        }
        // The null symbol and the file's are local and count.
        writer.write_symtab_section_header(local_count + 2);
        writer.write_strtab_section_header();
        for (name, position, offset) in relas {
            let SectionIndex(target) = placed[position].1;
            let count = self.sections[position].relocations.len();
            writer.write_relocation_section_header(
                name,
                SectionIndex(target),
                symtab,
                offset,
                count,
                true,
            );
        }
        writer.write_shstrtab_section_header();
        Ok(())
    }

    /// The symbols as ELF wants them, local ones first, and how many those are.
    fn symbol_order(&self) -> (Vec<SymbolId>, u32) {
        let (mut order, global): (Vec<_>, Vec<_>) = (0..self.symbols.len())
            .map(SymbolId)
            .partition(|symbol| self.symbols[symbol.0].is_local());
        let local_count = order.len() as u32;
        order.extend(global);
        (order, local_count)
    }
}
