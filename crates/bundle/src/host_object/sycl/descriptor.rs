//! Images, registered by a descriptor of them.

use std::borrow::Cow;
use std::io::Write;

use goblin::elf::section_header::{SHF_ALLOC, SHF_WRITE, SHT_PROGBITS};

use crate::entry::Generation;
use crate::host_object::embedded_images::NameAndType;
use crate::host_object::relocatable::{Relocatable, Relocation, Section, Symbol};
use crate::host_object::source::escaped;
use crate::host_object::{Error, HostTarget, embedded_images, entries, template};
use crate::offload_binary::{self, Image, OffloadKind};
use crate::sycl_symbols;

/// The name by which `runtime/sycl_descriptor.c` refers to the descriptor.
const DESCRIPTOR: &str = "offlink_sycl_descriptor";

/// `__sycl.tgt_bin_desc`: version 1 and the number of images in 16 bits each,
/// padding, then pointers: to the images, and two that are null.
const DESCRIPTOR_SIZE: usize = 32;

/// `__sycl.tgt_device_image`: version 3 in 16 bits, offload kind and image kind
/// in 8 bits each, padding, then pointers: to the triple, the options for
/// compiler and linker, the first and past the last byte of the image, the first
/// and past the last entry, and two that are null.
const IMAGE_SIZE: usize = 80;

/// `__tgt_offload_entry`: zero in 64 bits, version 1 and the offload kind in 16
/// bits each, zeros but for a pointer to the name at byte 24.
const ENTRY_SIZE: usize = 56;

pub(super) fn write(
    host: HostTarget,
    images: &[Image<'_>],
    section: NameAndType,
    out: &mut impl Write,
) -> Result<(), Error> {
    let tables = Tables::of(images)?;
    let binaries = embedded_images::encode(images)?;
    let mut object = Relocatable::new(host.machine());
    let embedded = embedded_images::add(&mut object, &binaries, section, |index| {
        format!(".sycl_offloading.{index}.data")
    });
    let mut data_section = |name: &'static str, flags, contents| {
        object.add_section(Section {
            name: Cow::Borrowed(name.as_bytes()),
            kind: SHT_PROGBITS,
            flags: u64::from(flags),
            alignment: 8,
            entry_size: 0,
            pieces: vec![Cow::Owned(contents)],
            relocations: Vec::new(),
        })
    };
    let section = data_section(".data.rel.ro", SHF_ALLOC | SHF_WRITE, tables.bytes);
    let string_section = data_section(".rodata", SHF_ALLOC, tables.strings);
    let descriptor = object.add_symbol(Symbol::local(
        ".sycl_offloading.descriptor".to_owned(),
        section,
        0,
        DESCRIPTOR_SIZE as u64,
    ));
    let strings = object.add_symbol(Symbol::local(
        ".sycl_offloading.strings".to_owned(),
        string_section,
        0,
        0,
    ));
    for (offset, target) in tables.pointers {
        let (symbol, addend) = match target {
            Target::Table(offset) => (descriptor, offset as i64),
            Target::String(offset) => (strings, offset as i64),
            Target::Start(image) => (embedded[image].symbol, 0),
            Target::End(image) => (embedded[image].symbol, embedded[image].size),
        };
        object.relocate(
            section,
            Relocation {
                offset: offset as u64,
                kind: host.absolute_relocation(),
                symbol,
                addend,
            },
        );
    }
    let code = host.sycl_descriptor_template();
    template::add(&mut object, code, DESCRIPTOR, descriptor)?;
    let entries = Generation::Llvm21.section(OffloadKind::Sycl);
    entries::add_section(&mut object, entries);
    object.add_stack_note();
    object.write(out)
}

/// The number of images, which has 16 bits.
fn count(images: &[Image<'_>]) -> Result<u16, Error> {
    u16::try_from(images.len()).map_err(|_| Error::TooMany(images.len()))
}

/// The names of an image's kernels.
fn names(image: &Image<'_>) -> Vec<String> {
    sycl_symbols::in_text(image.string(sycl_symbols::KEY).unwrap_or_default())
}

/// A number that is too large stands for nothing here.
fn byte(kind: u16) -> u8 {
    u8::try_from(kind).unwrap_or_default()
}

/// The tables for the offload binaries in `container`, as `runtime/sycl_descriptor.c`
/// takes them where the compiler makes the whole object.
pub(super) fn tables(container: &[u8]) -> Result<String, Error> {
    let images = offload_binary::parse(container)?;
    count(&images)?;
    let (mut kernels, mut rows, mut first) = (String::new(), String::new(), 0);
    for image in &images {
        let names = names(image);
        for name in &names {
            kernels += &format!(" KERNEL(\"{}\")", escaped(name.as_bytes()));
        }
        let triple = escaped(image.triple().as_bytes());
        let kind = byte(image.image_kind.number());
        // Version 1 does not compress, so each image is a part of the container.
        let start = (image.data.as_ptr() as usize).saturating_sub(container.as_ptr() as usize);
        let (end, last) = (start + image.data.len(), first + names.len());
        rows += &format!(" IMAGE({kind}, \"{triple}\", {start}, {end}, {first}, {last})");
        first = last;
    }
    Ok(format!("#define KERNELS{kernels}\n#define IMAGES{rows}\n"))
}

/// Where a pointer points to.
enum Target {
    /// Into the tables, so many bytes behind their start.
    Table(usize),
    /// Into the strings, likewise.
    String(usize),
    /// To the first byte of the image at this position.
    Start(usize),
    /// Past its last byte.
    End(usize),
}

/// The descriptor, the images behind it, and the entries behind those.
struct Tables {
    bytes: Vec<u8>,
    /// Each with its offset in `bytes`.
    pointers: Vec<(usize, Target)>,
    /// Ended by NULs; the first is empty.
    strings: Vec<u8>,
}

impl Tables {
    fn of(images: &[Image<'_>]) -> Result<Self, Error> {
        let count = count(images)?;
        let mut tables = Tables {
            bytes: [1, count].map(u16::to_le_bytes).concat(),
            pointers: vec![(8, Target::Table(DESCRIPTOR_SIZE))],
            strings: vec![0],
        };
        tables.bytes.resize(DESCRIPTOR_SIZE, 0);
        let names: Vec<Vec<String>> = images.iter().map(names).collect();
        let mut entries = DESCRIPTOR_SIZE + images.len() * IMAGE_SIZE;
        for (index, image) in images.iter().enumerate() {
            let end = entries + names[index].len() * ENTRY_SIZE;
            tables.add_image(index, image, (entries, end));
            entries = end;
        }
        for name in names.iter().flatten() {
            tables.add_entry(name);
        }
        Ok(tables)
    }

    fn add_image(&mut self, index: usize, image: &Image<'_>, entries: (usize, usize)) {
        let row = self.bytes.len();
        self.bytes.extend(3_u16.to_le_bytes());
        for kind in [OffloadKind::Sycl.number(), image.image_kind.number()] {
            self.bytes.push(byte(kind));
        }
        self.bytes.resize(row + IMAGE_SIZE, 0);
        let triple = self.add_string(image.triple());
        self.pointers.extend([
            (row + 8, Target::String(triple)),
            (row + 16, Target::String(0)),
            (row + 24, Target::String(0)),
            (row + 32, Target::Start(index)),
            (row + 40, Target::End(index)),
        ]);
        if entries.0 != entries.1 {
            self.pointers.extend([
                (row + 48, Target::Table(entries.0)),
                (row + 56, Target::Table(entries.1)),
            ]);
        }
    }

    fn add_entry(&mut self, name: &str) {
        let entry = self.bytes.len();
        self.bytes.extend([0; 8]);
        self.bytes.extend(1_u16.to_le_bytes());
        self.bytes.extend(OffloadKind::Sycl.number().to_le_bytes());
        self.bytes.resize(entry + ENTRY_SIZE, 0);
        let name = self.add_string(name);
        self.pointers.push((entry + 24, Target::String(name)));
    }

    fn add_string(&mut self, text: &str) -> usize {
        let start = self.strings.len();
        self.strings.extend(text.as_bytes());
        self.strings.push(0);
        start
    }
}
