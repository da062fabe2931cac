//! Sections of macOS's host objects and programs that concern devices.

use super::ScanError;
use super::archive::{Archive, is_archive};
use super::host_object::HostObject;
use bytes::Bytes;
use object::macho::{LC_LINKER_OPTION, MH_DYLIB, MH_OBJECT};
use object::read::macho::{FatArch, MachOFatFile, MachOFatFile32, MachOFatFile64, MachOFile64};
use object::{LittleEndian, Object, ObjectSection};
use offlink_bundle::host_object::{Format, Platform};
use offlink_bundle::mach_o::{DROPPED_SEGMENT, is_entries};
use offlink_bundle::offload_binary::{MAGIC, SECTION_NAME};
use std::path::Path;

/// Where programs have containers of registered images.
const REGISTERED_SECTIONS: [(&[u8], &[u8]); 3] = [
    (b"__NV_CUDA", b"__nv_fatbin"),
    (b"__HIP", b"__hip_fatbin"),
    (b"__TEXT", b"__llvm_offload"),
];

/// Where clang puts entries into bitcode for macOS.
pub const BITCODE_ENTRIES: &str = "__LLVM,offload_entries";

/// The size of `mach_header_64`, which load commands follow.
const HEADER_SIZE: usize = 32;

/// Whether the file is a relocatable object.
pub fn is_object(data: &[u8]) -> bool {
    has_type(data, MH_OBJECT.0)
}

/// Whether the file is a shared library.
pub fn is_shared_library(data: &[u8]) -> bool {
    has_type(data, MH_DYLIB.0)
}

/// Whether the file is for macOS, of whatever type.
pub fn is_mach_o(data: &[u8]) -> bool {
    Platform::of_file(data).is_some_and(is_macos)
}

fn is_macos(platform: Platform) -> bool {
    platform.format() == Format::MachO
}

fn has_type(data: &[u8], file_type: u32) -> bool {
    is_mach_o(data) && word(data, 12) == Some(file_type)
}

/// Whether the names of an object's sections say that it has to be read.
pub fn may_concern_devices(object: &[u8]) -> bool {
    let size = word(object, 20).and_then(|size| usize::try_from(size).ok());
    let commands = object.get(HEADER_SIZE..).unwrap_or_default();
    let commands = &commands[..commands.len().min(size.unwrap_or_default())];
    [DROPPED_SEGMENT, b"offload"]
        .iter()
        .any(|name| memchr::memmem::find(commands, name).is_some())
}

fn word(data: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_le_bytes(*data.get(at..)?.first_chunk()?))
}

/// Reads the section headers; `None` if they can't be read, which the linker
/// will report. There is no name yet for the section of device code (LLVM 22.1.8
/// stops at `.llvm.offloading`), so what counts is that an offload binary is in the
/// segment that linkers drop.
///
/// # Errors
/// [`ScanError::Section`] when a section of device code lies outside the file.
pub fn read(name: String, data: Bytes) -> Result<Option<HostObject>, ScanError> {
    let contents = data.clone();
    let Ok(file) = MachOFile64::<LittleEndian>::parse(&*contents) else {
        return Ok(None);
    };
    let mut object = HostObject::without_sections(name, data);
    for section in file.sections() {
        let segment = section.segment_name_bytes().ok().flatten();
        let segment = segment.unwrap_or_default();
        let section_name = section.name_bytes().unwrap_or_default();
        if is_entries(segment, section_name) {
            object.has_entries = true;
            // Entries are weak symbols, of which the linker keeps one of many.
            object.entries_in_group = true;
        } else if segment == DROPPED_SEGMENT {
            let contents = section.data().map_err(|_| ScanError::Section {
                origin: object.name.clone(),
                section: SECTION_NAME,
            })?;
            if contents.starts_with(&MAGIC) || section_name == SECTION_NAME.as_bytes() {
                object.add_device(contents);
            }
        } else if REGISTERED_SECTIONS.contains(&(segment, section_name)) {
            object.add_registered(section.data().unwrap_or_default());
        }
    }
    Ok(Some(object))
}

/// Whether bitcode is for macOS and names the section of entries.
pub fn is_bitcode_with_entries(bitcode: &[u8]) -> bool {
    let names_it = memchr::memmem::find(bitcode, BITCODE_ENTRIES.as_bytes()).is_some();
    // The name may also be a string of a compiler's.
    names_it
        && offlink_llvm::Symbols::read_triple(bitcode)
            .is_ok_and(|triple| Platform::from_triple(&triple).is_ok_and(is_macos))
}

/// The libraries that an object asks the linker for by `-l`, as Swift and clang's
/// modules do. What can't be read is left to the linker.
pub fn libraries_asked_for(object: &[u8]) -> Vec<String> {
    let file = MachOFile64::<LittleEndian>::parse(object);
    let Ok(mut commands) = file.and_then(|file| file.macho_load_commands()) else {
        return Vec::new();
    };
    let mut libraries = Vec::new();
    while let Ok(Some(command)) = commands.next() {
        if command.cmd() != LC_LINKER_OPTION {
            continue;
        }
        // Strings, after the header and their number (`linker_option_command`).
        let words = command.raw_data().get(12..).unwrap_or_default();
        let words = words.split(|byte| *byte == 0);
        let names = words.filter_map(|word| word.strip_prefix(b"-l"));
        libraries.extend(names.map(|name| String::from_utf8_lossy(name).into_owned()));
    }
    libraries
}

/// Refuses universal files with device code or entries: which of their parts the
/// linker takes, and where, is not followed.
///
/// # Errors
/// [`ScanError::Universal`] for such a file, others for damage in it.
pub fn refuse_universal(name: &str, data: &Bytes) -> Result<(), ScanError> {
    for part in parts(data) {
        let part = data.slice_ref(part);
        let concerns_devices = if is_archive(&part) {
            Archive::open(Path::new(name), part)?.concerns_devices
        } else {
            is_object(&part) && read(name.into(), part)?.is_some_and(|it| it.concerns_devices())
        };
        if concerns_devices {
            return Err(ScanError::Universal {
                origin: name.into(),
            });
        }
    }
    Ok(())
}

/// The parts of a universal file; none of another.
fn parts(data: &[u8]) -> Vec<&[u8]> {
    fn read<'a, A: FatArch>(
        file: object::Result<MachOFatFile<'a, A>>,
        data: &'a [u8],
    ) -> Vec<&'a [u8]> {
        let arches = file.iter().flat_map(|file| file.arches());
        arches.filter_map(|arch| arch.data(data).ok()).collect()
    }
    // In `mach-o/fat.h`, with offsets of 32 and of 64 bits.
    match data {
        [0xca, 0xfe, 0xba, 0xbe, ..] => read(MachOFatFile32::parse(data), data),
        [0xca, 0xfe, 0xba, 0xbf, ..] => read(MachOFatFile64::parse(data), data),
        _ => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const OBJECT: &[u8] = include_bytes!("../../../crates/bundle/tests/data/entries-arm64.mach");
    const LIBRARY: &[u8] = include_bytes!("../../../crates/bundle/tests/data/linked-13.0.dylib");

    #[test]
    fn entries_are_seen() {
        assert!(is_object(OBJECT) && may_concern_devices(OBJECT));
        assert!(is_shared_library(LIBRARY) && !is_object(LIBRARY));
        for file in [OBJECT, LIBRARY] {
            let object = read("x".into(), file.into()).unwrap().unwrap();
            assert!(object.has_entries && object.device.is_empty());
        }
    }

    #[test]
    fn damage_is_no_panic() {
        let look = |file: Vec<u8>| {
            may_concern_devices(&file);
            libraries_asked_for(&file);
            let _ = read("x".into(), file.into());
        };
        for length in 0..OBJECT.len() {
            look(OBJECT[..length].to_vec());
        }
        for bit in 0..OBJECT.len() * 8 {
            let mut flipped = OBJECT.to_vec();
            flipped[bit / 8] ^= 1 << (bit % 8);
            look(flipped);
        }
    }
}
