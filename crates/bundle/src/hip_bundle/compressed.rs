//! The compressed form: a header, and one zlib or zstd stream of the bundle.

use std::io::{self, Read, Write};

use md5::{Digest, Md5};

use super::COMPRESSED_MAGIC;
use crate::zstd_frame;

/// Which layout a compressed bundle has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum CompressedVersion {
    /// Does not state its own size. clang-offload-bundler 22 only reads it.
    V1,
    /// States sizes up to 4 GiB. clang-offload-bundler 22 writes it when the
    /// variable `COMPRESSED_BUNDLE_FORMAT_VERSION` is 2.
    V2,
    /// States sizes of 64 bits; the default of clang-offload-bundler 22.
    V3,
}

/// How the bundle is compressed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Method {
    /// As one zlib stream.
    Zlib,
    /// As one zstd frame.
    Zstd,
}

/// How to compress a bundle.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Compression {
    /// Which layout to write, not [`CompressedVersion::V1`].
    pub version: CompressedVersion,
    /// What to compress with.
    pub method: Method,
    /// For zlib 0 (stored) to 9 (smallest), for zstd 1 (fastest) to 22.
    pub level: i32,
}

impl Compression {
    /// What clang-offload-bundler 22.1.8 does with `-compress`.
    pub const DEFAULT: Self = Self {
        version: CompressedVersion::V3,
        method: Method::Zstd,
        level: 3,
    };
}

/// What the header of a compressed bundle says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Header {
    /// Which layout it has.
    pub version: CompressedVersion,
    /// What the bundle was compressed with.
    pub method: Method,
    /// The size of header and stream in bytes; not known in version 1.
    pub total_size: Option<u64>,
    /// The size of the bundle before it was compressed, in bytes.
    pub inflated_size: u64,
    /// The first eight bytes of the bundle's MD5 as an integer.
    pub hash: u64,
}

/// Why a header can't be read.
pub(super) enum HeaderError {
    /// It needs so many bytes.
    Truncated(usize),
    Version(u16),
    Method(u16),
}

impl Header {
    /// The size of a header in bytes.
    pub(super) fn size(version: CompressedVersion) -> usize {
        match version {
            CompressedVersion::V1 => 20,
            CompressedVersion::V2 => 24,
            CompressedVersion::V3 => 32,
        }
    }

    /// Reads the header at the start of `bytes`, which start with the magic.
    pub(super) fn parse(bytes: &[u8]) -> Result<Self, HeaderError> {
        let mut fields = Fields {
            rest: bytes,
            size: 0,
        };
        fields.skip(COMPRESSED_MAGIC.len())?;
        let version = match fields.u16()? {
            1 => CompressedVersion::V1,
            2 => CompressedVersion::V2,
            3 => CompressedVersion::V3,
            version => return Err(HeaderError::Version(version)),
        };
        let method = match fields.u16()? {
            0 => Method::Zlib,
            1 => Method::Zstd,
            method => return Err(HeaderError::Method(method)),
        };
        let (total_size, inflated_size) = match version {
            CompressedVersion::V1 => (None, fields.u32()?.into()),
            CompressedVersion::V2 => (Some(fields.u32()?.into()), fields.u32()?.into()),
            CompressedVersion::V3 => (Some(fields.u64()?), fields.u64()?),
        };
        let hash = fields.u64()?;
        Ok(Header {
            version,
            method,
            total_size,
            inflated_size,
            hash,
        })
    }

    /// The bytes of the header; `None` when a size does not fit into it.
    pub(super) fn to_bytes(self) -> Option<Vec<u8>> {
        let (version, small): (u16, bool) = match self.version {
            CompressedVersion::V1 => (1, true),
            CompressedVersion::V2 => (2, true),
            CompressedVersion::V3 => (3, false),
        };
        let method: u16 = match self.method {
            Method::Zlib => 0,
            Method::Zstd => 1,
        };
        let mut bytes = COMPRESSED_MAGIC.to_vec();
        bytes.extend(version.to_le_bytes());
        bytes.extend(method.to_le_bytes());
        for size in self.total_size.into_iter().chain([self.inflated_size]) {
            if small {
                bytes.extend(u32::try_from(size).ok()?.to_le_bytes());
            } else {
                bytes.extend(size.to_le_bytes());
            }
        }
        bytes.extend(self.hash.to_le_bytes());
        Some(bytes)
    }
}

/// The fields of a header that are still to be read.
struct Fields<'a> {
    rest: &'a [u8],
    /// How many bytes were asked for so far.
    size: usize,
}

impl Fields<'_> {
    fn skip(&mut self, size: usize) -> Result<&[u8], HeaderError> {
        self.size += size;
        let (field, rest) = self
            .rest
            .split_at_checked(size)
            .ok_or(HeaderError::Truncated(self.size))?;
        self.rest = rest;
        Ok(field)
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N], HeaderError> {
        let mut array = [0; N];
        array.copy_from_slice(self.skip(N)?);
        Ok(array)
    }

    fn u16(&mut self) -> Result<u16, HeaderError> {
        self.array().map(u16::from_le_bytes)
    }

    fn u32(&mut self) -> Result<u32, HeaderError> {
        self.array().map(u32::from_le_bytes)
    }

    fn u64(&mut self) -> Result<u64, HeaderError> {
        self.array().map(u64::from_le_bytes)
    }
}

/// Compresses the concatenated `pieces`, which are `size` bytes together, and
/// hashes them on the way.
pub(super) fn compress<'a>(
    compression: Compression,
    pieces: impl Iterator<Item = &'a [u8]>,
    size: u64,
) -> io::Result<(Vec<u8>, u64)> {
    let mut hash = Md5::new();
    let hashed = pieces.inspect(|piece| hash.update(piece));
    let stream = match compression.method {
        Method::Zlib => {
            let level = flate2::Compression::new(compression.level.clamp(0, 9).unsigned_abs());
            let encoder = flate2::write::ZlibEncoder::new(Vec::new(), level);
            write_pieces(encoder, hashed)?.finish()?
        }
        Method::Zstd => {
            let mut encoder = zstd::Encoder::new(Vec::new(), compression.level)?;
            // So that the frame states it, as one that was made in one go does.
            encoder.set_pledged_src_size(Some(size))?;
            // As clang-offload-bundler 22.1.8 does it: images for processors of
            // one family have much in common, far apart.
            encoder.long_distance_matching(true)?;
            write_pieces(encoder, hashed)?.finish()?
        }
    };
    Ok((stream, first_eight_bytes(hash)))
}

fn write_pieces<'a, W: Write>(
    mut encoder: W,
    pieces: impl Iterator<Item = &'a [u8]>,
) -> io::Result<W> {
    for piece in pieces {
        encoder.write_all(piece)?;
    }
    Ok(encoder)
}

/// The [`Header::hash`] of a bundle.
pub(super) fn hash(bundle: &[u8]) -> u64 {
    first_eight_bytes(Md5::new_with_prefix(bundle))
}

fn first_eight_bytes(hash: Md5) -> u64 {
    let digest: [u8; 16] = hash.finalize().into();
    let [a, b, c, d, e, f, g, h, ..] = digest;
    u64::from_le_bytes([a, b, c, d, e, f, g, h])
}

/// Inflates the stream at the start of `stream` to `size` bytes of output at
/// most plus one, by which the caller sees that there was more. Returns how long
/// the stream is, too; the error says in words what is wrong with it.
pub(super) fn inflate(
    method: Method,
    stream: &[u8],
    size: u64,
) -> Result<(Vec<u8>, usize), String> {
    match method {
        Method::Zlib => {
            let mut inflated = Vec::new();
            let mut decoder =
                flate2::bufread::ZlibDecoder::new(stream).take(size.saturating_add(1));
            decoder
                .read_to_end(&mut inflated)
                .map_err(|error| error.to_string())?;
            Ok((
                inflated,
                stream.len() - decoder.into_inner().into_inner().len(),
            ))
        }
        Method::Zstd => {
            let end = zstd::zstd_safe::find_frame_compressed_size(stream)
                .ok()
                .filter(|end| *end <= stream.len())
                .ok_or("it is no whole zstd frame")?;
            Ok((zstd_frame::inflate(&stream[..end], size)?, end))
        }
    }
}
