//! Writing offload binaries. Image bytes go from where they lie to the sink.

use std::io::{self, Write};
use std::iter;

use super::compression::Compression;
use super::string_table::StringTable;
use super::{
    ALIGNMENT, ENTRY_SIZE, HEADER_SIZE, HEADER_SIZE_V3, Image, MAGIC, STRING_ELEMENT_SIZE,
    STRING_ELEMENT_SIZE_V1, align,
};

/// Which layout to write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Version {
    /// One binary per image, the only layout that LLVM up to 22 reads.
    V1,
    /// One binary for all images; LLVM 23 and newer.
    V2,
    /// As version 2, and the part after the header may be compressed; LLVM 24.
    V3(Compression),
}

/// Why images could not be written as offload binaries.
#[derive(Debug, thiserror::Error)]
pub enum WriteError {
    /// Version 1 ends values with a NUL, so they can't contain one; keys can't
    /// in any version.
    #[error("the {part} {text:?} contains a NUL byte, which this version of the format can't hold")]
    Nul {
        /// `key`, or `value of key …`.
        part: String,
        /// The string, as far as it is text.
        text: String,
    },
    /// Version 1 has no entries without image.
    #[error("version 1 of the format can't hold an entry that is metadata only")]
    Metadata,
    /// The binary would be larger than the address space.
    #[error("the offload binary is too large for this machine's address space")]
    TooLarge,
    /// The sink or the compressor failed.
    #[error("cannot write the offload binary: {0}")]
    Io(#[from] io::Error),
}

/// Writes `images` to `out` in the given version: for version 1 one binary
/// after the other, each padded to [`ALIGNMENT`], else a single binary.
///
/// Version 1 is byte for byte what llvm-offload-binary 22.1.8 writes when the
/// strings are in its order ([`Image::sort_strings_like_packager`]). No images
/// give no bytes. Images are written from where they lie; only a compressed
/// body is held in memory, as its size comes before it.
///
/// # Errors
/// [`WriteError`]; parts may have been written by then.
pub fn write(
    images: &[Image<'_>],
    version: Version,
    out: &mut impl Write,
) -> Result<(), WriteError> {
    if images.is_empty() {
        return Ok(());
    }
    match version {
        Version::V1 => {
            for image in images {
                write_pieces(&Encoded::version_1(image)?, out)?;
            }
        }
        Version::V2 => write_pieces(&Encoded::new(images, Layout::V2)?, out)?,
        Version::V3(compression) => {
            let mut binary = Encoded::new(images, Layout::V3)?;
            let body = iter::once(&binary.head[HEADER_SIZE_V3..]).chain(binary.after_head());
            match compression.compress(body)? {
                None => write_pieces(&binary, out)?,
                Some(stream) => {
                    binary.head.truncate(HEADER_SIZE_V3);
                    binary.head[32..40].copy_from_slice(&(binary.size as u64).to_le_bytes());
                    let size = HEADER_SIZE_V3 + stream.len();
                    binary.head[8..16].copy_from_slice(&(size as u64).to_le_bytes());
                    out.write_all(&binary.head)?;
                    out.write_all(&stream)?;
                }
            }
        }
    }
    Ok(())
}

fn write_pieces(binary: &Encoded<'_>, out: &mut impl Write) -> io::Result<()> {
    out.write_all(&binary.head)?;
    binary
        .after_head()
        .try_for_each(|piece| out.write_all(piece))
}

#[derive(Clone, Copy, PartialEq)]
enum Layout {
    V1,
    V2,
    V3,
}

/// A binary as the pieces that make it up, in order: the head (header, entries,
/// string maps, string table and padding), the images, the padding at the end.
pub(crate) struct Encoded<'a> {
    /// All that comes before the first image.
    pub(crate) head: Vec<u8>,
    images: Vec<&'a [u8]>,
    /// The size of the whole in bytes, a multiple of [`ALIGNMENT`].
    pub(crate) size: usize,
    padding: usize,
}

impl<'a> Encoded<'a> {
    /// A version 1 binary: its one image starts right behind the head.
    pub(crate) fn version_1(image: &'a Image<'_>) -> Result<Self, WriteError> {
        if image.flags & super::FLAG_METADATA != 0 {
            return Err(WriteError::Metadata);
        }
        Self::new(std::slice::from_ref(image), Layout::V1)
    }

    /// The images and the padding behind them.
    pub(crate) fn after_head(&self) -> impl Iterator<Item = &'a [u8]> + use<'a> {
        const ZEROS: &[u8] = &[0; ALIGNMENT];
        let padding = &ZEROS[..self.padding];
        self.images.clone().into_iter().chain(iter::once(padding))
    }

    /// The sizes of all images in bytes.
    pub(crate) fn image_size(&self) -> u64 {
        self.images.iter().map(|image| image.len() as u64).sum()
    }

    fn new(images: &'a [Image<'_>], layout: Layout) -> Result<Self, WriteError> {
        check_strings(images, layout)?;
        let header_size = if layout == Layout::V3 {
            HEADER_SIZE_V3
        } else {
            HEADER_SIZE
        };
        let element_size = match layout {
            Layout::V1 => STRING_ELEMENT_SIZE_V1,
            Layout::V2 | Layout::V3 => STRING_ELEMENT_SIZE,
        };
        let strings = || images.iter().flat_map(|image| &image.strings);
        let table =
            StringTable::new(strings().flat_map(|(key, value)| [key.as_bytes(), value.as_slice()]));
        // Entries and strings lie in memory already, so their sizes can't overflow.
        let maps_start = header_size + images.len() * ENTRY_SIZE;
        let table_start = maps_start + strings().count() * element_size;
        let head_size = align(table_start + table.bytes().len()).ok_or(WriteError::TooLarge)?;
        let end = images
            .iter()
            .try_fold(head_size, |end, image| end.checked_add(image.data.len()))
            .ok_or(WriteError::TooLarge)?;
        let size = align(end).ok_or(WriteError::TooLarge)?;

        let mut head = Vec::with_capacity(head_size);
        head.extend(MAGIC);
        let version: u32 = match layout {
            Layout::V1 => 1,
            Layout::V2 => 2,
            Layout::V3 => 3,
        };
        head.extend(version.to_le_bytes());
        push(&mut head, size);
        push(&mut head, header_size);
        // Version 1 has the size of its one entry where later ones have the count.
        push(
            &mut head,
            if layout == Layout::V1 {
                ENTRY_SIZE
            } else {
                images.len()
            },
        );
        if layout == Layout::V3 {
            push(&mut head, 0);
        }
        let mut map = maps_start;
        let mut data = head_size;
        for image in images {
            head.extend(image.image_kind.number().to_le_bytes());
            head.extend(image.offload_kind.number().to_le_bytes());
            head.extend(image.flags.to_le_bytes());
            push(&mut head, map);
            push(&mut head, image.strings.len());
            push(&mut head, data);
            push(&mut head, image.data.len());
            map += image.strings.len() * element_size;
            data += image.data.len();
        }
        for (key, value) in strings() {
            push(&mut head, table_start + table.offset(key.as_bytes()));
            push(&mut head, table_start + table.offset(value));
            if layout != Layout::V1 {
                push(&mut head, value.len());
            }
        }
        head.extend(table.bytes());
        head.resize(head_size, 0);
        Ok(Encoded {
            head,
            images: images.iter().map(|image| image.data.as_ref()).collect(),
            size,
            padding: size - end,
        })
    }
}

fn check_strings(images: &[Image<'_>], layout: Layout) -> Result<(), WriteError> {
    for (key, value) in images.iter().flat_map(|image| &image.strings) {
        if key.as_bytes().contains(&0) {
            return Err(WriteError::Nul {
                part: "key".to_owned(),
                text: key.clone(),
            });
        }
        if layout == Layout::V1 && value.contains(&0) {
            return Err(WriteError::Nul {
                part: format!("value of key {key}"),
                text: String::from_utf8_lossy(value).into_owned(),
            });
        }
    }
    Ok(())
}

fn push(head: &mut Vec<u8>, number: usize) {
    head.extend((number as u64).to_le_bytes());
}
