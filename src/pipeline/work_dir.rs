//! Where a link keeps what it makes on the way.

use crate::files;
use std::path::{Path, PathBuf};
use tempfile::TempDir;
use thiserror::Error;

/// A place for intermediate files.
#[derive(Debug)]
pub struct WorkDir {
    place: Place,
    /// What the names of all files begin with.
    stem: String,
}

#[derive(Debug)]
enum Place {
    /// Removed at the end, also after a failure.
    Temporary(TempDir),
    /// Kept.
    Kept(PathBuf),
}

/// There is no place for temporary files.
#[derive(Debug, Error)]
#[error("cannot make a directory for temporary files{}: {source}", place(.path.as_deref()))]
pub struct WorkDirError {
    path: Option<PathBuf>,
    source: std::io::Error,
}

fn place(path: Option<&Path>) -> String {
    path.map(|path| format!(" at '{}'", path.display()))
        .unwrap_or_default()
}

impl WorkDir {
    /// Makes `keep`, or a new directory where the system has its temporary
    /// files, which is removed at the end. The names of all files will begin
    /// with `stem`.
    ///
    /// # Errors
    /// [`WorkDirError`] when that fails.
    pub fn new(keep: Option<&Path>, stem: &str) -> Result<Self, WorkDirError> {
        let failed = |source| WorkDirError {
            path: keep.map(Path::to_owned),
            source,
        };
        let place = match keep {
            Some(path) => {
                std::fs::create_dir_all(path).map_err(failed)?;
                Place::Kept(path.into())
            }
            None => tempfile::Builder::new()
                .prefix("offlink-")
                .tempdir()
                .map(Place::Temporary)
                .map_err(failed)?,
        };
        let stem = stem.into();
        Ok(Self { place, stem })
    }

    /// The path of the file `<stem>.<name>`.
    pub fn file(&self, name: &str) -> PathBuf {
        let path = self.path().join(format!("{}.{name}", self.stem));
        files::intermediate(&path);
        path
    }

    /// Whether its files stay.
    pub fn is_kept(&self) -> bool {
        matches!(self.place, Place::Kept(_))
    }

    fn path(&self) -> &Path {
        match &self.place {
            Place::Temporary(dir) => dir.path(),
            // The current directory goes without saying in names.
            Place::Kept(path) if path == Path::new(".") => Path::new(""),
            Place::Kept(path) => path,
        }
    }
}
