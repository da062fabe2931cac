//! The last step of a relocatable link: the output registers its own entries and
//! no other's, so that any linker can go on with it.

use crate::mapped_file::{self, ReadError};
use crate::output_file::{self, OutputError};
use offlink_bundle::seal;
use std::fs::File;
use std::path::{Path, PathBuf};
use thiserror::Error;

/// The output of a relocatable link can't be sealed.
#[derive(Debug, Error)]
pub enum SealError {
    /// It can't be read.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// It can't be written.
    #[error(transparent)]
    Output(#[from] OutputError),
    /// It is not what the host linker should have made.
    #[error("cannot give the offload entries of '{}' a name of their own: {source}", object.display())]
    Object {
        /// The output.
        object: PathBuf,
        /// What is wrong.
        source: seal::Error,
    },
}

/// Seals the relocatable object at `path`.
///
/// # Errors
/// [`SealError`]; the object is as it was then.
pub fn in_place(path: &Path) -> Result<(), SealError> {
    seal_to(path, path)
}

/// Seals the relocatable object at `path` and writes the result to `output`.
///
/// # Errors
/// [`SealError`]; `output` is as it was then.
pub fn seal_to(path: &Path, output: &Path) -> Result<(), SealError> {
    let failed = |source| SealError::Object {
        object: path.into(),
        source,
    };
    let object = mapped_file::map(path)?;
    // By reading: of a mapping all that was looked at stays in memory.
    let id = File::open(path).and_then(|mut file| seal::id(&mut file));
    let id = id.map_err(|error| failed(error.into()))?;
    output_file::write(output, |out| seal::seal(&object, id, out).map_err(failed))
}
