//! Reading the result back: what the host code expects must be in it.

use super::device::DeviceImage;
use super::select::{Entries, Selected};
use offlink_bundle::entry::{self, OffloadEntry};
use offlink_bundle::image;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use thiserror::Error;

use crate::mapped_file::{self, ReadError};

/// The output would not work.
#[derive(Debug, Error)]
pub enum VerifyError {
    /// The host code launches a kernel, or uses a variable, that no image has.
    #[error(
        "no device image defines {what} '{name}', which '{origin}' needs; {}",
        remedy(targets)
    )]
    NoDefinition {
        /// Kernel or variable.
        what: &'static str,
        /// Its name.
        name: String,
        /// The host object, or the output.
        origin: String,
        /// The targets that there are images for.
        targets: Vec<String>,
    },
    /// The host linker dropped entries.
    #[error(
        "the host linker kept {found} of {expected} bytes of offload entries in '{}', so that \
         kernels would be missing; link with -z nostart-stop-gc or without --gc-sections",
        output.display()
    )]
    EntriesLost {
        /// The output.
        output: PathBuf,
        /// Bytes found.
        found: u64,
        /// Bytes expected at least.
        expected: u64,
    },
    /// The output can't be read.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// The entries of the output can't be read.
    #[error("cannot read the offload entries of '{}': {source}", output.display())]
    Entries {
        /// The output.
        output: PathBuf,
        /// What is wrong.
        source: entry::Error,
    },
    /// An image can't be read.
    #[error("cannot read the symbols of the device image for {target}: {source}")]
    Image {
        /// The image's target.
        target: String,
        /// What is wrong.
        source: image::Error,
    },
}

fn remedy(targets: &[String]) -> String {
    if targets.is_empty() {
        "no device code was taken into the link; name its object, or the code with \
         --offlink-image (what source files, linker scripts and -flto objects need from \
         archives can't be seen)"
            .into()
    } else {
        format!(
            "there are images for {}; is its device code part of the link?",
            targets.join(", ")
        )
    }
}

/// Checks, before anything is linked, what can be known then: entries need
/// device code.
///
/// # Errors
/// [`VerifyError::NoDefinition`] when there are entries but no device code.
pub fn has_device_code(selected: &Selected) -> Result<(), VerifyError> {
    if !selected.device.is_empty() {
        return Ok(());
    }
    let named = selected
        .entries
        .entries
        .iter()
        .find(|(_, entry)| !entry.name.is_empty());
    named.map_or(Ok(()), |(origin, entry)| {
        Err(no_definition(entry, origin, &[]))
    })
}

/// Checks the linked file against its inputs' entries and the images in it. An
/// output that is no regular file, such as `/dev/null`, has nothing to check.
///
/// # Errors
/// [`VerifyError`] for the first entry that has no definition in any image, or
/// when entries were lost.
pub fn verify(
    output: &Path,
    expected: &Entries,
    images: &[DeviceImage],
) -> Result<(), VerifyError> {
    if !output.is_file() {
        return Ok(());
    }
    let definitions = Definitions::of(images)?;
    let file = mapped_file::map(output)?;
    let failed = |source| VerifyError::Entries {
        output: output.into(),
        source,
    };
    let found = entry::entries_size(&file).map_err(failed)?;
    if found < expected.size {
        return Err(VerifyError::EntriesLost {
            output: output.into(),
            found,
            expected: expected.size,
        });
    }
    let entries = entry::read_linked(&file).map_err(failed)?;
    match entries.iter().find(|entry| definitions.lack(entry)) {
        None => Ok(()),
        Some(missing) => {
            let same_name = |(_, known): &&(String, OffloadEntry)| known.name == missing.name;
            let origin = match expected.entries.iter().find(same_name) {
                Some((origin, _)) => origin.clone(),
                None => output.display().to_string(),
            };
            Err(no_definition(missing, &origin, images))
        }
    }
}

fn no_definition(entry: &OffloadEntry, origin: &str, images: &[DeviceImage]) -> VerifyError {
    VerifyError::NoDefinition {
        what: if entry.size == 0 {
            "kernel"
        } else {
            "variable"
        },
        name: entry.name.clone(),
        origin: origin.into(),
        targets: images
            .iter()
            .map(|image| image.target.to_string())
            .collect(),
    }
}

/// The symbols that the images define.
#[derive(Default)]
struct Definitions {
    kernels: BTreeSet<String>,
    all: BTreeSet<String>,
}

impl Definitions {
    fn of(images: &[DeviceImage]) -> Result<Self, VerifyError> {
        let mut definitions = Self::default();
        for image in images {
            let failed = |source| VerifyError::Image {
                target: image.target.to_string(),
                source,
            };
            definitions
                .kernels
                .extend(image::kernels(&image.data).map_err(failed)?);
            definitions
                .all
                .extend(image::device_symbols(&image.data).map_err(failed)?);
        }
        Ok(definitions)
    }

    /// A plain entry of size 0 is a kernel; one without a name carries settings
    /// and names no symbol.
    fn lack(&self, entry: &OffloadEntry) -> bool {
        let defined = match (entry.size, entry.flags) {
            (0, 0) => &self.kernels,
            _ => &self.all,
        };
        !entry.name.is_empty() && !defined.contains(&entry.name)
    }
}
