//! Reading the result back: what the host code expects must be in it.

use super::device::{DeviceImage, ImageSymbols};
use super::group::REGISTERED;
use super::select::{Entries, Selected};
use offlink_bundle::entry::{self, Generation, OffloadEntry};
use offlink_bundle::image;
use offlink_bundle::offload_binary::OffloadKind;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use thiserror::Error;

use crate::mapped_file::{self, ReadError};

/// The output would not work.
#[derive(Debug, Error)]
pub enum VerifyError {
    /// The host code launches a kernel, or uses a variable, that no image has.
    #[error(
        "no device image defines {kind} {what} '{name}', which '{origin}' needs; {}",
        remedy(targets)
    )]
    NoDefinition {
        /// The offload kind of the entry.
        kind: &'static str,
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
    /// The registration code does not see an entry of the output.
    #[error(
        "'{}' has the {kind} offload entry '{name}' of {}, but its others are those of {}; \
         compile all files with one version of clang",
        output.display(),
        found.compilers(),
        registered.compilers()
    )]
    Form {
        /// The output.
        output: PathBuf,
        /// The offload kind of the entry.
        kind: &'static str,
        /// Its name.
        name: String,
        /// Its form.
        found: Generation,
        /// The form of the entries that are registered.
        registered: Generation,
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
         --offlink-image (what source files need from archives can't be seen)"
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
    let entries = entry::read(&file).map_err(failed)?;
    match entries.iter().find(|entry| definitions.lack(entry)) {
        None => check_forms(output, &entries, expected),
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

/// Objects that were not expected in the link may have entries of another form.
fn check_forms(
    output: &Path,
    entries: &[OffloadEntry],
    expected: &Entries,
) -> Result<(), VerifyError> {
    for kind in REGISTERED {
        let registered = expected.form(kind);
        let mut of_kind = entries.iter().filter(|entry| entry.is_of(kind));
        if let Some(entry) = of_kind.find(|entry| entry.generation != registered) {
            return Err(VerifyError::Form {
                output: output.into(),
                kind: kind.as_str(),
                name: entry.name.clone(),
                found: entry.generation,
                registered,
            });
        }
    }
    Ok(())
}

fn no_definition(entry: &OffloadEntry, origin: &str, images: &[DeviceImage]) -> VerifyError {
    VerifyError::NoDefinition {
        kind: OffloadKind::from_number(entry.kind).as_str(),
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

/// The symbols that the images of one offload kind define.
#[derive(Default)]
struct Symbols {
    kernels: BTreeSet<String>,
    all: BTreeSet<String>,
}

/// The symbols of all images, by the number of the kind that is registered for
/// them.
#[derive(Default)]
struct Definitions(BTreeMap<u16, Symbols>);

impl Definitions {
    fn of(images: &[DeviceImage]) -> Result<Self, VerifyError> {
        let mut definitions = Self::default();
        for image in images {
            let failed = |source| VerifyError::Image {
                target: image.target.to_string(),
                source,
            };
            let ImageSymbols { kernels, all } = match &image.symbols {
                Some(symbols) => symbols.clone(),
                None => ImageSymbols {
                    kernels: image::kernels(&image.data).map_err(failed)?,
                    all: image::device_symbols(&image.data).map_err(failed)?,
                },
            };
            for kind in &image.kinds {
                let symbols = definitions.0.entry(kind.number()).or_default();
                symbols.kernels.extend(kernels.iter().cloned());
                symbols.all.extend(all.iter().cloned());
            }
        }
        Ok(definitions)
    }

    /// Whether no image of the entry's kind defines what it names.
    fn lack(&self, entry: &OffloadEntry) -> bool {
        match self.0.get(&entry.kind) {
            Some(symbols) => lacks(&symbols.kernels, &symbols.all, entry),
            None => lacks(&BTreeSet::new(), &BTreeSet::new(), entry),
        }
    }
}

/// Whether an image of these kernels and symbols lacks what the entry names. An
/// entry without a name carries settings and names nothing.
pub fn lacks(kernels: &BTreeSet<String>, all: &BTreeSet<String>, entry: &OffloadEntry) -> bool {
    if entry.name.is_empty() || is_reference(entry) {
        return false;
    }
    match (entry.size, entry.flags) {
        // A plain entry of size 0 is a kernel.
        (0, 0) => !kernels.contains(&entry.name),
        // HIP's device code has a managed variable under a name of its own.
        _ => ![entry.name.clone(), format!("{}.managed", entry.name)]
            .iter()
            .any(|name| all.contains(name)),
    }
}

/// Surfaces and textures are resolved by the runtime, and may have been
/// optimised out of the image.
fn is_reference(entry: &OffloadEntry) -> bool {
    const KIND_MASK: u32 = 7;
    const SURFACE: u32 = 2;
    const TEXTURE: u32 = 3;
    let is_openmp = entry.kind == OffloadKind::OpenMp.number();
    !is_openmp && matches!(entry.flags & KIND_MASK, SURFACE | TEXTURE)
}
