//! llvm-offload-binary, called clang-offload-packager before LLVM 22: images
//! into offload binaries and out of whatever holds some. Options and meanings
//! are those of 22.1.8.

use super::line::{self, OF_EVERY_LLVM_TOOL, PeerLine, PeerOption};
use super::{PeerError, archive};
use crate::cli::help;
use crate::options::Options;
use crate::pipeline::bundle::BundleError;
use crate::pipeline::scan::{self, Item, ScanError};
use crate::{Error, mapped_file, output_file, report};
use bytes::Bytes;
use offlink_bundle::offload_binary::{self, Compression, Image, ImageKind, OffloadKind, Version};
use std::borrow::Cow;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

const TABLE: &[PeerOption] = &[
    PeerOption {
        names: &["o"],
        value: Some("file"),
        help: "write the images to this file",
    },
    PeerOption {
        names: &["image"],
        value: Some("key=value,..."),
        help: "an image to pack, or which images to extract; file, triple, arch, kind",
    },
    PeerOption {
        names: &["archive"],
        value: None,
        help: "write extracted images to an archive",
    },
    // Of LLVM 24, which also writes version 3 without being told to.
    PeerOption {
        names: &["compress"],
        value: None,
        help: "write version 3 of the format, compressed",
    },
    PeerOption {
        names: &["compression-format"],
        value: Some("zstd|zlib"),
        help: "how to compress",
    },
    PeerOption {
        names: &["compression-level"],
        value: Some("n"),
        help: "how much to compress",
    },
];

/// zlib's own default.
const ZLIB_LEVEL: i32 = 6;

/// Carries the line out. Without output and input it shows the help.
///
/// # Errors
/// [`Error`] when files can't be read or written or the line makes no sense.
pub fn run(arguments: Vec<OsString>, _: Options) -> Result<(), Error> {
    let tables = [TABLE, OF_EVERY_LLVM_TOOL];
    let line = PeerLine::read(&tables, arguments)?;
    if line.has("version") {
        return report::print(&help::version());
    }
    match (line.last("o"), line.inputs.as_slice()) {
        _ if line.has("help") => show_help(),
        (None, []) => show_help(),
        (Some(output), []) => pack(&line, Path::new(output)),
        (None, [input]) => extract(&line, Path::new(input)),
        (None, _) => Err(PeerError::Mismatch("only one file can be extracted from").into()),
        (Some(_), _) => Err(PeerError::Mismatch(
            "packing with -o and extracting from a file exclude each other",
        )
        .into()),
    }
}

fn show_help() -> Result<(), Error> {
    let usage = "llvm-offload-binary -o FILE --image=… | FILE --image=…";
    report::print(&line::help(usage, &[TABLE, OF_EVERY_LLVM_TOOL]))
}

/// One `--image`: keys in order of appearance, values of repeated ones joined.
#[derive(Clone, Debug)]
struct Keys(Vec<(String, String)>);

impl Keys {
    /// Reads `key=value,…`; what has no `=` is a key without value.
    fn read(argument: &OsStr) -> Self {
        let mut keys: Vec<(String, String)> = Vec::new();
        for part in argument.to_string_lossy().split(',') {
            let (key, value) = part.split_once('=').unwrap_or((part, ""));
            match keys.iter_mut().find(|(known, _)| known == key) {
                Some((_, values)) => *values = format!("{values},{value}"),
                None => keys.push((key.into(), value.into())),
            }
        }
        Self(keys)
    }

    fn take(&mut self, key: &str) -> Option<String> {
        let at = self.0.iter().position(|(known, _)| known == key)?;
        Some(self.0.remove(at).1)
    }
}

fn pack(line: &PeerLine, output: &Path) -> Result<(), Error> {
    let mut described = Vec::new();
    for argument in line.all("image") {
        let mut keys = Keys::read(argument);
        let file = keys.take("file").ok_or_else(|| PeerError::Image {
            image: argument.to_string_lossy().into_owned(),
            fault: "lacks file=".into(),
        })?;
        let data = mapped_file::map(Path::new(&file))?;
        described.push((file, keys, data));
    }
    let mut images = Vec::with_capacity(described.len());
    for (file, mut keys, data) in described.iter().map(|(f, k, d)| (f, k.clone(), d)) {
        let kind = keys.take("kind").unwrap_or_default();
        let mut image = Image {
            image_kind: ImageKind::of_file(Path::new(file), data),
            offload_kind: OffloadKind::from_name(&kind),
            flags: 0,
            strings: keys
                .0
                .into_iter()
                .map(|(key, value)| (key, value.into_bytes()))
                .collect(),
            data: Cow::Borrowed(data),
        };
        image.sort_strings_like_packager();
        images.push(image);
    }
    let version = version(line)?;
    output_file::write(output, |out| {
        offload_binary::write(&images, version, out)
            .map_err(|error| Error::from(BundleError::from(error)))
    })
}

/// Version 1, which all readers know, unless compression is asked for.
fn version(line: &PeerLine) -> Result<Version, PeerError> {
    if !line.has("compress") {
        return Ok(Version::V1);
    }
    let bad = |option: &str, value: &str, expected| PeerError::BadValue {
        option: option.into(),
        value: value.into(),
        expected,
    };
    let level = match line.text("compression-level") {
        None => None,
        Some(text) => Some(
            text.parse::<i32>()
                .map_err(|_| bad("--compression-level", &text, "a number"))?,
        ),
    };
    let format = line.text("compression-format");
    Ok(Version::V3(match format.as_deref() {
        None | Some("zstd") => {
            level.map_or(Compression::DEFAULT, |level| Compression::Zstd { level })
        }
        Some("zlib") => Compression::Zlib {
            level: level.unwrap_or(ZLIB_LEVEL).clamp(0, 9).unsigned_abs(),
        },
        Some(other) => return Err(bad("--compression-format", other, "zstd or zlib")),
    }))
}

fn extract(line: &PeerLine, input: &Path) -> Result<(), Error> {
    let blobs = offload_binaries(input)?;
    let origin = || input.display().to_string();
    let mut found = Vec::new();
    for blob in &blobs {
        let images = offload_binary::parse(blob).map_err(|source| ScanError::OffloadBinary {
            origin: origin(),
            source,
        })?;
        found.extend(images);
    }
    for argument in line.all("image") {
        let mut wanted = Keys::read(argument);
        let file = wanted.take("file");
        let matching: Vec<&Image<'_>> = found
            .iter()
            .filter(|image| matches(image, &wanted))
            .collect();
        let shown = argument.to_string_lossy();
        match (file, line.has("archive")) {
            (Some(_), _) if matching.is_empty() => {}
            (Some(file), true) => write_archive(input, &matching, Path::new(&file))?,
            (None, true) => {
                let fault = "lacks file=, which names the archive".into();
                let image = shown.into_owned();
                return Err(PeerError::Image { image, fault }.into());
            }
            (Some(file), false) => {
                if matching.len() > 1 {
                    report::warning(&format!(
                        "{} images match '{shown}'; the last of them is in '{file}'",
                        matching.len(),
                    ));
                }
                if let Some(last) = matching.last() {
                    output_file::write_bytes(Path::new(&file), &last.data)?;
                }
            }
            (None, false) => {
                for (number, image) in matching.iter().enumerate() {
                    output_file::write_bytes(&file_name(input, image, number), &image.data)?;
                }
            }
        }
    }
    Ok(())
}

/// The offload binaries of the file itself, of an object or program, or of an
/// archive's members.
fn offload_binaries(input: &Path) -> Result<Vec<Bytes>, Error> {
    let data = mapped_file::map(input)?;
    if data.starts_with(&offload_binary::MAGIC) {
        return Ok(vec![data]);
    }
    let mut blobs = Vec::new();
    for item in scan::whole_file(input)? {
        if let Item::Object(object) = item {
            blobs.extend(object.device);
        }
    }
    Ok(blobs)
}

/// All of them are called after the input.
fn write_archive(input: &Path, images: &[&Image<'_>], output: &Path) -> Result<(), Error> {
    let name = input.file_name().unwrap_or_default().to_string_lossy();
    let members: Vec<(String, &[u8])> = images
        .iter()
        .map(|image| (name.clone().into_owned(), &*image.data))
        .collect();
    Ok(output_file::write_bytes(output, &archive::write(&members))?)
}

/// `STEM-TRIPLE-ARCH.N.EXTENSION` in the working directory.
fn file_name(input: &Path, image: &Image<'_>, number: usize) -> PathBuf {
    let stem = input.file_stem().unwrap_or_default().to_string_lossy();
    let (triple, arch) = (image.triple(), image.arch());
    let extension = image.image_kind.as_str();
    format!("{stem}-{triple}-{arch}.{number}.{extension}").into()
}

/// Whether the image has all that is asked for.
fn matches(image: &Image<'_>, wanted: &Keys) -> bool {
    wanted.0.iter().all(|(key, value)| match key.as_str() {
        "kind" => OffloadKind::from_name(value) == image.offload_kind,
        key => image.string(key) == Some(value.as_bytes()),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_that_are_repeated_are_joined() {
        let mut keys = Keys::read(OsStr::new("file=a.o,arch=x,foo,arch=y,triple=t=u"));
        assert_eq!(keys.take("arch").as_deref(), Some("x,y"));
        assert_eq!(keys.take("foo").as_deref(), Some(""));
        assert_eq!(keys.take("triple").as_deref(), Some("t=u"));
        assert_eq!(keys.take("arch"), None);
    }

    #[test]
    fn images_are_matched_by_all_keys() {
        let image = Image::new(ImageKind::Object, OffloadKind::Hip, "t", "gfx90a", &b""[..]);
        let is_match = |keys: &str| matches(&image, &Keys::read(OsStr::new(keys)));
        assert!(is_match("kind=hip,arch=gfx90a"));
        assert!(!is_match("kind=cuda"));
        assert!(!is_match("arch=gfx90a,feature=x"));
    }
}
