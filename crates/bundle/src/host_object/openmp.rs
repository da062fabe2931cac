//! Registration with libomptarget, by the tables that its `__tgt_register_lib`
//! takes.

use std::borrow::Cow;
use std::io::Write;
use std::path::Path;

use goblin::elf::section_header::{SHF_ALLOC, SHF_WRITE, SHT_PROGBITS};

use super::relocatable::{Relocatable, Relocation, Section, Symbol, SymbolId};
use super::source::{self, Blob};
use super::{Error, HostTarget, Platform, embedded_images, entries, template};
use crate::entry::Generation;
use crate::offload_binary::{self, Image, OffloadKind};

/// The name by which `runtime/openmp.c` refers to the descriptor.
const DESCRIPTOR: &str = "offlink_openmp_descriptor";

/// `__tgt_bin_desc`: the number of images in 32 bits, padding, then pointers to
/// the images and to the first and past the last offload entry.
const DESCRIPTOR_SIZE: u64 = 32;

/// `__tgt_device_image`: pointers to the first and past the last byte of the
/// image, and to the first and past the last offload entry.
const DEVICE_IMAGE_SIZE: u64 = 32;

/// Where the images are in relocatable output, as LLVM 22.1.8 has it.
pub const RELOCATABLE_SECTION: &str = ".llvm.offloading.relocatable";

/// Writes the object that registers `images` with libomptarget to `out`.
///
/// Each image is embedded as an offload binary of version 1 in an allocated
/// section `.llvm.offloading`, where LLVM's tools find it again, and is
/// registered without that wrapping. All share the program's offload entries, which
/// are those of one [`Generation`].
/// The object is the same for the same images, and their bytes are written
/// from where they lie. No images give an object that registers none.
///
/// # Errors
/// [`Error`]; part of the object may have been written by then.
pub fn write(
    host: HostTarget,
    entries: Generation,
    images: &[Image<'_>],
    out: &mut impl Write,
) -> Result<(), Error> {
    write_with(host, entries, images, embedded_images::SECTION, out)
}

/// As [`write()`], for a relocatable link, whose result is to be sealed
/// ([`crate::seal`]): the images are in a section of their own, as `ld -r` would
/// lump them together with the device code that they were linked from.
///
/// # Errors
/// As [`write()`].
pub fn write_for_relocatable_link(
    host: HostTarget,
    entries: Generation,
    images: &[Image<'_>],
    out: &mut impl Write,
) -> Result<(), Error> {
    write_with(
        host,
        entries,
        images,
        (RELOCATABLE_SECTION, SHT_PROGBITS),
        out,
    )
}

fn write_with(
    host: HostTarget,
    entries: Generation,
    images: &[Image<'_>],
    section: embedded_images::NameAndType,
    out: &mut impl Write,
) -> Result<(), Error> {
    let count = i32::try_from(images.len()).map_err(|_| Error::TooMany(images.len()))?;
    let binaries = embedded_images::encode(images)?;

    let mut object = Relocatable::new(host.machine());
    let tables = object.add_section(Section {
        name: Cow::Borrowed(b".data.rel.ro"),
        kind: SHT_PROGBITS,
        flags: u64::from(SHF_ALLOC | SHF_WRITE),
        alignment: 8,
        entry_size: 0,
        pieces: vec![Cow::Owned(tables(count))],
        relocations: Vec::new(),
    });
    let descriptor = object.add_symbol(Symbol::local(
        ".omp_offloading.descriptor".to_owned(),
        tables,
        0,
        DESCRIPTOR_SIZE,
    ));
    template::add(&mut object, host.openmp_template(), DESCRIPTOR, descriptor)?;
    let device_images = object.add_symbol(Symbol::local(
        ".omp_offloading.device_images".to_owned(),
        tables,
        DESCRIPTOR_SIZE,
        images.len() as u64 * DEVICE_IMAGE_SIZE,
    ));
    let entries_section = entries.section(OffloadKind::OpenMp);
    entries::add_section(&mut object, entries_section);
    let entries = entries::add_ends(&mut object, entries_section);
    let embedded = embedded_images::add(&mut object, &binaries, section, |index| match index {
        0 => ".omp_offloading.device_image".to_owned(),
        _ => format!(".omp_offloading.device_image.{index}"),
    });

    let mut point = |offset: u64, symbol: SymbolId, addend: i64| {
        let kind = host.absolute_relocation();
        object.relocate(
            tables,
            Relocation {
                offset,
                kind,
                symbol,
                addend,
            },
        );
    };
    point(8, device_images, 0);
    point(16, entries.start, 0);
    point(24, entries.stop, 0);
    for (index, image) in embedded.into_iter().enumerate() {
        let row = DESCRIPTOR_SIZE + index as u64 * DEVICE_IMAGE_SIZE;
        point(row, image.symbol, 0);
        point(row + 8, image.symbol, image.size);
        point(row + 16, entries.start, 0);
        point(row + 24, entries.stop, 0);
    }
    object.add_stack_note();
    object.write(out)
}

/// The C source of that object for any platform. It takes the offload binaries
/// from `file`, which holds what [`offload_binary::write()`] makes of `images` in
/// version 1, when it is compiled with [`Platform::compiler_flags`].
///
/// # Errors
/// [`Error::Image`] for an image that does not fit into an offload binary, and
/// [`Error::TooMany`].
pub fn source(
    platform: Platform,
    entries: Generation,
    images: &[Image<'_>],
    file: &Path,
) -> Result<String, Error> {
    let section_type = format!("{:#x}", offload_binary::SECTION_TYPE);
    source_with(
        platform,
        entries,
        images,
        (offload_binary::SECTION_NAME, &section_type),
        file,
    )
}

/// As [`source()`], for what [`write_for_relocatable_link`] writes.
///
/// # Errors
/// As [`source()`].
pub fn source_for_relocatable_link(
    platform: Platform,
    entries: Generation,
    images: &[Image<'_>],
    file: &Path,
) -> Result<String, Error> {
    source_with(
        platform,
        entries,
        images,
        (RELOCATABLE_SECTION, "progbits"),
        file,
    )
}

fn source_with(
    platform: Platform,
    entries: Generation,
    images: &[Image<'_>],
    (section, elf_type): (&str, &str),
    file: &Path,
) -> Result<String, Error> {
    i32::try_from(images.len()).map_err(|_| Error::TooMany(images.len()))?;
    let mut source = "#define IMAGES".to_owned();
    let mut start = 0;
    for binary in embedded_images::encode(images)? {
        let image = start + binary.head.len() as u64;
        let end = image + binary.image_size();
        source += &format!(" IMAGE({image}, {end})");
        start += binary.size as u64;
    }
    let blob = Blob {
        section,
        elf_type,
        alignment: offload_binary::ALIGNMENT as u64,
        symbol: "offlink_openmp_images",
    };
    source += "\n";
    source += &source::whole(
        platform,
        source::OPENMP,
        (OffloadKind::OpenMp, entries),
        &blob,
        file,
    );
    Ok(source)
}

/// The descriptor and the images behind it; the pointers are relocations.
fn tables(count: i32) -> Vec<u8> {
    let size = DESCRIPTOR_SIZE + u64::from(count.unsigned_abs()) * DEVICE_IMAGE_SIZE;
    let mut bytes = count.to_le_bytes().to_vec();
    bytes.resize(size as usize, 0);
    bytes
}
