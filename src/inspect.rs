//! What device code a file holds, for people and as JSON.

use crate::Error;
use crate::device_input::DeviceInput;
use crate::mapped_file;
use crate::pipeline::scan::host_object::HostObject;
use crate::pipeline::scan::{self, Item};
use crate::pipeline::select::SelectError;
use offlink_bundle::entry::OffloadEntry;
use offlink_bundle::image::{self, ImageFormat};
use serde::Serialize;
use std::fmt::Write;
use std::path::Path;

/// What one file holds.
#[derive(Debug, Serialize)]
pub struct FileReport {
    /// The file.
    pub file: String,
    /// Its device code, in order.
    pub images: Vec<ImageReport>,
    /// Its offload entries, in order.
    pub entries: Vec<EntryReport>,
}

/// One piece of device code.
#[derive(Debug, Serialize)]
pub struct ImageReport {
    /// Where in the file: the file itself or an archive member.
    pub origin: String,
    /// The offload kind, or `none`.
    pub kind: String,
    /// The device triple; empty if nothing tells it.
    pub triple: String,
    /// The arch or target ID; empty if nothing tells it.
    pub arch: String,
    /// What the bytes are.
    pub format: String,
    /// Size in bytes.
    pub size: usize,
    /// The kernels that it defines; none for formats that don't tell.
    pub kernels: Vec<String>,
}

/// One offload entry.
#[derive(Debug, Serialize)]
pub struct EntryReport {
    /// The symbol that the device image is to define.
    pub name: String,
    /// The offload kinds, as the bits of the entry.
    pub kind: u16,
    /// 0 for a kernel, else the variable's size in bytes.
    pub size: u64,
    /// The flags of the entry.
    pub flags: u32,
}

/// The device code and the offload entries of one file.
#[derive(Debug, Default)]
pub struct Contents {
    /// Its device code, in order.
    pub images: Vec<DeviceInput>,
    /// Its offload entries, in order.
    pub entries: Vec<OffloadEntry>,
}

/// Reads the device code and the entries of a file as [`file()`] lists them, less
/// a file that is itself a bare image.
///
/// # Errors
/// [`Error`] when the file can't be read or is damaged.
pub fn contents(path: &Path) -> Result<Contents, Error> {
    let mut contents = Contents::default();
    for item in scan::whole_file(path)? {
        match item {
            Item::Object(object) => contents.add_object(&object)?,
            Item::Device(inputs) => contents.images.extend(inputs),
            Item::Archive(_) | Item::SharedLibrary(_) => {}
        }
    }
    Ok(contents)
}

/// Looks into a program, library, object, archive, offload binary or a bare
/// device image.
///
/// # Errors
/// [`Error`] when the file can't be read or is damaged.
pub fn file(path: &Path) -> Result<FileReport, Error> {
    let name = path.display().to_string();
    let contents = contents(path)?;
    let mut report = FileReport {
        file: name.clone(),
        images: contents.images.iter().map(describe).collect(),
        entries: contents.entries.into_iter().map(EntryReport::of).collect(),
    };
    if report.images.is_empty() && report.entries.is_empty() {
        let data = mapped_file::map(path)?;
        if is_device_image(&data) {
            report.images.push(describe_bytes(&name, &data));
        }
    }
    Ok(report)
}

impl Contents {
    fn add_object(&mut self, object: &HostObject) -> Result<(), Error> {
        self.images.extend(object.device_inputs()?);
        self.images.extend(object.registered_images()?);
        if !object.has_entries {
            return Ok(());
        }
        let failed = |source| SelectError::Entries {
            origin: object.name.clone(),
            source,
        };
        self.entries.extend(object.entries().map_err(failed)?);
        Ok(())
    }
}

impl EntryReport {
    fn of(entry: OffloadEntry) -> Self {
        Self {
            name: entry.name,
            kind: entry.kind,
            size: entry.size,
            flags: entry.flags,
        }
    }
}

fn is_device_image(data: &[u8]) -> bool {
    !matches!(
        ImageFormat::detect(data),
        ImageFormat::Unknown | ImageFormat::ElfRelocatable(_) | ImageFormat::ElfShared(_)
    )
}

/// What is listed of one image.
pub fn describe(input: &DeviceInput) -> ImageReport {
    ImageReport {
        kind: input.kind.as_str().into(),
        triple: input.triple.clone(),
        arch: input.arch.clone(),
        ..describe_bytes(&input.source, &input.data)
    }
}

fn describe_bytes(origin: &str, data: &[u8]) -> ImageReport {
    ImageReport {
        origin: origin.into(),
        kind: "none".into(),
        triple: String::new(),
        arch: String::new(),
        format: ImageFormat::detect(data).to_string(),
        size: data.len(),
        // Containers and bitcode keep their kernels where only others see them.
        kernels: image::kernels(data)
            .unwrap_or_default()
            .into_iter()
            .collect(),
    }
}

/// The reports as lines for people.
pub fn text(reports: &[FileReport]) -> String {
    let mut text = String::new();
    for report in reports {
        let (images, entries) = (report.images.len(), report.entries.len());
        let _ = writeln!(
            text,
            "{}: {}, {}",
            report.file,
            count(images, "image"),
            entry_count(entries)
        );
        for image in &report.images {
            let target = format!("{} {}", image.triple, image.arch);
            let _ = writeln!(
                text,
                "  {:<7} {:<33} {:<22} {:>9} bytes  {}",
                image.kind,
                target.trim(),
                image.format,
                image.size,
                image.kernels.join(" ")
            );
            if image.origin != report.file {
                let _ = writeln!(text, "          in {}", image.origin);
            }
        }
        for entry in &report.entries {
            let what = if entry.size == 0 {
                "kernel".into()
            } else {
                format!("{} bytes", entry.size)
            };
            let _ = writeln!(text, "  entry   {} ({what})", entry.name);
        }
    }
    text
}

/// `1 image`, `2 images`.
pub fn count(number: usize, what: &str) -> String {
    format!("{number} {what}{}", if number == 1 { "" } else { "s" })
}

/// `1 entry`, `2 entries`.
pub fn entry_count(number: usize) -> String {
    if number == 1 {
        "1 entry".into()
    } else {
        format!("{number} entries")
    }
}
