//! Reading bundles, compressed and not.

use std::borrow::Cow;
use std::ops::Range;

use super::compressed::{self, Header, HeaderError};
use super::{Bundle, COMPRESSED_MAGIC, COUNT_SIZE, ENTRY_SIZE, Entry, MAGIC};

/// Why bytes are no sequence of bundles. Offsets count from the start of the
/// bytes given to [`parse`], or from the start of the bundle where it was
/// compressed.
#[derive(Debug, thiserror::Error)]
pub enum ParseError {
    /// A bundle should start here but does not.
    #[error("no offload bundle at offset {offset:#x}: it starts with bytes {found:02x?}")]
    Magic {
        /// Where the bundle should start.
        offset: usize,
        /// The bytes found, eight at most.
        found: Vec<u8>,
    },
    /// The bytes end before the bundle does.
    #[error(
        "the offload bundle at offset {offset:#x} is truncated: its {part} needs {size} bytes, {available} are left"
    )]
    Truncated {
        /// Where the bundle starts.
        offset: usize,
        /// Which part does not fit.
        part: &'static str,
        /// How many bytes it needs.
        size: u64,
        /// How many bytes there are from the part's start.
        available: usize,
    },
    /// An image lies outside of the bytes.
    #[error(
        "the offload bundle at offset {offset:#x} has the image {id} at {start:#x} with {size} bytes, beyond its {limit} bytes"
    )]
    OutOfRange {
        /// Where the bundle starts.
        offset: usize,
        /// The ID of the image.
        id: String,
        /// Where the image starts, counted from the bundle's own start.
        start: u64,
        /// The size of the image in bytes.
        size: u64,
        /// How many bytes there are from the bundle's start.
        limit: usize,
    },
    /// Images share bytes, or one shares bytes with the entries.
    #[error("the offload bundle at offset {offset:#x} has images that overlap")]
    Overlap {
        /// Where the bundle starts.
        offset: usize,
    },
    /// An ID is not in UTF-8.
    #[error("the offload bundle at offset {offset:#x} has the ID of entry {index} not in UTF-8")]
    Id {
        /// Where the bundle starts.
        offset: usize,
        /// Which entry, from 0.
        index: u64,
    },
    /// The compressed bundle has a version that this reader does not know.
    #[error(
        "the compressed offload bundle at offset {offset:#x} has version {version}; 1 to 3 are supported"
    )]
    Version {
        /// Where the bundle starts.
        offset: usize,
        /// The version it says it has.
        version: u16,
    },
    /// The bundle is compressed in a manner that this reader does not know.
    #[error(
        "the compressed offload bundle at offset {offset:#x} has compression method {method}; 0 (zlib) and 1 (zstd) are supported"
    )]
    Method {
        /// Where the bundle starts.
        offset: usize,
        /// The number of the method.
        method: u16,
    },
    /// The bundle can't be inflated to the size that the header gives.
    #[error(
        "the compressed offload bundle at offset {offset:#x} does not inflate to {size} bytes: {reason}"
    )]
    Inflate {
        /// Where the bundle starts.
        offset: usize,
        /// The size that its header gives.
        size: u64,
        /// What went wrong.
        reason: String,
    },
    /// The bundle inflates to something else than was compressed.
    #[error(
        "the compressed offload bundle at offset {offset:#x} is damaged: its hash is {found:016x}, not {expected:016x}"
    )]
    Hash {
        /// Where the bundle starts.
        offset: usize,
        /// What the header says.
        expected: u64,
        /// What it should say for this content.
        found: u64,
    },
    /// What was compressed is no bundle.
    #[error("in the compressed offload bundle at offset {offset:#x}: {source}")]
    Inner {
        /// Where the compressed bundle starts.
        offset: usize,
        /// What is wrong with what was in it.
        source: Box<ParseError>,
    },
}

/// Reads all bundles in `data`, which stand back to back with any number of
/// zeros between, as in the `.hip_fatbin` section of a linked program or an
/// output of clang-offload-bundler.
///
/// Returns them in file order; images that are not compressed are borrowed from
/// `data`. Empty `data` has none. The address of `data` needs no alignment.
///
/// # Errors
/// [`ParseError`] for the first bundle that is malformed. Compressed bundles are
/// inflated to the size that their header gives and no further; their hash has
/// to be right, although clang-offload-bundler 22 does not look at it.
pub fn parse(data: &[u8]) -> Result<Vec<Bundle<'_>>, ParseError> {
    let mut bundles = Vec::new();
    let mut offset = 0;
    while let Some(rest) = data.get(offset..) {
        let Some(zeros) = rest.iter().position(|byte| *byte != 0) else {
            break;
        };
        offset += zeros;
        let (bundle, size) = parse_one(&rest[zeros..], offset)?;
        bundles.push(bundle);
        offset += size;
    }
    Ok(bundles)
}

/// Reads the bundle at the start of `rest`; returns its size, too.
fn parse_one(rest: &[u8], offset: usize) -> Result<(Bundle<'_>, usize), ParseError> {
    if rest.starts_with(&COMPRESSED_MAGIC) {
        return parse_compressed(rest, offset);
    }
    let (places, size) = Table::new(rest, offset)?.places()?;
    let entry = |place: Place<'_>| Entry {
        id: place.id.to_owned(),
        data: Cow::Borrowed(&rest[place.data]),
    };
    let entries = places.into_iter().map(entry).collect();
    let compressed = None;
    Ok((
        Bundle {
            offset,
            compressed,
            entries,
        },
        size,
    ))
}

/// Inflates the compressed bundle at the start of `data`, whatever it holds:
/// clang-offload-bundler 22.1.8 compresses bundles of text, too.
///
/// # Errors
/// [`ParseError`] as [`parse`], but for what is wrong with the contents.
pub fn inflate(data: &[u8]) -> Result<Vec<u8>, ParseError> {
    Ok(inflate_one(data, 0)?.contents)
}

/// A compressed bundle without the compression.
struct Inflated {
    header: Header,
    contents: Vec<u8>,
    /// The size of the compressed bundle in bytes.
    size: usize,
}

fn inflate_one(rest: &[u8], offset: usize) -> Result<Inflated, ParseError> {
    let truncated = |part, size, available| ParseError::Truncated {
        offset,
        part,
        size,
        available,
    };
    let header = Header::parse(rest).map_err(|error| match error {
        HeaderError::Truncated(size) => truncated("header", size as u64, rest.len()),
        HeaderError::Version(version) => ParseError::Version { offset, version },
        HeaderError::Method(method) => ParseError::Method { offset, method },
    })?;
    let header_size = Header::size(header.version);
    let bytes = match header.total_size {
        Some(size) => usize::try_from(size)
            .ok()
            .and_then(|size| rest.get(..size))
            .ok_or_else(|| truncated("stream", size, rest.len()))?,
        None => rest,
    };
    let stream = bytes
        .get(header_size..)
        .ok_or_else(|| truncated("header", header_size as u64, bytes.len()))?;
    let size = header.inflated_size;
    let failed = |reason| ParseError::Inflate {
        offset,
        size,
        reason,
    };
    let (contents, stream_size) =
        compressed::inflate(header.method, stream, size).map_err(failed)?;
    if contents.len() as u64 != size {
        let order = if contents.len() as u64 > size {
            "larger"
        } else {
            "smaller"
        };
        return Err(failed(format!("the stream is {order}")));
    }
    let found = compressed::hash(&contents);
    if found != header.hash {
        let expected = header.hash;
        return Err(ParseError::Hash {
            offset,
            expected,
            found,
        });
    }
    let size = match header.total_size {
        Some(_) => bytes.len(),
        None => header_size + stream_size,
    };
    Ok(Inflated {
        header,
        contents,
        size,
    })
}

fn parse_compressed(rest: &[u8], offset: usize) -> Result<(Bundle<'_>, usize), ParseError> {
    let inner = |source| ParseError::Inner {
        offset,
        source: Box::new(source),
    };
    let inflated = inflate_one(rest, offset)?;
    let bundle = &inflated.contents;
    let (places, _) = Table::new(bundle, 0)
        .and_then(|table| table.places())
        .map_err(inner)?;
    let entry = |place: Place<'_>| Entry {
        id: place.id.to_owned(),
        data: Cow::Owned(bundle[place.data].to_vec()),
    };
    let entries = places.into_iter().map(entry).collect();
    let compressed = Some(inflated.header);
    Ok((
        Bundle {
            offset,
            compressed,
            entries,
        },
        inflated.size,
    ))
}

/// The entries of a bundle that is not compressed.
struct Table<'a> {
    /// Where the bundle starts, for errors.
    offset: usize,
    /// All bytes from there; the bundle may end before they do.
    bytes: &'a [u8],
    count: u64,
}

/// Where in the bundle an image lies, and for what it is.
struct Place<'a> {
    id: &'a str,
    data: Range<usize>,
}

impl<'a> Table<'a> {
    fn new(bytes: &'a [u8], offset: usize) -> Result<Self, ParseError> {
        if !bytes.starts_with(&MAGIC) {
            let found = bytes[..bytes.len().min(8)].to_vec();
            return Err(ParseError::Magic { offset, found });
        }
        let mut table = Table {
            offset,
            bytes,
            count: 0,
        };
        table.count = table.u64_at("entry count", MAGIC.len())?;
        Ok(table)
    }

    /// The entries in file order, and where the last of the bundle's bytes is.
    fn places(&self) -> Result<(Vec<Place<'a>>, usize), ParseError> {
        let mut places = Vec::new();
        let mut position = MAGIC.len() + COUNT_SIZE;
        for index in 0..self.count {
            let start = self.u64_at("entry", position)?;
            let size = self.u64_at("entry", position + 8)?;
            let id_size = self.u64_at("entry", position + 16)?;
            position += ENTRY_SIZE;
            let id = self.part("ID", position, id_size)?;
            position += id.len();
            let id = std::str::from_utf8(id).map_err(|_| {
                let offset = self.offset;
                ParseError::Id { offset, index }
            })?;
            let data = self
                .range(start, size)
                .ok_or_else(|| ParseError::OutOfRange {
                    offset: self.offset,
                    id: id.to_owned(),
                    start,
                    size,
                    limit: self.bytes.len(),
                })?;
            places.push(Place { id, data });
        }
        self.check_overlap(&places, position)?;
        let ends = places.iter().map(|place| place.data.end);
        let end = ends.fold(position, usize::max);
        Ok((places, end))
    }

    /// Shared images would let a small file unfold into a huge result.
    fn check_overlap(&self, places: &[Place<'_>], table_end: usize) -> Result<(), ParseError> {
        let mut images: Vec<_> = places.iter().map(|place| &place.data).collect();
        images.retain(|image| !image.is_empty());
        images.sort_by_key(|image| image.start);
        let mut end = table_end;
        for image in images {
            if image.start < end {
                let offset = self.offset;
                return Err(ParseError::Overlap { offset });
            }
            end = image.end;
        }
        Ok(())
    }

    fn range(&self, start: u64, size: u64) -> Option<Range<usize>> {
        let start = usize::try_from(start).ok()?;
        let end = start.checked_add(usize::try_from(size).ok()?)?;
        (end <= self.bytes.len()).then_some(start..end)
    }

    /// `size` bytes at `position`, which is within the bytes or at their end.
    fn part(&self, part: &'static str, position: usize, size: u64) -> Result<&'a [u8], ParseError> {
        let rest = self.bytes.get(position..).unwrap_or_default();
        let found = usize::try_from(size).ok().and_then(|size| rest.get(..size));
        found.ok_or(ParseError::Truncated {
            offset: self.offset,
            part,
            size,
            available: rest.len(),
        })
    }

    fn u64_at(&self, part: &'static str, position: usize) -> Result<u64, ParseError> {
        let mut field = [0; 8];
        field.copy_from_slice(self.part(part, position, 8)?);
        Ok(u64::from_le_bytes(field))
    }
}
