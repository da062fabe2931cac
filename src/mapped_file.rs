//! Input files, mapped once and shared.

use bytes::Bytes;
use std::fs::File;
use std::path::{Path, PathBuf};
use thiserror::Error;

/// An input file can't be read.
#[derive(Debug, Error)]
#[error("cannot read '{}': {source}", path.display())]
pub struct ReadError {
    path: PathBuf,
    source: std::io::Error,
}

impl From<ReadError> for std::io::Error {
    fn from(error: ReadError) -> Self {
        Self::new(error.source.kind(), error)
    }
}

/// Maps the regular file at `path` for reading; slices of the result keep the
/// mapping alive, so no byte is copied.
///
/// # Errors
/// [`ReadError`] when the file can't be opened or mapped, or is a directory.
pub fn map(path: &Path) -> Result<Bytes, ReadError> {
    map_file(path).map_err(|source| ReadError {
        path: path.into(),
        source,
    })
}

#[allow(unsafe_code)]
fn map_file(path: &Path) -> std::io::Result<Bytes> {
    let file = File::open(path)?;
    let metadata = file.metadata()?;
    if metadata.is_dir() {
        return Err(std::io::ErrorKind::IsADirectory.into());
    }
    // A pipe or device has no length to map.
    if !metadata.is_file() {
        return std::fs::read(path).map(Bytes::from);
    }
    if metadata.len() == 0 {
        return Ok(Bytes::new());
    }
    // SAFETY: the mapping is private and read-only. Another process that
    // truncates the file during the link can still end us with SIGBUS, as it
    // can any linker that maps its inputs; offlink itself writes every output
    // to a new file and renames it, so it never changes a mapped file.
    let map = unsafe { memmap2::Mmap::map(&file)? };
    Ok(Bytes::from_owner(map))
}
