//! NVIDIA's fatbinary: cubins and PTX into a fatbin. Options and meanings are
//! those of 13.0.88, and `--image` of versions before 13.

mod embedded;
mod relocatable;

use super::PeerError;
use super::line::{self, PeerLine, PeerOption};
use crate::cli::help;
use crate::options::Options;
use crate::pipeline::bundle::BundleError;
use crate::{Error, mapped_file, output_file, report};
use bytes::Bytes;
use embedded::Linkage;
use offlink_bundle::fatbin::{self, Compression, Entry, FLAG_64_BIT, FLAG_DEBUG, Kind};
use std::ffi::OsString;
use std::path::Path;

const TABLE: &[PeerOption] = &[
    PeerOption {
        names: &["create"],
        value: Some("file"),
        help: "the fatbin to write",
    },
    PeerOption {
        names: &["image3"],
        value: Some("kind=elf|ptx|nvvm,sm=N,file=F"),
        help: "an image; may be repeated",
    },
    PeerOption {
        names: &["image"],
        value: Some("profile=sm_N|compute_N,file=F"),
        help: "an image, as fatbinary before 13 takes it",
    },
    PeerOption {
        names: &["64"],
        value: None,
        help: "the images are for 64-bit hosts, as they are by default",
    },
    PeerOption {
        names: &["debug", "g"],
        value: None,
        help: "the images were compiled with debug information",
    },
    PeerOption {
        names: &["ident"],
        value: Some("name"),
        help: "the name of the source, kept beside the images",
    },
    PeerOption {
        names: &["cmdline"],
        value: Some("options"),
        help: "options for ptxas, kept beside PTX",
    },
    PeerOption {
        names: &["cicc-cmdline"],
        value: Some("options"),
        help: "options for cicc, kept beside LTO-IR",
    },
    PeerOption {
        names: &["compress"],
        value: Some("true|false"),
        help: "compress PTX and images for debugging (default true)",
    },
    PeerOption {
        names: &["compress-all"],
        value: None,
        help: "compress all images",
    },
    PeerOption {
        names: &["compress-mode"],
        value: Some("default|size|speed|balance|none"),
        help: "how to compress; size compresses all images",
    },
    PeerOption {
        names: &["device-c", "c"],
        value: None,
        help: "the code is relocatable; compress all images",
    },
    PeerOption {
        names: &["link"],
        value: None,
        help: "the code is linked; matters to an embedded fatbin",
    },
    PeerOption {
        names: &["no-asm"],
        value: None,
        help: "an embedded fatbin without asm, as it always is here",
    },
    PeerOption {
        names: &["options-file", "optf"],
        value: Some("file,..."),
        help: "read options from files",
    },
    PeerOption {
        names: &["help", "h"],
        value: None,
        help: "show the options",
    },
    PeerOption {
        names: &["version", "V"],
        value: None,
        help: "show the version",
    },
    PeerOption {
        names: &["32"],
        value: None,
        help: "the images, PTX only, are for 32-bit hosts",
    },
    PeerOption {
        names: &["embedded-fatbin", "fatbin"],
        value: Some("file"),
        help: "write the fatbin as a C file",
    },
    PeerOption {
        names: &["image2"],
        value: Some("kind=reloc,file=F"),
        help: "a fatbin or a file of relocatable code, whose PTX is taken",
    },
];

/// Carries the line out. Without anything to create it does nothing.
///
/// # Errors
/// [`Error`] when files can't be read or written or the line makes no sense.
pub fn run(arguments: Vec<OsString>, _: Options) -> Result<(), Error> {
    let no_arguments = arguments.is_empty();
    let mut line = PeerLine::read(&[TABLE], arguments.clone())?;
    if let Some(files) = line.text("options-file") {
        let mut all = arguments;
        for file in files.split(',') {
            let text = mapped_file::map(Path::new(file))?;
            let words = String::from_utf8_lossy(&text).into_owned();
            all.extend(words.split_whitespace().map(OsString::from));
        }
        line = PeerLine::read(&[TABLE], all)?;
    }
    if line.has("version") {
        return report::print(&help::version());
    }
    if line.has("help") || no_arguments || !line.inputs.is_empty() {
        let usage = "fatbinary --create FILE --image3=kind=KIND,sm=ARCH,file=IMAGE";
        return report::print(&line::help(usage, &[TABLE]));
    }
    let compress = compress(&line)?;
    let mut images = Vec::new();
    for (option, value) in images_of(&line) {
        images.push(Image::read(option, &value)?);
    }
    let mut contents: Vec<Bytes> = Vec::new();
    for image in &images {
        contents.push(mapped_file::map(Path::new(&image.file))?);
    }
    let mut fatbins = Vec::new();
    for value in line.all("image2") {
        fatbins.extend(relocatable::fatbins(&value.to_string_lossy())?);
    }
    let mut entries = Vec::new();
    for (image, data) in images.iter().zip(&contents) {
        entries.push(entry(image, data, &line, compress)?);
    }
    entries.extend(relocatable::ptx(&fatbins)?);
    if let Some(output) = line.last("create") {
        output_file::write(Path::new(output), |out| {
            fatbin::write(&entries, out).map_err(|error| Error::from(BundleError::from(error)))
        })?;
    }
    if let Some(output) = line.last("embedded-fatbin") {
        let mut fatbin = Vec::new();
        fatbin::write(&entries, &mut fatbin).map_err(BundleError::from)?;
        let linkage = Linkage {
            relocatable: line.has("device-c"),
            linked: line.has("link"),
        };
        output_file::write(Path::new(output), |out| {
            embedded::write(&fatbin, linkage, out)
                .map_err(|error| Error::from(BundleError::from(fatbin::WriteError::from(error))))
        })?;
    }
    Ok(())
}

/// The image options with their values. The peer keeps them in order, and they
/// are of one form in every line that a compiler writes.
fn images_of(line: &PeerLine) -> Vec<(&'static str, String)> {
    let values = |option: &'static str| {
        line.all(option)
            .map(move |value| (option, value.to_string_lossy().into_owned()))
            .collect::<Vec<_>>()
    };
    [values("image"), values("image3")].concat()
}

/// What is compressed, and how.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Compress {
    how: Compression,
    all: bool,
}

fn compress(line: &PeerLine) -> Result<Compress, PeerError> {
    let bad = |option: &str, value: &str, expected| PeerError::BadValue {
        option: option.into(),
        value: value.into(),
        expected,
    };
    let mode = line.text("compress-mode");
    let mode = mode.as_deref().unwrap_or("default");
    let mut compress = Compress {
        how: match mode {
            "default" | "balance" => Compression::ZSTD,
            "size" => Compression::ZSTD_SMALLEST,
            "speed" => Compression::Lz4,
            "none" => Compression::None,
            other => {
                let expected = "default, size, speed, balance or none";
                return Err(bad("--compress-mode", other, expected));
            }
        },
        // Relocatable code never gets to a driver, so it does not matter
        // that inflating it takes time.
        all: line.has("compress-all") || line.has("device-c") || mode == "size",
    };
    match line.text("compress").as_deref() {
        None | Some("true") => {}
        Some("false") => compress.how = Compression::None,
        Some(other) => return Err(bad("--compress", other, "true or false")),
    }
    Ok(compress)
}

/// One image argument.
#[derive(Debug, PartialEq, Eq)]
struct Image {
    kind: Kind,
    arch: String,
    file: String,
}

impl Image {
    fn read(option: &str, text: &str) -> Result<Self, PeerError> {
        let fault = |fault: String| PeerError::Image {
            image: text.into(),
            fault,
        };
        if option == "image" {
            let [profile, file] = values(text, ["profile", "file"])?;
            let is_ptx = profile.starts_with("compute_");
            return Ok(Self {
                kind: if is_ptx { Kind::Ptx } else { Kind::Elf },
                arch: profile.into(),
                file: file.into(),
            });
        }
        let [kind, arch, file] = values(text, ["kind", "sm", "file"])?;
        let kind = match kind {
            "elf" => Kind::Elf,
            "ptx" => Kind::Ptx,
            "nvvm" => Kind::LtoIr,
            other => return Err(fault(format!("has kind '{other}', not elf, ptx or nvvm"))),
        };
        Ok(Self {
            kind,
            arch: arch.into(),
            file: file.into(),
        })
    }
}

/// The values of all of `keys` in an image argument.
fn values<'a, const N: usize>(text: &'a str, keys: [&str; N]) -> Result<[&'a str; N], PeerError> {
    let fault = |fault: String| PeerError::Image {
        image: text.into(),
        fault,
    };
    let mut values: [Option<&str>; N] = [None; N];
    for part in text.split(',') {
        let (key, value) = part.split_once('=').unwrap_or((part, ""));
        let at = keys
            .iter()
            .position(|known| *known == key)
            .ok_or_else(|| fault(format!("has the unknown key '{key}'")))?;
        if values[at].replace(value).is_some() {
            return Err(fault(format!("has {key}= twice")));
        }
    }
    if let Some(at) = values.iter().position(Option::is_none) {
        return Err(fault(format!("lacks {}=", keys[at])));
    }
    Ok(values.map(Option::unwrap_or_default))
}

fn entry<'a>(
    image: &Image,
    data: &'a Bytes,
    line: &PeerLine,
    compress: Compress,
) -> Result<Entry<'a>, PeerError> {
    let made = match image.kind {
        Kind::LtoIr => Entry::from_lto_ir(&image.arch, data),
        _ => Entry::from_image(&image.arch, data),
    };
    let mut entry = made.map_err(|source| PeerError::Fatbin {
        file: image.file.clone(),
        source,
    })?;
    if entry.kind != image.kind {
        return Err(PeerError::Image {
            image: image.file.clone(),
            fault: "is not of the kind that the line says".into(),
        });
    }
    if line.has("64") && line.has("32") {
        return Err(PeerError::Mismatch("--32 and --64 exclude each other"));
    }
    if line.has("32") && entry.kind == Kind::Elf {
        return Err(PeerError::Image {
            image: image.file.clone(),
            fault: "is a cubin, which there is none of for --32".into(),
        });
    }
    // The line counts, not what PTX says of itself.
    entry.flags |= FLAG_64_BIT;
    if line.has("32") {
        entry.flags &= !FLAG_64_BIT;
    }
    if line.has("debug") {
        entry.flags |= FLAG_DEBUG;
    }
    let identifier = line.text("ident").map(String::into_bytes);
    entry.identifier = identifier.map(Into::into);
    let options = match entry.kind {
        Kind::Ptx => line.text("cmdline"),
        Kind::LtoIr => line.text("cicc-cmdline"),
        _ => None,
    };
    if let Some(options) = options {
        entry.options = Some(options.into_bytes().into());
    }
    // The peer scrambles the LTO-IR that it compresses, and how is NVIDIA's secret.
    if entry.kind != Kind::LtoIr && (compress.all || entry.is_compressed_by_default()) {
        entry.compression = compress.how;
    }
    Ok(entry)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(line: &str) -> PeerLine {
        let arguments = line.split_whitespace().map(OsString::from).collect();
        PeerLine::read(&[TABLE], arguments).unwrap()
    }

    #[test]
    fn images_in_both_forms() {
        let image = |option, text| Image::read(option, text).unwrap();
        let new = image("image3", "file=a,kind=elf,sm=90a");
        assert_eq!((new.kind, new.arch.as_str()), (Kind::Elf, "90a"));
        let old = image("image", "profile=compute_90,file=a");
        assert_eq!((old.kind, old.arch.as_str()), (Kind::Ptx, "compute_90"));
        for (text, fault) in [
            ("kind=elf,sm=80", "lacks file="),
            ("kind=elf,file=a", "lacks sm="),
            ("sm=80,file=a", "lacks kind="),
            ("kind=lib,sm=80,file=a", "'lib'"),
            ("kind=elf,kind=ptx,sm=80,file=a", "twice"),
            ("kind=elf,sm=80,file=a,x=y", "'x'"),
        ] {
            let error = Image::read("image3", text).unwrap_err().to_string();
            assert!(error.contains(fault), "{error}");
        }
    }

    #[test]
    fn modes_of_compression() {
        let mode = |line: &str| compress(&read(line)).map(|c| (c.how, c.all)).ok();
        assert_eq!(mode(""), Some((Compression::ZSTD, false)));
        assert_eq!(
            mode("--compress-mode=size"),
            Some((Compression::ZSTD_SMALLEST, true))
        );
        assert_eq!(
            mode("-compress-mode speed -compress-all"),
            Some((Compression::Lz4, true))
        );
        assert_eq!(mode("-c"), Some((Compression::ZSTD, true)));
        assert_eq!(mode("--compress false"), Some((Compression::None, false)));
        assert_eq!(mode("--compress-mode=tiny"), None);
        assert_eq!(mode("--compress=maybe"), None);
    }
}
