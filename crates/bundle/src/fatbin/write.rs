//! Writing fatbins. Images that are not compressed go from where they lie to
//! the sink.

use std::borrow::Cow;
use std::io::{self, Write};

use super::{
    ALIGNMENT, ArchVariant, Compression, ENTRY_HEADER_SIZE, ENTRY_VERSION, Entry,
    FLAG_ARCH_SPECIFIC, FLAG_COMPATIBILITY, FLAG_FAMILY_SPECIFIC, FLAG_LZ4, FLAG_ZSTD, HEADER_SIZE,
    MAGIC, OPTIONS_HEADER_SIZE, VERSION,
};

/// Why entries could not be written as a fatbin.
#[derive(Debug, thiserror::Error)]
pub enum WriteError {
    /// Something is too long for the field that holds its size.
    #[error("the {part} of entry {index} is too large for a fatbin")]
    TooLarge {
        /// Which entry, from 0.
        index: usize,
        /// Which part of it.
        part: &'static str,
    },
    /// The sink or the compressor failed.
    #[error("cannot write the fatbin: {0}")]
    Io(#[from] io::Error),
}

/// Writes one fatbin with these `entries`, in their order, to `out`. Its size is
/// a multiple of [`ALIGNMENT`].
///
/// Byte for byte what `fatbinary` 13.0.88 writes, LZ4 aside, for which there are
/// many ways to compress an image. Images are written from where they lie; only compressed ones are
/// held in memory, as their sizes come before them.
///
/// # Errors
/// [`WriteError`]; parts may have been written by then, but only for
/// [`WriteError::Io`].
pub fn write(entries: &[Entry<'_>], out: &mut impl Write) -> Result<(), WriteError> {
    let encoded: Vec<_> = entries
        .iter()
        .enumerate()
        .map(|(index, entry)| Encoded::new(index, entry))
        .collect::<Result<_, _>>()?;
    let size = encoded
        .iter()
        .enumerate()
        .try_fold(0_u64, |sum, (index, entry)| {
            let size = entry.payload_size.checked_add(entry.header.len() as u64);
            let part = "image";
            size.and_then(|size| sum.checked_add(size))
                .ok_or(WriteError::TooLarge { index, part })
        })?;

    let mut header = Vec::with_capacity(HEADER_SIZE);
    header.extend(MAGIC);
    header.extend(VERSION.to_le_bytes());
    header.extend((HEADER_SIZE as u16).to_le_bytes());
    header.extend(size.to_le_bytes());
    out.write_all(&header)?;
    for entry in &encoded {
        const ZEROS: &[u8] = &[0; ALIGNMENT];
        out.write_all(&entry.header)?;
        out.write_all(&entry.stored)?;
        // A whole alignment at most, and that only where a NUL ends the image.
        let padding = entry.payload_size - entry.stored.len() as u64;
        out.write_all(&ZEROS[..padding as usize])?;
    }
    Ok(())
}

/// An entry as the pieces that make it up.
struct Encoded<'a> {
    /// The entry header with identifier and options.
    header: Vec<u8>,
    stored: Cow<'a, [u8]>,
    /// The size of what is stored with the padding behind it, in bytes.
    payload_size: u64,
}

impl<'a> Encoded<'a> {
    fn new(index: usize, entry: &'a Entry<'_>) -> Result<Self, WriteError> {
        let too_large = |part| WriteError::TooLarge { index, part };
        let small = |part, size: usize| u32::try_from(size).map_err(|_| too_large(part));

        let payload = Payload::new(entry)?;
        let payload_size = payload
            .size
            .checked_next_multiple_of(ALIGNMENT as u64)
            .ok_or_else(|| too_large("image"))?;
        let (compressed_size, inflated_size) = match payload.inflated_size {
            Some(inflated) => (small("compressed image", payload.stored.len())?, inflated),
            None => (0, 0),
        };

        let mut strings = Vec::new();
        let identifier = entry.identifier.as_deref();
        let (name_start, name_size) = match identifier {
            Some(name) => {
                push_string(&mut strings, name);
                (ENTRY_HEADER_SIZE, name.len())
            }
            None => (0, 0),
        };
        let options_start = match entry.options.as_deref() {
            Some(options) => {
                let start = ENTRY_HEADER_SIZE + strings.len();
                strings.extend(small("identifier", start + OPTIONS_HEADER_SIZE)?.to_le_bytes());
                strings.extend(small("options", options.len())?.to_le_bytes());
                if entry.flags & FLAG_COMPATIBILITY != 0 {
                    // The options for ptxas, of which cubins have none.
                    strings.push(0);
                }
                push_string(&mut strings, options);
                start
            }
            None => 0,
        };
        let header_size = small("options", ENTRY_HEADER_SIZE + strings.len())?;

        let mut header = Vec::with_capacity(ENTRY_HEADER_SIZE + strings.len());
        header.extend(entry.kind.number().to_le_bytes());
        header.extend(ENTRY_VERSION.to_le_bytes());
        header.extend(header_size.to_le_bytes());
        header.extend(payload_size.to_le_bytes());
        header.extend(compressed_size.to_le_bytes());
        header.extend(small("identifier", options_start)?.to_le_bytes());
        header.extend(entry.version.1.to_le_bytes());
        header.extend(entry.version.0.to_le_bytes());
        header.extend(entry.arch.number.to_le_bytes());
        header.extend(small("identifier", name_start)?.to_le_bytes());
        header.extend(small("identifier", name_size)?.to_le_bytes());
        header.extend(flags(entry).to_le_bytes());
        header.extend(0_u64.to_le_bytes());
        header.extend(inflated_size.to_le_bytes());
        header.extend(strings);
        Ok(Encoded {
            header,
            stored: payload.stored,
            payload_size,
        })
    }
}

/// The image as it goes into the container, before it is padded.
struct Payload<'a> {
    /// Its bytes without the NUL that ends PTX that is not compressed.
    stored: Cow<'a, [u8]>,
    /// The size of the bytes with that NUL.
    size: u64,
    /// The size before compression; `None` without.
    inflated_size: Option<u64>,
}

impl<'a> Payload<'a> {
    fn new(entry: &'a Entry<'_>) -> io::Result<Self> {
        let data = entry.data.as_ref();
        let nul = u64::from(entry.kind.is_text());
        if entry.compression == Compression::None {
            return Ok(Payload {
                stored: Cow::Borrowed(data),
                size: data.len() as u64 + nul,
                inflated_size: None,
            });
        }
        let stored = if entry.kind.is_text() {
            let terminated = [data, &[0]].concat();
            Cow::Owned(entry.compression.compress(&terminated)?.into_owned())
        } else {
            entry.compression.compress(data)?
        };
        Ok(Payload {
            size: stored.len() as u64,
            stored,
            inflated_size: Some(data.len() as u64 + nul),
        })
    }
}

/// All flags of the entry, those that its other fields imply included.
fn flags(entry: &Entry<'_>) -> u64 {
    let variant = match entry.arch.variant {
        ArchVariant::Base => 0,
        ArchVariant::ArchSpecific => FLAG_ARCH_SPECIFIC,
        ArchVariant::FamilySpecific => FLAG_FAMILY_SPECIFIC,
    };
    let compression = match entry.compression {
        Compression::None => 0,
        Compression::Lz4 => FLAG_LZ4,
        Compression::Zstd { .. } => FLAG_ZSTD,
    };
    let implied = FLAG_ARCH_SPECIFIC | FLAG_FAMILY_SPECIFIC | FLAG_LZ4 | FLAG_ZSTD;
    entry.flags & !implied | variant | compression
}

/// Appends `text` with at least one NUL, to a multiple of [`ALIGNMENT`].
fn push_string(strings: &mut Vec<u8>, text: &[u8]) {
    strings.extend(text);
    let end = (strings.len() + 1).next_multiple_of(ALIGNMENT);
    strings.resize(end, 0);
}
