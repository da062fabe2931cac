//! A string table in which a string that ends another shares its bytes.
//!
//! The order of LLVM's ELF string tables is kept, so that version 1 binaries
//! come out byte for byte as llvm-offload-binary 22 writes them.

use std::cmp::Ordering;
use std::collections::HashMap;

/// NUL-terminated strings and where each starts.
pub(super) struct StringTable<'a> {
    bytes: Vec<u8>,
    offsets: HashMap<&'a [u8], usize>,
}

impl<'a> StringTable<'a> {
    /// Lays `strings` out; the first byte is a NUL, which is also the empty string.
    pub(super) fn new(strings: impl Iterator<Item = &'a [u8]>) -> Self {
        let mut sorted: Vec<&[u8]> = strings.filter(|string| !string.is_empty()).collect();
        sorted.sort_unstable_by(|a, b| from_the_end(b, a));
        sorted.dedup();

        let mut table = StringTable {
            bytes: vec![0],
            offsets: HashMap::from([(&[][..], 0)]),
        };
        // Descending by reversed string, a string comes after all that it ends.
        let mut previous: &[u8] = &[];
        for string in sorted {
            let offset = if previous.ends_with(string) {
                table.bytes.len() - 1 - string.len()
            } else {
                table.bytes.extend_from_slice(string);
                table.bytes.push(0);
                previous = string;
                table.bytes.len() - 1 - string.len()
            };
            table.offsets.insert(string, offset);
        }
        table
    }

    /// Where `string` starts; zero, the empty string, for one that was not given.
    pub(super) fn offset(&self, string: &[u8]) -> usize {
        self.offsets.get(string).copied().unwrap_or_default()
    }

    pub(super) fn bytes(&self) -> &[u8] {
        &self.bytes
    }
}

fn from_the_end(a: &[u8], b: &[u8]) -> Ordering {
    a.iter().rev().cmp(b.iter().rev())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_suffix_shares_the_bytes_of_the_longer_string() {
        let strings: [&[u8]; 4] = [b"arch", b"march", b"", b"triple"];
        let table = StringTable::new(strings.into_iter());
        assert_eq!(table.bytes(), b"\0march\0triple\0");
        assert_eq!(table.offset(b"march"), 1);
        assert_eq!(table.offset(b"arch"), 2);
        assert_eq!(table.offset(b"triple"), 7);
        assert_eq!(table.offset(b""), 0);
    }
}
