//! Sections of a host object that concern devices.

use super::ScanError;
use super::containers::{container, offload_binary};
use super::{coff, mach_o};
use crate::device_input::DeviceInput;
use bytes::Bytes;
use goblin::container::{Container, Ctx, Endian};
use goblin::elf::Elf;
use goblin::elf::header::{ET_DYN, ET_REL, Header};
use goblin::elf::section_header::section_header64::SIZEOF_SHDR;
use goblin::elf::section_header::{SHT_NOBITS, SectionHeader};
use offlink_bundle::entry::{self, Generation, OffloadEntry};
use offlink_bundle::host_object::openmp::RELOCATABLE_SECTION;
use offlink_bundle::offload_binary::{OffloadKind, SECTION_NAME, SECTION_TYPE};
use offlink_llvm::{HostEntry, HostModule};

/// Where CUDA's and HIP's host objects and programs have their containers, and
/// where relocatable links leave images of OpenMP.
const REGISTERED_SECTIONS: [&[u8]; 3] = [
    b".nv_fatbin",
    b".hip_fatbin",
    RELOCATABLE_SECTION.as_bytes(),
];

/// Marks a section as member of a group, of which the linker keeps one of many
/// (System V ABI, "Section Groups").
const SHF_GROUP: u64 = 0x200;

/// A relocatable object for the host and its sections for devices.
#[derive(Clone, Debug)]
pub struct HostObject {
    /// Where it is: `a.o`, `libx.a(m.o)`.
    pub name: String,
    /// The object.
    pub data: Bytes,
    /// The contents of its sections of device code.
    pub device: Vec<Bytes>,
    /// The contents of its sections of images that are registered already.
    registered: Vec<Bytes>,
    /// It has a section of offload entries.
    pub has_entries: bool,
    /// Its entries lie in a section group, so the linker may keep another's.
    pub entries_in_group: bool,
    /// The entries of bitcode, which has no sections yet.
    bitcode_entries: Option<Vec<OffloadEntry>>,
}

impl HostObject {
    /// An object of whose sections nothing is known yet.
    pub(super) fn without_sections(name: String, data: Bytes) -> Self {
        Self {
            name,
            data,
            device: Vec::new(),
            registered: Vec::new(),
            has_entries: false,
            entries_in_group: false,
            bitcode_entries: None,
        }
    }

    /// Adds a section of registered images, which is a part of the object.
    pub(super) fn add_registered(&mut self, section: &[u8]) {
        self.registered.push(self.data.slice_ref(section));
    }

    /// Adds a section of device code, which is a part of the object.
    pub(super) fn add_device(&mut self, section: &[u8]) {
        self.device.push(self.data.slice_ref(section));
    }

    /// Whether it holds device code or offload entries.
    pub fn concerns_devices(&self) -> bool {
        self.has_entries || !self.device.is_empty()
    }

    /// The images that it registers by itself. They are none of a link's
    /// business.
    ///
    /// # Errors
    /// [`ScanError::Fatbin`], [`ScanError::HipBundle`] or
    /// [`ScanError::OffloadBinary`] when a section is damaged.
    pub fn registered_images(&self) -> Result<Vec<DeviceInput>, ScanError> {
        let mut images = Vec::new();
        for section in &self.registered {
            images.extend(container(&self.name, section)?);
        }
        Ok(images)
    }

    /// Whether it is a program or a shared library of Linux or Windows, with which no
    /// link goes on.
    pub fn is_linked(&self) -> bool {
        let is_elf = header(&self.data).is_some_and(|header| header.e_type != ET_REL);
        is_elf || self.data.starts_with(b"MZ")
    }

    /// Its offload entries.
    ///
    /// # Errors
    /// [`entry::Error`] when they can't be read.
    pub fn entries(&self) -> Result<Vec<OffloadEntry>, entry::Error> {
        match &self.bitcode_entries {
            Some(entries) => Ok(entries.clone()),
            None => entry::read(&self.data),
        }
    }

    /// The size in bytes of its sections of entries, as far as the linker will
    /// keep them for certain.
    ///
    /// # Errors
    /// [`entry::Error`] when they can't be read.
    pub fn certain_entries_size(&self) -> Result<u64, entry::Error> {
        if self.entries_in_group || self.bitcode_entries.is_some() {
            return Ok(0);
        }
        entry::entries_size(&self.data)
    }

    /// Its device code.
    ///
    /// # Errors
    /// [`ScanError::OffloadBinary`] when a section is damaged.
    pub fn device_inputs(&self) -> Result<Vec<DeviceInput>, ScanError> {
        let mut inputs = Vec::new();
        for section in &self.device {
            inputs.extend(offload_binary(&self.name, section)?);
        }
        Ok(inputs)
    }
}

/// Whether the file is a shared library, or a position-independent program of ELF.
pub fn is_shared_library(data: &[u8]) -> bool {
    mach_o::is_shared_library(data) || header(data).is_some_and(|header| header.e_type == ET_DYN)
}

/// Reads the section headers; `None` if `data` is neither a relocatable object for
/// a 64-bit little-endian host, ELF, COFF or Mach-O, nor bitcode.
///
/// # Errors
/// [`ScanError::Section`] when a section of device code lies outside the file,
/// [`ScanError::HostBitcode`] for bitcode whose device code can't be read,
/// [`ScanError::MacBitcode`] and [`ScanError::Universal`] for what can't be linked.
/// Other damage is left for the host linker to report.
pub fn read(name: String, data: Bytes) -> Result<Option<HostObject>, ScanError> {
    if offlink_llvm::is_bitcode(&data) {
        return bitcode(name, data).map(Some);
    }
    if coff::is_object(&data) {
        return coff::read(name, data);
    }
    if mach_o::is_object(&data) {
        return mach_o::read(name, data);
    }
    mach_o::refuse_universal(&name, &data)?;
    match header(&data) {
        Some(header) if header.e_type == ET_REL => sections_of(name, data, &header).map(Some),
        _ => Ok(None),
    }
}

/// As [`read`], for programs and shared libraries.
///
/// # Errors
/// As [`read`].
pub fn read_linked(name: String, data: Bytes) -> Result<Option<HostObject>, ScanError> {
    if data.starts_with(b"MZ") {
        return Ok(coff::read_linked(name, data));
    }
    if mach_o::is_mach_o(&data) {
        return mach_o::read(name, data);
    }
    match header(&data) {
        Some(header) if header.e_type != ET_REL => sections_of(name, data, &header).map(Some),
        _ => Ok(None),
    }
}

/// Device code and entries of bitcode are variables of known sections.
fn bitcode(name: String, data: Bytes) -> Result<HostObject, ScanError> {
    if mach_o::is_bitcode_with_entries(&data) {
        return Err(ScanError::MacBitcode { origin: name });
    }
    let module = if embeds_device_code(&data) {
        HostModule::read(&data, &entry::SECTIONS.map(|(name, _)| name)).map_err(|source| {
            ScanError::HostBitcode {
                origin: name.clone(),
                source,
            }
        })?
    } else {
        HostModule::default()
    };
    Ok(HostObject {
        name,
        data,
        device: module.device_code.into_iter().map(Bytes::from).collect(),
        registered: Vec::new(),
        has_entries: !module.entries.is_empty(),
        entries_in_group: false,
        bitcode_entries: Some(module.entries.into_iter().map(entry_of).collect()),
    })
}

fn entry_of(entry: HostEntry) -> OffloadEntry {
    let mut sections = entry::SECTIONS.into_iter();
    let kind = sections.find_map(|(name, kind)| kind.filter(|_| name == entry.section));
    let generation = match (kind, entry.version) {
        (None, _) => Generation::Llvm21,
        (Some(_), 0) => Generation::Llvm19,
        (Some(_), _) => Generation::Llvm20,
    };
    // The constants are as wide as the fields of the entry.
    OffloadEntry {
        generation,
        kind: kind.map_or(entry.kind as u16, OffloadKind::number),
        flags: entry.flags as u32,
        size: entry.size,
        data: entry.data,
        name: entry.name,
    }
}

fn sections_of(name: String, data: Bytes, header: &Header) -> Result<HostObject, ScanError> {
    let mut object = HostObject::without_sections(name, data);
    let data = object.data.clone();
    let is_of_interest =
        |names| may_concern(names) || memchr::memmem::find(names, b"fatbin").is_some();
    let Some((sections, names)) =
        sections(header, &data).filter(|(_, names)| is_of_interest(names))
    else {
        return Ok(object);
    };
    for section in &sections {
        let section_name = name_at(names, section.sh_name);
        if section.sh_type == SECTION_TYPE || section_name == SECTION_NAME.as_bytes() {
            let contents = contents(&data, section).ok_or_else(|| ScanError::Section {
                origin: object.name.clone(),
                section: SECTION_NAME,
            })?;
            object.device.push(data.slice_ref(contents));
        } else if REGISTERED_SECTIONS.contains(&section_name) {
            object
                .registered
                .extend(contents(&data, section).map(|found| data.slice_ref(found)));
        } else if is_entries(section_name) {
            object.has_entries = true;
            object.entries_in_group |= section.sh_flags & SHF_GROUP != 0;
        }
    }
    Ok(object)
}

/// Whether a relocatable object has to be read at all: nearly none has, and
/// this looks at nothing but the names of its sections.
pub fn may_concern_devices(data: &[u8]) -> bool {
    if offlink_llvm::is_bitcode(data) {
        return embeds_device_code(data);
    }
    if coff::is_object(data) {
        return may_concern(data);
    }
    if mach_o::is_object(data) {
        return mach_o::may_concern_devices(data);
    }
    header(data)
        .filter(|header| header.e_type == ET_REL)
        .and_then(|header| names(&header, data))
        .is_some_and(may_concern)
}

/// Whether bitcode names a section of device code or entries; names stand in
/// it byte for byte.
fn embeds_device_code(bitcode: &[u8]) -> bool {
    let is_named = |name: &str| memchr::memmem::find(bitcode, name.as_bytes()).is_some();
    is_named(SECTION_NAME)
        || is_named(mach_o::BITCODE_ENTRIES)
        || entry::SECTIONS.iter().any(|(name, _)| is_named(name))
}

/// What the names of all sections of device code and of entries have in common.
fn may_concern(names: &[u8]) -> bool {
    memchr::memmem::find(names, b"offload").is_some()
}

pub(super) fn is_entries(name: &[u8]) -> bool {
    let mut sections = entry::SECTIONS.iter();
    sections.any(|(section, _)| name == section.as_bytes())
}

fn header(data: &[u8]) -> Option<Header> {
    const CLASS_64_LITTLE: &[u8] = &[0x7f, b'E', b'L', b'F', 2, 1];
    data.starts_with(CLASS_64_LITTLE)
        .then(|| Elf::parse_header(data).ok())?
}

const CONTEXT: Ctx = Ctx {
    container: Container::Big,
    le: Endian::Little,
};

/// The section header with this index.
fn section(header: &Header, data: &[u8], index: usize) -> Option<SectionHeader> {
    let table = usize::try_from(header.e_shoff)
        .ok()
        .filter(|offset| *offset != 0)?;
    let offset = index.checked_mul(SIZEOF_SHDR)?.checked_add(table)?;
    SectionHeader::parse(data, offset, 1, CONTEXT).ok()?.pop()
}

/// The names of all sections. More than 65279 sections put their number and
/// the index of this one into the first header (System V ABI, "ELF Header",
/// `e_shnum` and `e_shstrndx`).
fn names<'a>(header: &Header, data: &'a [u8]) -> Option<&'a [u8]> {
    const SHN_XINDEX: u16 = 0xffff;
    let index = match header.e_shstrndx {
        SHN_XINDEX => usize::try_from(section(header, data, 0)?.sh_link).ok()?,
        index => usize::from(index),
    };
    contents(data, &section(header, data, index)?)
}

/// All section headers and the names.
fn sections<'a>(header: &Header, data: &'a [u8]) -> Option<(Vec<SectionHeader>, &'a [u8])> {
    let count = match header.e_shnum {
        0 => usize::try_from(section(header, data, 0)?.sh_size).ok()?,
        count => usize::from(count),
    };
    let table = usize::try_from(header.e_shoff).ok()?;
    // A count that the file has no room for is damage, not a request.
    let room = data.len().checked_sub(table)? / SIZEOF_SHDR;
    let sections = SectionHeader::parse(data, table, count.min(room), CONTEXT).ok()?;
    Some((sections, names(header, data)?))
}

fn contents<'a>(data: &'a [u8], section: &SectionHeader) -> Option<&'a [u8]> {
    if section.sh_type == SHT_NOBITS {
        return Some(&[]);
    }
    let start = usize::try_from(section.sh_offset).ok()?;
    let end = start.checked_add(usize::try_from(section.sh_size).ok()?)?;
    data.get(start..end)
}

/// The name that starts at `at`, up to its NUL; empty if there is none.
fn name_at(names: &[u8], at: usize) -> &[u8] {
    let rest = names.get(at..).unwrap_or_default();
    let end = memchr::memchr(0, rest).unwrap_or(rest.len());
    &rest[..end]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_object_is_passed_over() {
        for data in [&b""[..], b"\x7fELF", &[0; 64], b"!<arch>\n"] {
            assert!(
                read("x".into(), Bytes::from_static(data))
                    .unwrap()
                    .is_none()
            );
        }
    }

    #[test]
    fn names_of_entry_sections() {
        assert!(is_entries(b"llvm_offload_entries"));
        assert!(is_entries(b"omp_offloading_entries"));
        assert!(!is_entries(b".rela.llvm_offload_entries"));
    }
}
