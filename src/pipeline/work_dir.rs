//! Where a link keeps what it makes on the way.

use std::path::{Path, PathBuf};
use tempfile::TempDir;
use thiserror::Error;

/// A directory for temporary files: removed at the end, also after a failure,
/// unless the user named one.
#[derive(Debug)]
pub enum WorkDir {
    /// Removed at the end.
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
    /// files.
    ///
    /// # Errors
    /// [`WorkDirError`] when that fails.
    pub fn new(keep: Option<&Path>) -> Result<Self, WorkDirError> {
        let failed = |source| WorkDirError {
            path: keep.map(Path::to_owned),
            source,
        };
        match keep {
            Some(path) => {
                std::fs::create_dir_all(path).map_err(failed)?;
                Ok(Self::Kept(path.into()))
            }
            None => tempfile::Builder::new()
                .prefix("offlink-")
                .tempdir()
                .map(Self::Temporary)
                .map_err(failed),
        }
    }

    /// The directory.
    pub fn path(&self) -> &Path {
        match self {
            Self::Temporary(dir) => dir.path(),
            Self::Kept(path) => path,
        }
    }
}
