//! Sections of COFF host objects, and of PE files, that concern devices.

use super::ScanError;
use super::host_object::{HostObject, is_entries};
use bytes::Bytes;
use object::read::coff::{CoffBigFile, CoffFile};
use object::read::pe::PeFile64;
use object::{Object, ObjectSection, SectionFlags, pe};
use offlink_bundle::host_object::{Format, Platform, is_big_coff_object};
use offlink_bundle::offload_binary::SECTION_NAME;

/// Whether the file starts as a COFF object does.
pub fn is_object(data: &[u8]) -> bool {
    Platform::of_file(data).is_some_and(|platform| platform.format() == Format::Coff)
}

/// Reads the section headers; `None` if they can't be read, which the linker
/// will report.
///
/// # Errors
/// [`ScanError::Section`] when a section of device code lies outside the file.
pub fn read(name: String, data: Bytes) -> Result<Option<HostObject>, ScanError> {
    let contents = data.clone();
    if is_big_coff_object(&contents) {
        let object = CoffBigFile::<&[u8]>::parse(&*contents).ok();
        return object.map(|it| sections_of(&it, name, data)).transpose();
    }
    let object = CoffFile::<&[u8]>::parse(&*contents).ok();
    object.map(|it| sections_of(&it, name, data)).transpose()
}

fn sections_of<'a>(
    file: &impl Object<'a>,
    name: String,
    data: Bytes,
) -> Result<HostObject, ScanError> {
    let mut object = HostObject::without_sections(name, data);
    for section in file.sections() {
        let section_name = section.name_bytes().unwrap_or_default();
        if section_name.starts_with(SECTION_NAME.as_bytes()) {
            let contents = section.data().map_err(|_| ScanError::Section {
                origin: object.name.clone(),
                section: SECTION_NAME,
            })?;
            object.add_device(contents);
        } else if section_name
            .split(|byte| *byte == b'$')
            .next()
            .is_some_and(is_entries)
        {
            // Linkers sort by what follows the dollar sign.
            object.has_entries = true;
            object.entries_in_group |= is_comdat(section.flags());
        }
    }
    Ok(object)
}

/// Reads the sections of a PE program or library, as [`read`] does. Images of
/// OpenMP are not found in it: lld-link 22.1.8 puts them and the names of entries
/// into one section.
pub fn read_linked(name: String, data: Bytes) -> Option<HostObject> {
    let contents = data.clone();
    let program = PeFile64::<&[u8]>::parse(&*contents).ok()?;
    let mut object = HostObject::without_sections(name, data);
    for section in program.sections() {
        match section.name_bytes() {
            Ok(b".nv_fatb" | b".hip_fat") => {
                let data = section.data().unwrap_or_default();
                let size = usize::try_from(section.size()).unwrap_or(data.len());
                object.add_registered(&data[..size.min(data.len())]);
            }
            Ok(b"llvm_off") => object.has_entries = true,
            _ => {}
        }
    }
    Some(object)
}

/// Of such sections the linker keeps one of many.
fn is_comdat(flags: SectionFlags) -> bool {
    let SectionFlags::Coff { characteristics } = flags else {
        return false;
    };
    characteristics.0 & pe::IMAGE_SCN_LNK_COMDAT.0 != 0
}

#[cfg(test)]
mod tests {
    use super::*;

    const OBJECT: &[u8] = include_bytes!("../../../crates/bundle/tests/data/entries.obj");
    const LIBRARY: &[u8] = include_bytes!("../../../crates/bundle/tests/data/linked.dll");

    #[test]
    fn entries_are_seen() {
        assert!(is_object(OBJECT) && !is_object(LIBRARY));
        let object = read("x".into(), OBJECT.into()).unwrap().unwrap();
        assert!(object.has_entries && !object.entries_in_group);
        let library = read_linked("x".into(), LIBRARY.into()).unwrap();
        assert!(library.has_entries);
    }

    #[test]
    fn damage_is_no_panic() {
        for file in [OBJECT, LIBRARY] {
            for length in 0..file.len() {
                let _ = read("x".into(), Bytes::copy_from_slice(&file[..length]));
                read_linked("x".into(), Bytes::copy_from_slice(&file[..length]));
            }
            for bit in 0..file.len() * 8 {
                let mut flipped = file.to_vec();
                flipped[bit / 8] ^= 1 << (bit % 8);
                let _ = read("x".into(), flipped.clone().into());
                read_linked("x".into(), flipped.into());
            }
        }
    }
}
