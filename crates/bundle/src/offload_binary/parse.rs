//! Reading offload binaries of versions 1 to 3.

use std::borrow::Cow;
use std::ops::Range;

use super::compression::inflate;
use super::{
    ENTRY_SIZE, HEADER_SIZE, HEADER_SIZE_V3, Image, ImageKind, MAGIC, OffloadKind,
    STRING_ELEMENT_SIZE, STRING_ELEMENT_SIZE_V1, align,
};

/// How many bytes of keys and values one binary may name. Strings may share
/// bytes, so that a small file could name far more than it holds.
const STRING_BYTES_LIMIT: usize = 64 << 20;

/// Why bytes are no sequence of offload binaries. Offsets count from the start
/// of the bytes given to [`parse`].
#[derive(Debug, thiserror::Error)]
pub enum ParseError {
    /// A binary should start here but does not.
    #[error("no offload binary at offset {offset:#x}: it starts with bytes {found:02x?}")]
    Magic {
        /// Where the binary should start.
        offset: usize,
        /// The bytes found, four at most.
        found: Vec<u8>,
    },
    /// The binary has a version that this reader does not know.
    #[error("the offload binary at offset {offset:#x} has version {version}; 1 to 3 are supported")]
    Version {
        /// Where the binary starts.
        offset: usize,
        /// The version it says it has.
        version: u32,
    },
    /// The bytes end before the binary does.
    #[error(
        "the offload binary at offset {offset:#x} is truncated: it needs {size} bytes, {available} are left"
    )]
    Truncated {
        /// Where the binary starts.
        offset: usize,
        /// How many bytes it needs.
        size: u64,
        /// How many bytes there are from its start.
        available: usize,
    },
    /// A part of the binary lies outside of it.
    #[error(
        "the offload binary at offset {offset:#x} has its {part} at {start:#x} with {size} bytes, beyond its {limit} bytes"
    )]
    OutOfRange {
        /// Where the binary starts.
        offset: usize,
        /// Which part: the entries, a string map, a string or an image.
        part: &'static str,
        /// Where the part starts, counted from the binary's own start.
        start: u64,
        /// The size of the part in bytes.
        size: u64,
        /// The size of the binary in bytes.
        limit: usize,
    },
    /// Parts of the binary that may not share bytes do.
    #[error("the offload binary at offset {offset:#x} has overlapping {part}")]
    Overlap {
        /// Where the binary starts.
        offset: usize,
        /// Which parts.
        part: &'static str,
    },
    /// A string has no end or is not in UTF-8 although a key has to be.
    #[error("the offload binary at offset {offset:#x} has a bad string at {start:#x}: {reason}")]
    String {
        /// Where the binary starts.
        offset: usize,
        /// Where the string starts, counted from the binary's own start.
        start: u64,
        /// What is wrong with it.
        reason: &'static str,
    },
    /// The compressed body can't be inflated to the size that the header gives.
    #[error(
        "the compressed offload binary at offset {offset:#x} does not inflate to {size} bytes: {reason}"
    )]
    Inflate {
        /// Where the binary starts.
        offset: usize,
        /// The size that its header gives.
        size: u64,
        /// What went wrong.
        reason: String,
    },
}

/// Reads all offload binaries in `data`, which stand back to back, each on a
/// multiple of eight bytes from the start with zeros between, as in a section
/// that a linker put together or an output of llvm-offload-binary.
///
/// Returns their images in file order, those of versions 1 and 2 borrowed from
/// `data`. Empty `data` has none. The address of `data` needs no alignment.
///
/// # Errors
/// [`ParseError`] for the first binary that is not as LLVM's reader (main,
/// autumn 2026) demands. A compressed body is inflated to the size that its
/// header gives and no further.
pub fn parse(data: &[u8]) -> Result<Vec<Image<'_>>, ParseError> {
    let mut images = Vec::new();
    let mut offset = 0;
    while let Some(rest) = data.get(offset..).filter(|rest| !rest.is_empty()) {
        // Linkers pad between input sections of a larger alignment.
        if let Some(zeros) = rest
            .get(..8)
            .or(Some(rest))
            .filter(|word| word.iter().all(|byte| *byte == 0))
        {
            offset += zeros.len();
            continue;
        }
        let size = parse_one(rest, offset, &mut images)?;
        let Some(next) = offset.checked_add(size).and_then(align) else {
            break;
        };
        offset = next;
    }
    Ok(images)
}

/// Reads the binary at the start of `rest`; returns its size.
fn parse_one<'a>(
    rest: &'a [u8],
    offset: usize,
    images: &mut Vec<Image<'a>>,
) -> Result<usize, ParseError> {
    if !rest.starts_with(&MAGIC) {
        let found = rest[..rest.len().min(MAGIC.len())].to_vec();
        return Err(ParseError::Magic { offset, found });
    }
    let truncated = |size: u64| ParseError::Truncated {
        offset,
        size,
        available: rest.len(),
    };
    if rest.len() < HEADER_SIZE {
        return Err(truncated(HEADER_SIZE as u64));
    }
    let version = u32_at(rest, 4).unwrap_or_default();
    let header_size = match version {
        1 | 2 => HEADER_SIZE,
        3 => HEADER_SIZE_V3,
        _ => return Err(ParseError::Version { offset, version }),
    };
    let size = u64_at(rest, 8).unwrap_or_default();
    let whole = usize::try_from(size).ok().and_then(|size| rest.get(..size));
    let Some(bytes) = whole.filter(|bytes| bytes.len() >= header_size) else {
        return Err(truncated(size.max(header_size as u64)));
    };
    let entries = Entries {
        start: u64_at(bytes, 16).unwrap_or_default(),
        count: if version == 1 {
            1
        } else {
            u64_at(bytes, 24).unwrap_or_default()
        },
        version,
    };
    let inflated_size = if version == 3 {
        u64_at(bytes, 32).unwrap_or_default()
    } else {
        0
    };
    let binary = if inflated_size == 0 {
        Binary {
            offset,
            bytes: Cow::Borrowed(bytes),
        }
    } else {
        let body = inflate_binary(bytes, offset, entries.start, inflated_size)?;
        Binary {
            offset,
            bytes: Cow::Owned(body),
        }
    };
    binary.images(&entries, images)?;
    Ok(bytes.len())
}

/// The binary as it was before it was compressed. All of it from the entries
/// on is one stream; what is before is stored as it is.
fn inflate_binary(
    bytes: &[u8],
    offset: usize,
    start: u64,
    size: u64,
) -> Result<Vec<u8>, ParseError> {
    let out_of_range = || ParseError::OutOfRange {
        offset,
        part: "compressed body",
        start,
        size: (bytes.len() as u64).saturating_sub(start),
        limit: bytes.len(),
    };
    let start = usize::try_from(start).map_err(|_| out_of_range())?;
    let (header, stream) = bytes.split_at_checked(start).ok_or_else(out_of_range)?;
    let body_size = size.checked_sub(start as u64).ok_or_else(out_of_range)?;
    let failed = |reason: String| ParseError::Inflate {
        offset,
        size,
        reason,
    };

    let mut body = header.to_vec();
    inflate(stream, body_size, &mut body).map_err(|error| failed(error.to_string()))?;
    if body.len() as u64 != size {
        let order = if body.len() as u64 > size {
            "larger"
        } else {
            "smaller"
        };
        return Err(failed(format!("the stream is {order}")));
    }
    Ok(body)
}

struct Entries {
    start: u64,
    count: u64,
    version: u32,
}

/// One binary, uncompressed.
struct Binary<'a> {
    offset: usize,
    bytes: Cow<'a, [u8]>,
}

impl<'a> Binary<'a> {
    fn images(&self, entries: &Entries, images: &mut Vec<Image<'a>>) -> Result<(), ParseError> {
        let element_size = if entries.version == 1 {
            STRING_ELEMENT_SIZE_V1
        } else {
            STRING_ELEMENT_SIZE
        };
        let table = self.range("entries", entries.start, entries.count, ENTRY_SIZE)?;
        let mut map_bytes = 0_usize;
        let mut image_bytes = 0_usize;
        let mut string_bytes = 0_usize;
        for entry in self.bytes[table].chunks_exact(ENTRY_SIZE) {
            let map = self.range(
                "string map",
                u64_at(entry, 8).unwrap_or_default(),
                u64_at(entry, 16).unwrap_or_default(),
                element_size,
            )?;
            let data = self.range(
                "image",
                u64_at(entry, 24).unwrap_or_default(),
                u64_at(entry, 32).unwrap_or_default(),
                1,
            )?;
            // Shared maps or images would let a small file unfold into a huge result.
            map_bytes = map_bytes.saturating_add(map.len());
            image_bytes = image_bytes.saturating_add(data.len());
            for (part, sum) in [("string maps", map_bytes), ("images", image_bytes)] {
                if sum > self.bytes.len() {
                    return Err(ParseError::Overlap {
                        offset: self.offset,
                        part,
                    });
                }
            }
            let strings = self.strings(map, element_size, &mut string_bytes)?;
            images.push(Image {
                image_kind: ImageKind::from_number(u16_at(entry, 0).unwrap_or_default()),
                offload_kind: OffloadKind::from_number(u16_at(entry, 2).unwrap_or_default()),
                flags: u32_at(entry, 4).unwrap_or_default(),
                strings,
                data: match &self.bytes {
                    Cow::Borrowed(bytes) => Cow::Borrowed(&bytes[data]),
                    Cow::Owned(bytes) => Cow::Owned(bytes[data].to_vec()),
                },
            });
        }
        Ok(())
    }

    fn strings(
        &self,
        map: Range<usize>,
        element_size: usize,
        string_bytes: &mut usize,
    ) -> Result<Vec<(String, Vec<u8>)>, ParseError> {
        let mut strings = Vec::new();
        for element in self.bytes[map].chunks_exact(element_size) {
            let key_start = u64_at(element, 0).unwrap_or_default();
            let value_start = u64_at(element, 8).unwrap_or_default();
            let key = self.terminated(key_start)?;
            let value = match u64_at(element, 16) {
                Some(size) => &self.bytes[self.range("string", value_start, size, 1)?],
                None => self.terminated(value_start)?,
            };
            *string_bytes = string_bytes
                .saturating_add(key.len())
                .saturating_add(value.len());
            if *string_bytes > STRING_BYTES_LIMIT {
                return Err(
                    self.bad_string(key_start, "the strings up to here name more than 64 MiB")
                );
            }
            let key = std::str::from_utf8(key)
                .map_err(|_| self.bad_string(key_start, "a key has to be UTF-8"))?;
            strings.push((key.to_owned(), value.to_vec()));
        }
        Ok(strings)
    }

    fn terminated(&self, start: u64) -> Result<&[u8], ParseError> {
        let range = self.range("string", start, 0, 1)?;
        let rest = &self.bytes[range.start..];
        let length = rest.iter().position(|byte| *byte == 0);
        length
            .map(|length| &rest[..length])
            .ok_or_else(|| self.bad_string(start, "no NUL ends it"))
    }

    fn bad_string(&self, start: u64, reason: &'static str) -> ParseError {
        ParseError::String {
            offset: self.offset,
            start,
            reason,
        }
    }

    /// The range of `count` elements of `element_size` bytes at `start`, checked.
    fn range(
        &self,
        part: &'static str,
        start: u64,
        count: u64,
        element_size: usize,
    ) -> Result<Range<usize>, ParseError> {
        let size = count.saturating_mul(element_size as u64);
        let end = start
            .checked_add(size)
            .and_then(|end| usize::try_from(end).ok());
        match (usize::try_from(start), end) {
            (Ok(first), Some(end)) if end <= self.bytes.len() => Ok(first..end),
            _ => Err(ParseError::OutOfRange {
                offset: self.offset,
                part,
                start,
                size,
                limit: self.bytes.len(),
            }),
        }
    }
}

fn u16_at(bytes: &[u8], offset: usize) -> Option<u16> {
    let field = bytes.get(offset..)?.first_chunk()?;
    Some(u16::from_le_bytes(*field))
}

fn u32_at(bytes: &[u8], offset: usize) -> Option<u32> {
    let field = bytes.get(offset..)?.first_chunk()?;
    Some(u32::from_le_bytes(*field))
}

fn u64_at(bytes: &[u8], offset: usize) -> Option<u64> {
    let field = bytes.get(offset..)?.first_chunk()?;
    Some(u64::from_le_bytes(*field))
}
