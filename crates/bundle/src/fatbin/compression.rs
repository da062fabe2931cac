//! Compressed payloads: one LZ4 block or one zstd frame each.

use std::borrow::Cow;
use std::io;

use crate::zstd_frame;

/// A byte of an LZ4 block stands for 255 bytes of output at most: it is the
/// most by which one byte can lengthen a match.
const LZ4_RATIO_LIMIT: u64 = 255;

/// LZ4 blocks hold no more bytes than this (`LZ4_MAX_INPUT_SIZE` of lz4 1.9).
const LZ4_SIZE_LIMIT: usize = 0x7e00_0000;

/// How the bytes of an entry are stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Compression {
    /// As they are.
    None,
    /// As an LZ4 block, which toolkits before CUDA 13 write by default and
    /// `fatbinary` 13.0 with `--compress-mode=speed`.
    Lz4,
    /// As a zstd frame, the default of CUDA 13.
    Zstd {
        /// 1 (fastest) to 22 (smallest). A frame does not tell its level, so
        /// entries that were read have that of [`Compression::ZSTD`].
        level: i32,
    },
}

impl Compression {
    /// What `fatbinary` 13.0 does by default: zstd at the level that gives the
    /// same bytes as its mode `balance`, with the same zstd (1.5.7).
    pub const ZSTD: Self = Self::Zstd { level: 5 };

    /// As [`Compression::ZSTD`] for its mode `size`.
    pub const ZSTD_SMALLEST: Self = Self::Zstd { level: 19 };

    pub(super) fn compress(self, data: &[u8]) -> io::Result<Cow<'_, [u8]>> {
        Ok(match self {
            Self::None => Cow::Borrowed(data),
            Self::Lz4 if data.len() > LZ4_SIZE_LIMIT => {
                let reason = "an image of more than 2016 MiB can't be compressed with LZ4";
                return Err(io::Error::new(io::ErrorKind::InvalidInput, reason));
            }
            Self::Lz4 => Cow::Owned(lz4_flex::block::compress(data)),
            Self::Zstd { level } => Cow::Owned(zstd::bulk::compress(data, level)?),
        })
    }

    /// Inflates `stored` to exactly `size` bytes; the error says in words why
    /// that can't be done.
    pub(super) fn inflate(self, stored: &[u8], size: u64) -> Result<Cow<'_, [u8]>, String> {
        let inflated = match self {
            Self::None => Cow::Borrowed(stored),
            Self::Lz4 => Cow::Owned(inflate_lz4(stored, size)?),
            Self::Zstd { .. } => Cow::Owned(zstd_frame::inflate(stored, size)?),
        };
        if inflated.len() as u64 != size {
            return Err(format!("it has {} bytes", inflated.len()));
        }
        Ok(inflated)
    }
}

fn inflate_lz4(block: &[u8], size: u64) -> Result<Vec<u8>, String> {
    // The output is allocated up front, so its size has to be plausible.
    let limit = (block.len() as u64).saturating_mul(LZ4_RATIO_LIMIT);
    let size = usize::try_from(size).unwrap_or(usize::MAX);
    if size > LZ4_SIZE_LIMIT || size as u64 > limit {
        return Err(format!("{} bytes of LZ4 can't hold so many", block.len()));
    }
    lz4_flex::block::decompress(block, size).map_err(|error| error.to_string())
}
