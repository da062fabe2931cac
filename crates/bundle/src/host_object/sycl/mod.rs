//! Registration with a SYCL runtime, in the form of LLVM 22 or of LLVM 24.

mod binary;
mod descriptor;

use std::io::Write;
use std::path::Path;

use goblin::elf::section_header::SHT_PROGBITS;

use super::embedded_images::{self, NameAndType};
use super::openmp::RELOCATABLE_SECTION;
use super::source::{self, Blob};
use super::{Error, HostTarget, Platform};
use crate::entry::Generation;
use crate::offload_binary::{self, OffloadKind};

/// Writes the object that registers the images of `container` with a SYCL
/// runtime to `out`. The object is the same for the same bytes.
///
/// `container` are offload binaries back to back. Those of version 1 are
/// registered as LLVM 22.1.8's clang-linker-wrapper does it: a constructor of
/// priority 1 passes `__sycl_register_lib` a descriptor of the images, each with
/// an entry for every name in its string `symbols`
/// ([`crate::sycl_symbols::text`]); a destructor of the same priority
/// unregisters them. The one difference is that the entries stand beside the
/// images only, not among the program's offload entries too, from where no
/// SYCL runtime takes them. The object's section of those is empty; by it
/// [`crate::seal`] knows a registration object.
///
/// One of version 2 or 3 is registered as LLVM 24 does it (its
/// `OffloadWrapper.cpp` in the autumn of 2026): a constructor of priority 101
/// passes `__sycl_register_lib` its address and size; unregistering is left to
/// `atexit`. It is not looked into.
///
/// # Errors
/// [`Error`]; part of the object may have been written by then.
pub fn write(host: HostTarget, container: &[u8], out: &mut impl Write) -> Result<(), Error> {
    write_with(host, container, embedded_images::SECTION, out)
}

/// As [`write()`], for a relocatable link, whose result is to be sealed
/// ([`crate::seal`]): the images are in the section where it leaves them.
///
/// # Errors
/// As [`write()`].
pub fn write_for_relocatable_link(
    host: HostTarget,
    container: &[u8],
    out: &mut impl Write,
) -> Result<(), Error> {
    write_with(host, container, (RELOCATABLE_SECTION, SHT_PROGBITS), out)
}

fn write_with(
    host: HostTarget,
    container: &[u8],
    section: NameAndType,
    out: &mut impl Write,
) -> Result<(), Error> {
    if is_for_llvm_24(container) {
        return binary::write(host, container, section, out);
    }
    descriptor::write(host, &offload_binary::parse(container)?, section, out)
}

/// Whether the offload binaries are registered in the form of LLVM 24, as their
/// version tells: it stands behind the magic bytes.
pub fn is_for_llvm_24(container: &[u8]) -> bool {
    let version = container.get(4..8);
    version.is_some_and(|version| version != 1_u32.to_le_bytes())
}

/// The C source of the object of [`write()`] for any platform. It takes
/// `container` from `file` when it is compiled with
/// [`Platform::compiler_flags`].
///
/// # Errors
/// [`Error::Binary`] and [`Error::TooMany`].
pub fn source(platform: Platform, container: &[u8], file: &Path) -> Result<String, Error> {
    let section_type = format!("{:#x}", offload_binary::SECTION_TYPE);
    let section = (offload_binary::SECTION_NAME, section_type.as_str());
    source_with(platform, container, section, file)
}

/// As [`source()`], for what [`write_for_relocatable_link`] writes.
///
/// # Errors
/// As [`source()`].
pub fn source_for_relocatable_link(
    platform: Platform,
    container: &[u8],
    file: &Path,
) -> Result<String, Error> {
    source_with(platform, container, (RELOCATABLE_SECTION, "progbits"), file)
}

fn source_with(
    platform: Platform,
    container: &[u8],
    (section, elf_type): (&str, &str),
    file: &Path,
) -> Result<String, Error> {
    let (tables, code) = if is_for_llvm_24(container) {
        let size = format!("#define SIZE {}\n", container.len());
        (size, source::SYCL_BINARY)
    } else {
        (descriptor::tables(container)?, source::SYCL_DESCRIPTOR)
    };
    let blob = Blob {
        section,
        elf_type,
        alignment: offload_binary::ALIGNMENT as u64,
        symbol: "offlink_sycl_images",
    };
    let entries = (OffloadKind::Sycl, Generation::Llvm21);
    Ok(tables + &source::whole(platform, code, entries, &blob, file))
}
