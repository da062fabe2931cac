//! Writing bundles. Image bytes go from where they lie to the sink.

use std::io::{self, Write};
use std::iter;

use super::compressed::{self, CompressedVersion, Compression, Header};
use super::{ALIGNMENT, COUNT_SIZE, ENTRY_SIZE, Entry, MAGIC};

/// Why entries could not be written as a bundle.
#[derive(Debug, thiserror::Error)]
pub enum WriteError {
    /// Version 1 of the compressed form is only read.
    #[error("version 1 of compressed offload bundles can't be written")]
    Version,
    /// The bundle is larger than its header can state.
    #[error("the offload bundle is too large for its format")]
    TooLarge,
    /// The sink or the compressor failed.
    #[error("cannot write the offload bundle: {0}")]
    Io(#[from] io::Error),
}

/// Writes one bundle with these `entries`, in their order, to `out`, each image
/// on a multiple of `alignment` bytes from the bundle's start. For HIP that is
/// [`ALIGNMENT`], and the first entry is that of the host ([`super::Id::host`]),
/// without image. Nothing follows the last image.
///
/// Without `compression` it is byte for byte what clang-offload-bundler 22.1.8
/// writes with `-type=o` and `-bundle-align`, and images are written from where
/// they lie. A compressed bundle is held in memory, as its size comes first.
///
/// # Errors
/// [`WriteError`]; parts may have been written by then, but only for
/// [`WriteError::Io`].
pub fn write(
    entries: &[Entry<'_>],
    alignment: u64,
    compression: Option<Compression>,
    out: &mut impl Write,
) -> Result<(), WriteError> {
    let layout = Layout::new(entries, alignment).ok_or(WriteError::TooLarge)?;
    let Some(compression) = compression else {
        let mut pieces = layout.pieces();
        return Ok(pieces.try_for_each(|piece| out.write_all(piece))?);
    };
    write_compressed(layout.pieces(), layout.size, compression, out)
}

/// Writes `bundle`, which need not be in this format, in the compressed form to
/// `out`: clang-offload-bundler 22.1.8 does so to bundles of text, too.
///
/// # Errors
/// As [`write()`].
pub fn compress(
    bundle: &[u8],
    compression: Compression,
    out: &mut impl Write,
) -> Result<(), WriteError> {
    write_compressed(iter::once(bundle), bundle.len() as u64, compression, out)
}

/// Compresses the concatenated `pieces`, which are `size` bytes together.
fn write_compressed<'a>(
    pieces: impl Iterator<Item = &'a [u8]>,
    size: u64,
    compression: Compression,
    out: &mut impl Write,
) -> Result<(), WriteError> {
    if compression.version == CompressedVersion::V1 {
        return Err(WriteError::Version);
    }
    let (stream, hash) = compressed::compress(compression, pieces, size)?;
    let total_size = Header::size(compression.version) as u64 + stream.len() as u64;
    let header = Header {
        version: compression.version,
        method: compression.method,
        total_size: Some(total_size),
        inflated_size: size,
        hash,
    };
    out.write_all(&header.to_bytes().ok_or(WriteError::TooLarge)?)?;
    out.write_all(&stream)?;
    Ok(())
}

/// A bundle as the pieces that make it up.
struct Layout<'a> {
    /// The magic, the count and the entries.
    head: Vec<u8>,
    /// Each image with how many bytes of padding come before it.
    images: Vec<(u64, &'a [u8])>,
    /// The size of the whole in bytes.
    size: u64,
}

impl<'a> Layout<'a> {
    /// `None` when the bundle is larger than 64 bits can tell.
    fn new(entries: &'a [Entry<'_>], alignment: u64) -> Option<Self> {
        let ids = entries.iter().map(|entry| ENTRY_SIZE + entry.id.len());
        let head_size = MAGIC.len() + COUNT_SIZE + ids.sum::<usize>();
        let mut head = Vec::with_capacity(head_size);
        head.extend(MAGIC);
        head.extend((entries.len() as u64).to_le_bytes());
        let mut images = Vec::with_capacity(entries.len());
        let mut end = head_size as u64;
        for entry in entries {
            let start = end.checked_next_multiple_of(alignment.max(1))?;
            let size = entry.data.len() as u64;
            head.extend(start.to_le_bytes());
            head.extend(size.to_le_bytes());
            head.extend((entry.id.len() as u64).to_le_bytes());
            head.extend(entry.id.as_bytes());
            images.push((start - end, entry.data.as_ref()));
            end = start.checked_add(size)?;
        }
        let size = end;
        Some(Layout { head, images, size })
    }

    fn pieces(&self) -> impl Iterator<Item = &[u8]> {
        const ZEROS: &[u8] = &[0; ALIGNMENT as usize];
        let images = self.images.iter().flat_map(|(padding, image)| {
            // An alignment may be larger than that of HIP.
            let whole = iter::repeat_n(ZEROS, (padding / ALIGNMENT) as usize);
            let rest = &ZEROS[..(padding % ALIGNMENT) as usize];
            whole.chain([rest, *image])
        });
        iter::once(self.head.as_slice()).chain(images)
    }
}
