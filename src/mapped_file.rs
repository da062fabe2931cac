//! Input files, mapped once and shared.

use crate::files;
use bytes::Bytes;
use memmap2::Mmap;
use std::collections::BTreeMap;
use std::fs::{File, Metadata};
use std::io::{Seek, SeekFrom};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use thiserror::Error;

/// From this size in bytes on it pays to look for the file that bytes came from.
pub const LARGE: usize = 1 << 20;

/// The files of the large mappings, by the address that a mapping begins at.
static LARGE_FILES: Mutex<BTreeMap<usize, MappedFile>> = Mutex::new(BTreeMap::new());

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
    let contents = map_unlisted(path)?;
    files::read(path);
    Ok(contents)
}

/// As [`map`], for a file that lists of inputs are not to name: the cache reads such
/// to know them.
///
/// # Errors
/// Those of [`map`].
pub fn map_unlisted(path: &Path) -> Result<Bytes, ReadError> {
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
    let map = unsafe { Mmap::map(&file)? };
    if map.len() < LARGE {
        return Ok(Bytes::from_owner(map));
    }
    let mapped = MappedFile {
        path: path.into(),
        id: FileId::of(&metadata),
        size: map.len(),
    };
    large_files().insert(map.as_ptr() as usize, mapped);
    Ok(Bytes::from_owner(LargeMap(map)))
}

/// The file that `bytes` are mapped from, open at the first of them: so they can
/// be copied without a page of theirs coming into this process. Nothing if they
/// are from no large mapping, or if another file has taken the place of theirs.
pub fn file_of(bytes: &[u8]) -> Option<File> {
    let address = bytes.as_ptr() as usize;
    let (path, id, offset) = {
        let files = large_files();
        let (start, mapped) = files.range(..=address).next_back()?;
        let offset = address - start;
        if offset + bytes.len() > mapped.size {
            return None;
        }
        (mapped.path.clone(), mapped.id, offset as u64)
    };
    let mut file = File::open(path).ok()?;
    if FileId::of(&file.metadata().ok()?) != id {
        return None;
    }
    file.seek(SeekFrom::Start(offset)).ok()?;
    Some(file)
}

/// What a large mapping shows. The file is not held open: a link may have more
/// inputs than a process may have open files.
struct MappedFile {
    path: PathBuf,
    id: FileId,
    /// In bytes.
    size: usize,
}

#[derive(Clone, Copy, PartialEq, Eq)]
struct FileId {
    device: u64,
    inode: u64,
}

impl FileId {
    fn of(metadata: &Metadata) -> Self {
        Self {
            device: metadata.dev(),
            inode: metadata.ino(),
        }
    }
}

/// A mapping that is in [`LARGE_FILES`] for as long as it lives.
struct LargeMap(Mmap);

impl AsRef<[u8]> for LargeMap {
    fn as_ref(&self) -> &[u8] {
        &self.0
    }
}

impl Drop for LargeMap {
    fn drop(&mut self) {
        large_files().remove(&(self.0.as_ptr() as usize));
    }
}

fn large_files() -> std::sync::MutexGuard<'static, BTreeMap<usize, MappedFile>> {
    // The map is whole between any two of its calls, so a panic elsewhere
    // while it was locked has left nothing half done.
    LARGE_FILES.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Read;

    #[test]
    fn the_file_of_a_slice_is_open_at_its_start() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("image");
        let mut contents = vec![1; LARGE];
        contents.extend([2, 3]);
        std::fs::write(&path, &contents).unwrap();
        let map = map(&path).unwrap();
        let mut rest = Vec::new();
        let mut file = file_of(&map[LARGE..]).unwrap();
        file.read_to_end(&mut rest).unwrap();
        assert_eq!(rest, [2, 3]);
        assert!(file_of(&contents).is_none());

        std::fs::rename(&path, dir.path().join("old")).unwrap();
        std::fs::write(&path, &contents).unwrap();
        assert!(file_of(&map).is_none(), "another file has its name");
        drop(map);
    }
}
