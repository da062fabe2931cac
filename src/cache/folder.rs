//! What lies where in a cache's folder.

use super::digest::Digest;
use crate::output_file;
use std::fs::Metadata;
use std::io;
use std::path::{Path, PathBuf};

/// The folder of the format: offlinks that store otherwise have another.
const FORMAT: &str = "v1";

/// Tells programs that make backups that they can leave the folder out
/// (<https://bford.info/cachedir/>).
const TAG: &str = "Signature: 8a477f597d28d172789f06886806bc55\n\
                   # Device images that offlink can make anew.\n";

/// A cache's folder.
#[derive(Clone, Debug)]
pub struct Folder(PathBuf);

/// The parts of a folder that hold entries.
pub const RECORDS: &str = "records";
/// See [`RECORDS`].
pub const CONTENT: &str = "content";
/// Where damaged files go.
pub const QUARANTINE: &str = "quarantine";

impl Folder {
    /// The folder at `path`, which may not be there.
    pub fn at(path: &Path) -> Self {
        Self(path.join(FORMAT))
    }

    /// The folder at `path`, made if it is not there.
    ///
    /// # Errors
    /// When it can't be made.
    pub fn make(path: &Path) -> io::Result<Self> {
        let folder = Self::at(path);
        let locks = folder.0.join("locks");
        if !locks.is_dir() {
            std::fs::create_dir_all(locks)?;
            output_file::write_bytes(&path.join("CACHEDIR.TAG"), TAG.as_bytes())
                .map_err(io::Error::other)?;
        }
        Ok(folder)
    }

    /// Whether there is one.
    pub fn exists(&self) -> bool {
        self.0.is_dir()
    }

    /// What a key has led to.
    pub fn record(&self, key: &Digest) -> PathBuf {
        self.spread(RECORDS, key)
    }

    /// Bytes, by their digest.
    pub fn content(&self, content: &Digest) -> PathBuf {
        self.spread(CONTENT, content)
    }

    /// The key that somebody's work had last.
    pub fn last_key(&self, of: &Digest) -> PathBuf {
        self.spread("last", of)
    }

    /// The digest of a program, by that of its path.
    pub fn program(&self, path: &Digest) -> PathBuf {
        self.spread("programs", path)
    }

    /// The file that is locked by who does the work called `name`.
    pub fn lock(&self, name: &str) -> PathBuf {
        self.0.join("locks").join(name)
    }

    /// Touched when the folder was pruned.
    pub fn pruned(&self) -> PathBuf {
        self.0.join("pruned")
    }

    /// Moves a damaged file out of the way, where it can be looked at. One that
    /// can't be moved stays and is found damaged again.
    pub fn quarantine(&self, path: &Path) {
        let Some(name) = path.file_name() else {
            return;
        };
        let dir = self.0.join(QUARANTINE);
        let _ = std::fs::create_dir_all(&dir);
        let _ = std::fs::rename(path, dir.join(name));
    }

    /// Few files a folder, as file systems like it.
    fn spread(&self, part: &str, digest: &Digest) -> PathBuf {
        let digits = digest.as_str();
        let mut path = self.0.join(part);
        path.push(&digits[..2]);
        path.push(digits);
        path
    }

    /// The files of one part, in no order. What vanishes meanwhile, or can't be
    /// read, is none, nor is a file that is not complete.
    pub fn files(&self, part: &str) -> Vec<(PathBuf, Metadata)> {
        let mut files = files_below(self.0.join(part));
        files.retain(|(path, _)| !is_unfinished(path));
        files
    }

    /// The files that are being written, or were when their process ended.
    pub fn unfinished(&self) -> Vec<(PathBuf, Metadata)> {
        let mut files = files_below(self.0.clone());
        files.retain(|(path, _)| is_unfinished(path));
        files
    }
}

/// By the name that files have until they are renamed.
fn is_unfinished(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default();
    name.as_encoded_bytes().starts_with(b".")
}

fn files_below(dir: PathBuf) -> Vec<(PathBuf, Metadata)> {
    let mut files = Vec::new();
    let mut dirs = vec![dir];
    while let Some(dir) = dirs.pop() {
        let entries = std::fs::read_dir(dir).into_iter().flatten();
        for entry in entries.filter_map(Result::ok) {
            match entry.metadata() {
                Ok(metadata) if metadata.is_dir() => dirs.push(entry.path()),
                Ok(metadata) => files.push((entry.path(), metadata)),
                Err(_) => {}
            }
        }
    }
    files
}
