//! Whether the OpenMP runtime that the line names reads the program's entries. It is
//! handed them as they are, and an older one takes a newer form for its own: programs
//! of clang 22 crash with libomptarget 19.1.7. Newer ones read the older forms too.

use super::scan::{Item, Scanned};
use super::select::Entries;
use crate::mapped_file::{self, ReadError};
use goblin::elf::Elf;
use offlink_bundle::entry::Generation;
use offlink_bundle::offload_binary::OffloadKind;
use std::path::{Path, PathBuf};
use thiserror::Error;

/// The runtime can't be taken.
#[derive(Debug, Error)]
pub enum OpenMpRuntimeError {
    /// It is too old for the entries.
    #[error(
        "'{}' is of LLVM {version} and does not read the offload entries of '{origin}', which \
         are those of {}; link with the libomptarget of that clang",
        library.display(),
        entries.compilers()
    )]
    TooOld {
        /// The library.
        library: PathBuf,
        /// Its major version.
        version: u32,
        /// An object with entries for OpenMP.
        origin: String,
        /// Their form.
        entries: Generation,
    },
    /// It can't be read.
    #[error(transparent)]
    Read(#[from] ReadError),
}

/// Checks the libraries of the line against the entries for OpenMP. A library that
/// does not tell its version in its name for the dynamic linker is taken.
///
/// # Errors
/// [`OpenMpRuntimeError`].
pub fn check(scanned: &Scanned, entries: &Entries) -> Result<(), OpenMpRuntimeError> {
    let Some((origin, entry)) = entries.first(OffloadKind::OpenMp) else {
        return Ok(());
    };
    const LAST_WITH_OLD_ENTRIES: u32 = 19;
    if entry.generation == Generation::Llvm19 {
        return Ok(());
    }
    for item in &scanned.items {
        let Item::SharedLibrary(library) = item else {
            continue;
        };
        let version = version_of(library)?.filter(|version| *version <= LAST_WITH_OLD_ENTRIES);
        if let Some(version) = version {
            return Err(OpenMpRuntimeError::TooOld {
                library: library.clone(),
                version,
                origin: origin.clone(),
                entries: entry.generation,
            });
        }
    }
    Ok(())
}

/// The major version of LLVM, if the library is a libomptarget that tells it.
fn version_of(library: &Path) -> Result<Option<u32>, ReadError> {
    const NAME: &str = "libomptarget.so";
    let name = library.file_name().unwrap_or_default().to_string_lossy();
    if !name.starts_with(NAME) {
        return Ok(None);
    }
    let data = mapped_file::map(library)?;
    let elf = Elf::parse(&data).ok();
    let version = elf.and_then(|elf| elf.soname?.strip_prefix(NAME)?.strip_prefix('.'));
    Ok(version.and_then(|version| version.split('.').next()?.parse().ok()))
}
