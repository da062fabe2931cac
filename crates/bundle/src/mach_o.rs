//! Where Mach-O files, those of macOS, have their offload entries.
//!
//! LLVM's main branch puts them into section `offload_entries` of segment
//! `__LLVM` (`getOffloadEntrySection` of its Frontend/Offloading, autumn 2026).
//! Linkers leave out that segment's contents (ld64.lld 22.1.8, also when
//! `-rename_section` names it), so that objects have to be changed before they are
//! linked.

use object::macho::{MachHeader64, S_ATTR_NO_DEAD_STRIP, SectionFlags};
use object::read::macho::{MachHeader, Section, Segment};
use object::{LittleEndian, U32};

/// The section of the entries, in either segment.
const SECTION: &[u8] = b"offload_entries";

/// The segment that compilers put entries into, and that linkers drop.
pub const DROPPED_SEGMENT: &[u8] = b"__LLVM";

/// The segment of entries in programs, and in objects once they are changed. The
/// entries are pointers, so that the loader writes to them.
const LINKED_SEGMENT: &[u8] = b"__DATA";

/// Whether a section, by the names of its segment and of itself, holds entries.
pub fn is_entries(segment: &[u8], section: &[u8]) -> bool {
    section == SECTION && [DROPPED_SEGMENT, LINKED_SEGMENT].contains(&segment)
}

/// Changes a relocatable object so that linkers keep its entries, also with
/// `-dead_strip`: their section moves to segment `__DATA`. Its size and all other
/// bytes stay as they are. Returns whether it has entries.
///
/// # Errors
/// [`object::read::Error`] when it is no 64-bit little-endian Mach-O file, or a
/// broken one.
pub fn keep_entries(object: &mut [u8]) -> object::read::Result<bool> {
    let headers = entry_headers(object)?;
    for header in &headers {
        let segment = &mut object[header.segment_name..][..16];
        segment.fill(0);
        segment[..LINKED_SEGMENT.len()].copy_from_slice(LINKED_SEGMENT);
        let flags = U32::new(LittleEndian, (header.flags | S_ATTR_NO_DEAD_STRIP).0);
        object[header.flags_at..][..4].copy_from_slice(object::bytes_of(&flags));
    }
    Ok(!headers.is_empty())
}

/// A section header with entries, as far as it is changed.
struct EntryHeader {
    /// The offset of the segment's name in the file.
    segment_name: usize,
    flags: SectionFlags,
    /// Their offset in the file.
    flags_at: usize,
}

fn entry_headers(object: &[u8]) -> object::read::Result<Vec<EntryHeader>> {
    let start = object.as_ptr().addr();
    let offset = |address: usize| address.wrapping_sub(start);
    let header = MachHeader64::<LittleEndian>::parse(object, 0)?;
    let mut found = Vec::new();
    let mut commands = header.load_commands(LittleEndian, object, 0)?;
    while let Some(command) = commands.next()? {
        let Some((segment, data)) = command.segment_64()? else {
            continue;
        };
        for section in segment.sections(LittleEndian, data)? {
            if is_entries(section.segment_name(), section.name()) {
                found.push(EntryHeader {
                    segment_name: offset(section.segname.as_ptr().addr()),
                    flags: section.flags.get(LittleEndian),
                    flags_at: offset(std::ptr::from_ref(&section.flags).addr()),
                });
            }
        }
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::entry;

    const OBJECT: &[u8] = include_bytes!("../tests/data/entries-arm64.mach");

    #[test]
    fn only_the_section_header_changes() {
        let mut object = OBJECT.to_vec();
        assert!(keep_entries(&mut object).unwrap());
        assert_eq!(entry::read(&object).unwrap(), entry::read(OBJECT).unwrap());
        let changed = object.iter().zip(OBJECT).filter(|(now, was)| now != was);
        // "__DATA" for "__LLVM", and the byte of the flag.
        assert_eq!(changed.count(), 4 + 1);
        let again = object.clone();
        assert!(keep_entries(&mut object).unwrap());
        assert_eq!(object, again);
    }

    #[test]
    fn damage_is_no_panic() {
        for length in 0..OBJECT.len() {
            let _ = keep_entries(&mut OBJECT[..length].to_vec());
        }
        for bit in 0..OBJECT.len() * 8 {
            let mut flipped = OBJECT.to_vec();
            flipped[bit / 8] ^= 1 << (bit % 8);
            let _ = keep_entries(&mut flipped);
        }
    }
}
