//! Reading fatbins.

use std::borrow::Cow;

use super::{
    ALIGNMENT, Arch, ArchVariant, Compression, ENTRY_HEADER_SIZE, ENTRY_VERSION, Entry,
    FLAG_ARCH_SPECIFIC, FLAG_COMPATIBILITY, FLAG_FAMILY_SPECIFIC, FLAG_LZ4, FLAG_ZSTD, Fatbin,
    HEADER_SIZE, Kind, MAGIC, OPTIONS_HEADER_SIZE, VERSION,
};

/// Why bytes are no sequence of fatbins. Offsets count from the start of the
/// bytes given to [`parse`].
#[derive(Debug, thiserror::Error)]
pub enum ParseError {
    /// A fatbin should start here but does not.
    #[error("no fatbin at offset {offset:#x}: it starts with bytes {found:02x?}")]
    Magic {
        /// Where the fatbin should start.
        offset: usize,
        /// The bytes found, four at most.
        found: Vec<u8>,
    },
    /// A header has a version that this reader does not know.
    #[error("the {part} at offset {offset:#x} has version {version:#x}, which is not supported")]
    Version {
        /// `fatbin`, or `fatbin entry`.
        part: &'static str,
        /// Where it starts.
        offset: usize,
        /// The version it says it has.
        version: u16,
    },
    /// A header states a size less than that of the fields it always has.
    #[error("the {part} at offset {offset:#x} has a header of {size} bytes only")]
    HeaderSize {
        /// `fatbin`, or `fatbin entry`.
        part: &'static str,
        /// Where it starts.
        offset: usize,
        /// The size that it states, in bytes.
        size: u64,
    },
    /// The bytes end before the fatbin or an entry does.
    #[error(
        "the {part} at offset {offset:#x} is truncated: it needs {size} bytes, {available} are left"
    )]
    Truncated {
        /// `fatbin`, or `fatbin entry`.
        part: &'static str,
        /// Where it starts.
        offset: usize,
        /// How many bytes it needs.
        size: u64,
        /// How many bytes there are from its start.
        available: usize,
    },
    /// A part of an entry lies outside of it.
    #[error("the fatbin entry at offset {offset:#x} has its {part} outside of its {limit} bytes")]
    OutOfRange {
        /// Where the entry starts.
        offset: usize,
        /// Which part.
        part: &'static str,
        /// How many bytes there are for such parts.
        limit: usize,
    },
    /// The image is compressed in a manner that this reader does not know.
    #[error(
        "the fatbin entry at offset {offset:#x} is compressed in an unknown manner: its flags are {flags:#x}"
    )]
    UnknownCompression {
        /// Where the entry starts.
        offset: usize,
        /// The flags of the entry.
        flags: u64,
    },
    /// The image can't be inflated to the size that the header gives.
    #[error("the fatbin entry at offset {offset:#x} does not inflate to {size} bytes: {reason}")]
    Inflate {
        /// Where the entry starts.
        offset: usize,
        /// The size that its header gives.
        size: u64,
        /// What went wrong.
        reason: String,
    },
}

/// Reads all fatbins in `data`, which stand back to back, each on a multiple of
/// eight bytes from the start with zeros between, as in the `.nv_fatbin` section
/// of a linked program or an output of `fatbinary`.
///
/// Returns them in file order; images that are not compressed are borrowed from
/// `data`. Empty `data` has none. The address of `data` needs no alignment.
///
/// # Errors
/// [`ParseError`] for the first fatbin that is malformed. An image is inflated
/// to the size that its header gives and no further.
pub fn parse(data: &[u8]) -> Result<Vec<Fatbin<'_>>, ParseError> {
    let mut fatbins = Vec::new();
    let mut offset = 0;
    while let Some(rest) = data.get(offset..).filter(|rest| !rest.is_empty()) {
        // Linkers pad between input sections of a larger alignment.
        let word = &rest[..rest.len().min(ALIGNMENT)];
        if word.iter().all(|byte| *byte == 0) {
            offset += word.len();
            continue;
        }
        let (fatbin, size) = parse_one(rest, offset)?;
        fatbins.push(fatbin);
        // Neither can overflow by more than the padding, at the end of memory.
        offset = (offset + size).saturating_add(ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    }
    Ok(fatbins)
}

/// Reads the fatbin at the start of `rest`; returns its size, too.
fn parse_one(rest: &[u8], offset: usize) -> Result<(Fatbin<'_>, usize), ParseError> {
    let part = "fatbin";
    let truncated = |size| ParseError::Truncated {
        part,
        offset,
        size,
        available: rest.len(),
    };
    if !rest.starts_with(&MAGIC) {
        let found = rest[..rest.len().min(MAGIC.len())].to_vec();
        return Err(ParseError::Magic { offset, found });
    }
    let header: &[u8; HEADER_SIZE] = rest
        .first_chunk()
        .ok_or_else(|| truncated(HEADER_SIZE as u64))?;
    let version = u16_at(header, 4);
    if version != VERSION {
        return Err(ParseError::Version {
            part,
            offset,
            version,
        });
    }
    let header_size = u16_at(header, 6);
    if usize::from(header_size) < HEADER_SIZE {
        let size = header_size.into();
        return Err(ParseError::HeaderSize { part, offset, size });
    }
    let size = u64_at(header, 8).saturating_add(header_size.into());
    let bytes = usize::try_from(size)
        .ok()
        .and_then(|size| rest.get(..size))
        .ok_or_else(|| truncated(size))?;

    let mut entries = Vec::new();
    let mut start = usize::from(header_size);
    while start < bytes.len() {
        let (entry, size) = parse_entry(&bytes[start..], offset + start)?;
        entries.push(entry);
        start += size;
    }
    Ok((Fatbin { offset, entries }, bytes.len()))
}

/// Reads the entry at the start of `rest`; returns its size, too.
fn parse_entry(rest: &[u8], offset: usize) -> Result<(Entry<'_>, usize), ParseError> {
    let part = "fatbin entry";
    let truncated = |size| ParseError::Truncated {
        part,
        offset,
        size,
        available: rest.len(),
    };
    let fields: &[u8; ENTRY_HEADER_SIZE] = rest
        .first_chunk()
        .ok_or_else(|| truncated(ENTRY_HEADER_SIZE as u64))?;
    let version = u16_at(fields, 2);
    if version != ENTRY_VERSION {
        return Err(ParseError::Version {
            part,
            offset,
            version,
        });
    }
    let header_size = u64::from(u32_at(fields, 4));
    if header_size < ENTRY_HEADER_SIZE as u64 {
        let size = header_size;
        return Err(ParseError::HeaderSize { part, offset, size });
    }
    let size = u64_at(fields, 8).saturating_add(header_size);
    let bytes = usize::try_from(size)
        .ok()
        .and_then(|size| rest.get(..size))
        .ok_or_else(|| truncated(size))?;
    // The header is no larger than the whole, of which there are so many bytes.
    let (header, payload) = bytes.split_at(header_size as usize);

    let kind = Kind::from_number(u16_at(fields, 0));
    let flags = u64_at(fields, 40);
    let compression = compression(fields, flags, offset)?;
    let data = match compression {
        Compression::None => Cow::Borrowed(payload),
        _ => inflate(fields, payload, compression, offset)?,
    };
    let string = |part, start: u32, size: u32| {
        string(header, start, size).ok_or(ParseError::OutOfRange {
            offset,
            part,
            limit: header.len(),
        })
    };
    let identifier = match u32_at(fields, 32) {
        0 => None,
        start => Some(string("identifier", start, u32_at(fields, 36))?),
    };
    let options = match u32_at(fields, 20) {
        0 => None,
        start => {
            let place = string("options", start, OPTIONS_HEADER_SIZE as u32)?;
            // The range was just checked to be of this size.
            let place: &[u8; OPTIONS_HEADER_SIZE] = place.first_chunk().unwrap_or(&[0; 8]);
            // The section follows the NUL of options that are empty.
            let before = u32::from(flags & FLAG_COMPATIBILITY != 0);
            let start = u32_at(place, 0).saturating_add(before);
            Some(string("options", start, u32_at(place, 4))?)
        }
    };
    let variant = if flags & FLAG_FAMILY_SPECIFIC != 0 {
        ArchVariant::FamilySpecific
    } else if flags & FLAG_ARCH_SPECIFIC != 0 {
        ArchVariant::ArchSpecific
    } else {
        ArchVariant::Base
    };
    let implied = FLAG_ARCH_SPECIFIC | FLAG_FAMILY_SPECIFIC | FLAG_LZ4 | FLAG_ZSTD;
    let entry = Entry {
        kind,
        arch: Arch {
            number: u32_at(fields, 28),
            variant,
        },
        version: (u16_at(fields, 26), u16_at(fields, 24)),
        flags: flags & !implied,
        identifier: identifier.map(Cow::Borrowed),
        options: options.map(Cow::Borrowed),
        compression,
        data: if kind.is_text() { text(data) } else { data },
    };
    Ok((entry, bytes.len()))
}

fn compression(
    fields: &[u8; ENTRY_HEADER_SIZE],
    flags: u64,
    offset: usize,
) -> Result<Compression, ParseError> {
    let has_inflated_size = u64_at(fields, 56) != 0;
    match (flags & FLAG_LZ4 != 0, flags & FLAG_ZSTD != 0) {
        (true, false) => Ok(Compression::Lz4),
        (false, true) => Ok(Compression::ZSTD),
        (false, false) if !has_inflated_size => Ok(Compression::None),
        _ => Err(ParseError::UnknownCompression { offset, flags }),
    }
}

fn inflate<'a>(
    fields: &[u8; ENTRY_HEADER_SIZE],
    payload: &'a [u8],
    compression: Compression,
    offset: usize,
) -> Result<Cow<'a, [u8]>, ParseError> {
    let size = u64_at(fields, 56);
    let stored = usize::try_from(u32_at(fields, 16))
        .ok()
        .and_then(|size| payload.get(..size))
        .ok_or(ParseError::OutOfRange {
            offset,
            part: "compressed image",
            limit: payload.len(),
        })?;
    compression
        .inflate(stored, size)
        .map_err(|reason| ParseError::Inflate {
            offset,
            size,
            reason,
        })
}

/// The bytes of an identifier or of options, without the NUL behind them.
fn string(header: &[u8], start: u32, size: u32) -> Option<&[u8]> {
    let start = usize::try_from(start).ok()?;
    let end = start.checked_add(usize::try_from(size).ok()?)?;
    header.get(start..end)
}

/// PTX without the NUL that ends it and the padding.
fn text(data: Cow<'_, [u8]>) -> Cow<'_, [u8]> {
    match data {
        Cow::Borrowed(data) => Cow::Borrowed(without_nuls(data)),
        Cow::Owned(mut data) => {
            data.truncate(without_nuls(&data).len());
            Cow::Owned(data)
        }
    }
}

/// `data` without the NULs at its end.
pub(super) fn without_nuls(data: &[u8]) -> &[u8] {
    let end = data.iter().rposition(|byte| *byte != 0);
    &data[..end.map_or(0, |last| last + 1)]
}

/// The integer at `offset`, which has to be that of a field in a header of `N` bytes.
fn u16_at<const N: usize>(header: &[u8; N], offset: usize) -> u16 {
    u16::from_le_bytes([header[offset], header[offset + 1]])
}

fn u32_at<const N: usize>(header: &[u8; N], offset: usize) -> u32 {
    u32::from(u16_at(header, offset)) | u32::from(u16_at(header, offset + 2)) << 16
}

fn u64_at<const N: usize>(header: &[u8; N], offset: usize) -> u64 {
    u64::from(u32_at(header, offset)) | u64::from(u32_at(header, offset + 4)) << 32
}
