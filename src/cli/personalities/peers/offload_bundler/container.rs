//! The three forms of a bundle: HIP's container for binary files, text with
//! comments around each part, and objects with a section for each part.

use super::super::PeerError;
use super::elf_sections;
use crate::Error;
use crate::pipeline::bundle::BundleError;
use object::read::{Object, ObjectSection};
use offlink_bundle::hip_bundle::{self, Compression};
use std::borrow::Cow;
use std::io::Write;

/// One part: an entry of HIP's container serves for all forms.
pub use offlink_bundle::hip_bundle::Entry as Part;

/// How files of a type are put together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Container {
    /// HIP's container.
    Binary,
    /// HIP's container, or sections in the host's object if there is one.
    Object,
    /// Text in which this starts a comment.
    Text(&'static str),
    /// An archive of bundles, which is only read.
    Archive,
}

/// How HIP's container and text are written.
#[derive(Clone, Copy, Debug)]
pub struct Packing {
    /// On multiples of how many bytes the parts of HIP's container start.
    pub alignment: u64,
    /// Whether and how the bundle is compressed.
    pub compression: Option<Compression>,
}

const SECTION_PREFIX: &str = "__CLANG_OFFLOAD_BUNDLE__";

impl Container {
    /// The form for a value of `--type`.
    pub fn of_type(name: &str) -> Option<Self> {
        Some(match name {
            "i" | "ii" | "cui" | "hipi" => Self::Text("//"),
            "d" | "s" => Self::Text("#"),
            "ll" => Self::Text(";"),
            "bc" | "gch" | "ast" => Self::Binary,
            "o" => Self::Object,
            "a" => Self::Archive,
            _ => return None,
        })
    }
}

/// The parts of a bundle, in order; none if `data` is no bundle.
///
/// # Errors
/// [`PeerError`] when it is a damaged one.
pub fn read<'a>(
    container: Container,
    name: &str,
    data: &'a [u8],
) -> Result<Vec<Part<'a>>, PeerError> {
    let unreadable = |source| PeerError::Bundle {
        file: name.into(),
        source,
    };
    let is_compressed = data.starts_with(&hip_bundle::COMPRESSED_MAGIC);
    match container {
        Container::Text(comment) if is_compressed => {
            let text = hip_bundle::inflate(data).map_err(unreadable)?;
            let parts = read_text(comment, name, &text)?;
            Ok(parts.into_iter().map(owned).collect())
        }
        Container::Text(comment) => read_text(comment, name, data),
        _ if is_compressed || data.starts_with(&hip_bundle::MAGIC) => {
            let bundles = hip_bundle::parse(data).map_err(unreadable)?;
            Ok(bundles
                .into_iter()
                .flat_map(|bundle| bundle.entries)
                .collect())
        }
        Container::Object => Ok(read_sections(data)),
        Container::Binary | Container::Archive => Ok(Vec::new()),
    }
}

fn owned(Part { id, data }: Part<'_>) -> Part<'static> {
    let data = Cow::Owned(data.into_owned());
    Part { id, data }
}

/// The parts in sections of an object. The host's, of one byte, stands for the
/// object itself.
fn read_sections(data: &[u8]) -> Vec<Part<'_>> {
    let Ok(file) = object::File::parse(data) else {
        return Vec::new();
    };
    let part = |section: object::Section<'_, '_>| {
        let id = section
            .name()
            .ok()?
            .strip_prefix(SECTION_PREFIX)?
            .to_owned();
        let contents = match id.starts_with("host-") {
            true => data,
            false => data_of(data, section.file_range()?)?,
        };
        let data = Cow::Borrowed(contents);
        Some(Part { id, data })
    };
    file.sections().filter_map(part).collect()
}

fn data_of(data: &[u8], (start, size): (u64, u64)) -> Option<&[u8]> {
    let start = usize::try_from(start).ok()?;
    let end = start.checked_add(usize::try_from(size).ok()?)?;
    data.get(start..end)
}

fn start_of(comment: &str) -> String {
    format!("\n{comment} {SECTION_PREFIX}__START__ ")
}

fn end_of(comment: &str, id: &str) -> String {
    format!("\n{comment} {SECTION_PREFIX}__END__ {id}\n")
}

fn read_text<'a>(comment: &str, name: &str, text: &'a [u8]) -> Result<Vec<Part<'a>>, PeerError> {
    let (start, mut parts, mut rest) = (start_of(comment), Vec::new(), text);
    while let Some(at) = memchr::memmem::find(rest, start.as_bytes()) {
        rest = &rest[at + start.len()..];
        let end = memchr::memchr(b'\n', rest).unwrap_or(rest.len());
        let id = String::from_utf8_lossy(&rest[..end]).into_owned();
        rest = rest.get(end + 1..).unwrap_or_default();
        let end = end_of(comment, &id);
        let Some(length) = memchr::memmem::find(rest, end.as_bytes()) else {
            let file = name.into();
            return Err(PeerError::TextBundle { file, id });
        };
        let data = Cow::Borrowed(&rest[..length]);
        parts.push(Part { id, data });
        // The line break at the end may be the one that the next part starts with.
        rest = &rest[length + end.len() - 1..];
    }
    Ok(parts)
}

/// Writes a bundle of `parts`, of which the one with index `host` is for the
/// host.
///
/// # Errors
/// [`Error`] when it can't be written.
pub fn write(
    container: Container,
    parts: &[Part<'_>],
    host: Option<usize>,
    packing: Packing,
    out: &mut impl Write,
) -> Result<(), Error> {
    let host_object = host
        .map(|host| &*parts[host].data)
        .filter(|data| container == Container::Object && object::File::parse(*data).is_ok());
    match (container, host_object) {
        (Container::Archive, _) => Err(PeerError::Unsupported {
            what: "bundling archives".into(),
            remedy: "bundle the objects and put the bundles into an archive",
        }
        .into()),
        (Container::Text(comment), _) => {
            let mut text = Vec::new();
            for Part { id, data } in parts {
                text.extend(format!("{}{id}\n", start_of(comment)).bytes());
                text.extend(&**data);
                text.extend(end_of(comment, id).bytes());
            }
            match packing.compression {
                Some(compression) => hip_bundle::compress(&text, compression, out)
                    .map_err(|error| BundleError::from(error).into()),
                None => written(out.write_all(&text)),
            }
        }
        (_, Some(object)) => {
            let sections = parts.iter().enumerate().map(|(number, Part { id, data })| {
                let contents: &[u8] = if Some(number) == host { &[0] } else { data };
                (format!("{SECTION_PREFIX}{id}"), contents)
            });
            let fat = elf_sections::append(object, &sections.collect::<Vec<_>>());
            let fat = fat.ok_or(PeerError::Unsupported {
                what: "adding sections to this host object".into(),
                remedy: "compile the host code to a 64-bit little-endian ELF object",
            })?;
            written(out.write_all(&fat))
        }
        (_, None) => hip_bundle::write(parts, packing.alignment, packing.compression, out)
            .map_err(|error| BundleError::from(error).into()),
    }
}

fn written(result: std::io::Result<()>) -> Result<(), Error> {
    result.map_err(|error| BundleError::from(hip_bundle::WriteError::from(error)).into())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn part(id: &str, data: &'static [u8]) -> Part<'static> {
        let (id, data) = (id.into(), data.into());
        Part { id, data }
    }

    const AS_IT_IS: Packing = Packing {
        alignment: 1,
        compression: None,
    };

    #[test]
    fn what_is_written_can_be_read() {
        let parts = [
            part("host-x86_64-unknown-linux-gnu-", b"h\n"),
            part("hip-a-b-c--d", b""),
        ];
        for name in ["ii", "d", "ll", "bc", "o", "gch"] {
            let container = Container::of_type(name).unwrap();
            let mut bundle = Vec::new();
            write(container, &parts, Some(0), AS_IT_IS, &mut bundle).unwrap();
            assert_eq!(read(container, "b", &bundle).unwrap(), parts, "{name}");
        }
    }

    #[test]
    fn no_part_of_a_damaged_bundle_is_believed() {
        let parts = [part("host-a-b-c-d-", b"x"), part("hip-a-b-c--d", b"y")];
        let mut text = Vec::new();
        let container = Container::of_type("s").unwrap();
        write(container, &parts, Some(0), AS_IT_IS, &mut text).unwrap();
        for end in 0..text.len() {
            if let Ok(read) = read(container, "b", &text[..end]) {
                assert!(read.len() < 2, "{end}");
            }
        }
        assert!(read(Container::Binary, "b", &hip_bundle::MAGIC).is_err());
    }

    #[test]
    fn what_is_no_bundle_has_no_parts() {
        for name in ["ii", "bc", "o"] {
            let container = Container::of_type(name).unwrap();
            assert!(read(container, "b", b"anything").unwrap().is_empty());
        }
        assert_eq!(Container::of_type("x"), None);
    }
}
