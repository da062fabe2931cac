//! Sections of an ELF host object that concern devices.

use super::{ScanError, offload_binary};
use crate::device_input::DeviceInput;
use bytes::Bytes;
use goblin::container::{Container, Ctx, Endian};
use goblin::elf::Elf;
use goblin::elf::header::{ET_DYN, ET_REL, Header};
use goblin::elf::section_header::{SHT_NOBITS, SectionHeader};
use offlink_bundle::offload_binary::{SECTION_NAME, SECTION_TYPE};

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
    device: Vec<Bytes>,
    /// It is a program or shared library rather than a relocatable object.
    pub is_linked: bool,
    /// It has a section of offload entries.
    pub has_entries: bool,
    /// Its entries lie in a section group, so the linker may keep another's.
    pub entries_in_group: bool,
}

impl HostObject {
    /// Whether it holds device code or offload entries.
    pub fn concerns_devices(&self) -> bool {
        self.has_entries || !self.device.is_empty()
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

/// Whether the file is an ELF shared library or position-independent program.
pub fn is_shared_library(data: &[u8]) -> bool {
    header(data).is_some_and(|header| header.e_type == ET_DYN)
}

/// Reads the section headers; `None` if `data` is no relocatable ELF object
/// for a 64-bit little-endian host. Names of entry sections before LLVM 21
/// count as entries, so that such objects are not passed over.
///
/// # Errors
/// [`ScanError::Section`] when a section of device code lies outside the file.
/// Other damage is left for the host linker to report.
pub fn read(name: String, data: Bytes) -> Result<Option<HostObject>, ScanError> {
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
    match header(&data) {
        Some(header) if header.e_type != ET_REL => sections_of(name, data, &header).map(Some),
        _ => Ok(None),
    }
}

fn sections_of(name: String, data: Bytes, header: &Header) -> Result<HostObject, ScanError> {
    let mut object = HostObject {
        name,
        data,
        device: Vec::new(),
        is_linked: header.e_type != ET_REL,
        has_entries: false,
        entries_in_group: false,
    };
    let Some((sections, names)) = sections(header, &object.data) else {
        return Ok(object);
    };
    let data = object.data.clone();
    for section in &sections {
        let section_name = name_at(&data, &names, section.sh_name);
        if section.sh_type == SECTION_TYPE || section_name == SECTION_NAME.as_bytes() {
            let contents = contents(&data, section).ok_or_else(|| ScanError::Section {
                origin: object.name.clone(),
                section: SECTION_NAME,
            })?;
            object.device.push(data.slice_ref(contents));
        } else if is_entries(section_name) {
            object.has_entries = true;
            object.entries_in_group |= section.sh_flags & SHF_GROUP != 0;
        }
    }
    Ok(object)
}

fn is_entries(name: &[u8]) -> bool {
    // Cheaper than comparing with each: nearly all sections fail here.
    name.ends_with(b"offload_entries") && name == b"llvm_offload_entries"
        || name.ends_with(b"_offloading_entries")
}

fn header(data: &[u8]) -> Option<Header> {
    const CLASS_64_LITTLE: &[u8] = &[0x7f, b'E', b'L', b'F', 2, 1];
    data.starts_with(CLASS_64_LITTLE)
        .then(|| Elf::parse_header(data).ok())?
}

/// All section headers and the one of the section of names. More than 65279
/// sections put their number and that index into the first header (System V
/// ABI, "ELF Header", `e_shnum` and `e_shstrndx`).
fn sections(header: &Header, data: &[u8]) -> Option<(Vec<SectionHeader>, SectionHeader)> {
    const SHN_XINDEX: u16 = 0xffff;
    let context = Ctx::new(Container::Big, Endian::Little);
    let offset = usize::try_from(header.e_shoff)
        .ok()
        .filter(|offset| *offset != 0)?;
    let read = |count| SectionHeader::parse(data, offset, count, context).ok();
    let mut sections = match header.e_shnum {
        0 => {
            let first = read(1)?;
            let count = usize::try_from(first.first()?.sh_size).ok()?;
            // A count that the file has no room for is damage, not a request.
            let room = data.len().checked_sub(offset)? / 64;
            read(count.min(room))?
        }
        count => read(usize::from(count))?,
    };
    let names = match header.e_shstrndx {
        SHN_XINDEX => usize::try_from(sections.first()?.sh_link).ok()?,
        index => usize::from(index),
    };
    let names = sections.get(names)?.clone();
    sections.retain(|section| section.sh_size != 0);
    Some((sections, names))
}

fn contents<'a>(data: &'a [u8], section: &SectionHeader) -> Option<&'a [u8]> {
    if section.sh_type == SHT_NOBITS {
        return Some(&[]);
    }
    let start = usize::try_from(section.sh_offset).ok()?;
    let end = start.checked_add(usize::try_from(section.sh_size).ok()?)?;
    data.get(start..end)
}

/// The name, up to its NUL; empty if it lies outside of the file.
fn name_at<'a>(data: &'a [u8], names: &SectionHeader, at: usize) -> &'a [u8] {
    let rest = contents(data, names)
        .and_then(|names| names.get(at..))
        .unwrap_or_default();
    let end = rest
        .iter()
        .position(|byte| *byte == 0)
        .unwrap_or(rest.len());
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
