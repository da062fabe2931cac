//! Reading the result back: what the host code expects must be in it.

use super::device::DeviceImage;
use super::select::Entries;
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
        "no device image defines {what} '{name}', which {origin} needs; {}",
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
        "the link has no device code at all; add it, for instance with --offlink-image".into()
    } else {
        format!(
            "there are images for {}; is its device code part of the link?",
            targets.join(", ")
        )
    }
}

/// Checks the linked file against its inputs' entries and the images in it.
///
/// # Errors
/// [`VerifyError`] for the first entry that has no definition in any image, or
/// when entries were lost.
pub fn verify(
    output: &Path,
    expected: &Entries,
    images: &[DeviceImage],
) -> Result<(), VerifyError> {
    let definitions = definitions(images)?;
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
    for entry in entry::read_linked(&file).map_err(failed)? {
        if is_missing(&entry, &definitions) {
            let origin = expected
                .entries
                .iter()
                .find(|(_, known)| known.name == entry.name);
            return Err(VerifyError::NoDefinition {
                what: if entry.size == 0 {
                    "kernel"
                } else {
                    "variable"
                },
                name: entry.name,
                origin: match origin {
                    Some((origin, _)) => format!("'{origin}'"),
                    None => format!("'{}'", output.display()),
                },
                targets: images
                    .iter()
                    .map(|image| image.target.to_string())
                    .collect(),
            });
        }
    }
    Ok(())
}

/// Entries without a name carry settings, not symbols.
fn is_missing(entry: &OffloadEntry, definitions: &BTreeSet<String>) -> bool {
    !entry.name.is_empty() && !definitions.contains(&entry.name)
}

fn definitions(images: &[DeviceImage]) -> Result<BTreeSet<String>, VerifyError> {
    let mut names = BTreeSet::new();
    for image in images {
        let symbols = image::device_symbols(&image.data).map_err(|source| VerifyError::Image {
            target: image.target.to_string(),
            source,
        })?;
        names.extend(symbols);
    }
    Ok(names)
}
