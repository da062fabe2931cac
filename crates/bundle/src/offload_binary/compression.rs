//! Compressed bodies of version 3 binaries: one zlib or zstd stream each.

use std::io::{self, Read, Write};

const ZSTD_MAGIC: [u8; 4] = [0x28, 0xb5, 0x2f, 0xfd];

/// How the body of a version 3 binary is stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Compression {
    /// As it is.
    None,
    /// As a zlib stream.
    Zlib {
        /// 0 (stored) to 9 (smallest); larger counts as 9.
        level: u32,
    },
    /// As a zstd frame.
    Zstd {
        /// 1 (fastest) to 22 (smallest), 0 for zstd's own default; negative
        /// levels are faster still.
        level: i32,
    },
}

impl Compression {
    /// zstd at level 3, which is its own default.
    pub const DEFAULT: Self = Self::Zstd { level: 3 };

    /// Compresses the concatenated `pieces`; `None` for [`Compression::None`].
    pub(super) fn compress<'a>(
        self,
        pieces: impl Iterator<Item = &'a [u8]>,
    ) -> io::Result<Option<Vec<u8>>> {
        match self {
            Self::None => Ok(None),
            Self::Zlib { level } => {
                let level = flate2::Compression::new(level.min(9));
                let mut encoder = flate2::write::ZlibEncoder::new(Vec::new(), level);
                write_pieces(&mut encoder, pieces)?;
                encoder.finish().map(Some)
            }
            Self::Zstd { level } => {
                let mut encoder = zstd::Encoder::new(Vec::new(), level)?;
                write_pieces(&mut encoder, pieces)?;
                encoder.finish().map(Some)
            }
        }
    }
}

fn write_pieces<'a>(
    encoder: &mut impl Write,
    mut pieces: impl Iterator<Item = &'a [u8]>,
) -> io::Result<()> {
    pieces.try_for_each(|piece| encoder.write_all(piece))
}

/// Inflates `stream` behind the bytes already in `body`, to `size` bytes of
/// output at most plus one, by which the caller sees that there was more.
pub(super) fn inflate(stream: &[u8], size: u64, body: &mut Vec<u8>) -> io::Result<()> {
    let limit = size.saturating_add(1);
    if stream.starts_with(&ZSTD_MAGIC) {
        zstd::Decoder::with_buffer(stream)?
            .take(limit)
            .read_to_end(body)?;
    } else {
        flate2::bufread::ZlibDecoder::new(stream)
            .take(limit)
            .read_to_end(body)?;
    }
    Ok(())
}
