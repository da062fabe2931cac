//! An offload binary, registered by its address and size.

use std::borrow::Cow;
use std::io::Write;

use goblin::elf::section_header::{SHF_ALLOC, SHF_WRITE, SHT_PROGBITS};

use crate::entry::Generation;
use crate::host_object::embedded_images::NameAndType;
use crate::host_object::relocatable::{Relocatable, Relocation, Section, Symbol};
use crate::host_object::{Error, HostTarget, embedded_images, entries, template};
use crate::offload_binary::OffloadKind;

/// The name by which `runtime/sycl_binary.c` refers to the address and the size.
const BINARY: &str = "offlink_sycl_binary";

pub(super) fn write(
    host: HostTarget,
    binary: &[u8],
    section: NameAndType,
    out: &mut impl Write,
) -> Result<(), Error> {
    let size = binary.len() as u64;
    let mut object = Relocatable::new(host.machine());
    let section = embedded_images::add_section(&mut object, section, vec![Cow::Borrowed(binary)]);
    let start = object.add_symbol(Symbol::local(
        ".sycl_offloading.binary".to_owned(),
        section,
        0,
        size,
    ));
    let bounds = object.add_section(Section {
        name: Cow::Borrowed(b".data.rel.ro"),
        kind: SHT_PROGBITS,
        flags: u64::from(SHF_ALLOC | SHF_WRITE),
        alignment: 8,
        entry_size: 0,
        pieces: vec![Cow::Owned([0, size].map(u64::to_le_bytes).concat())],
        relocations: vec![Relocation {
            offset: 0,
            kind: host.absolute_relocation(),
            symbol: start,
            addend: 0,
        }],
    });
    let bounds = object.add_symbol(Symbol::local(BINARY.to_owned(), bounds, 0, 16));
    template::add(&mut object, host.sycl_binary_template(), BINARY, bounds)?;
    let entries = Generation::Llvm21.section(OffloadKind::Sycl);
    entries::add_section(&mut object, entries);
    object.add_stack_note();
    object.write(out)
}
