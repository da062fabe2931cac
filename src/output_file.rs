//! Output files appear whole or not at all.

use crate::mapped_file;
use std::fs::File;
use std::io::{self, BufWriter, Read, Write};
use std::path::{Path, PathBuf};
use thiserror::Error;

/// An output file can't be written.
#[derive(Debug, Error)]
#[error("cannot write '{}': {source}", path.display())]
pub struct OutputError {
    path: PathBuf,
    source: std::io::Error,
}

/// Lets `fill` write to a new file beside `path`, which then takes its place.
/// Directories on the way are made. If `fill` fails, `path` stays as it was.
///
/// # Errors
/// What `fill` returned, or an [`OutputError`].
pub fn write<E: From<OutputError>>(
    path: &Path,
    fill: impl FnOnce(&mut BufWriter<NewFile<'_>>) -> Result<(), E>,
) -> Result<(), E> {
    let failed = |source| OutputError {
        path: path.into(),
        source,
    };
    let dir = match path.parent() {
        Some(dir) if !dir.as_os_str().is_empty() => dir,
        _ => Path::new("."),
    };
    std::fs::create_dir_all(dir).map_err(failed)?;
    let file = tempfile::Builder::new()
        .prefix(".offlink-")
        .permissions(permissions())
        .tempfile_in(dir)
        .map_err(failed)?;
    let mut out = BufWriter::with_capacity(mapped_file::LARGE, NewFile(file.as_file()));
    fill(&mut out)?;
    out.flush().map_err(failed)?;
    drop(out);
    file.persist(path).map_err(|error| failed(error.error))?;
    Ok(())
}

/// The file that is being written. What comes from a mapped file is copied from
/// that file by the system, so that an image's size does not show in this
/// process's memory, and shares its blocks where the file system can do that.
#[derive(Debug)]
pub struct NewFile<'a>(&'a File);

impl Write for NewFile<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if bytes.len() >= mapped_file::LARGE
            && let Some(file) = mapped_file::file_of(bytes)
        {
            let copied = io::copy(&mut file.take(bytes.len() as u64), &mut self.0)?;
            // No more than the length of a slice.
            return Ok(copied as usize);
        }
        self.0.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

/// Writes `contents` as [`write()`] does.
///
/// # Errors
/// [`OutputError`] when the file can't be written.
pub fn write_bytes(path: &Path, contents: &[u8]) -> Result<(), OutputError> {
    write(path, |out| {
        out.write_all(contents).map_err(|source| OutputError {
            path: path.into(),
            source,
        })
    })
}

/// What any new file gets; the umask takes from it.
fn permissions() -> std::fs::Permissions {
    std::os::unix::fs::PermissionsExt::from_mode(0o666)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failure_leaves_the_old_file_and_no_other() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("deep/out");
        write_bytes(&path, b"old").unwrap();
        let result: Result<(), OutputError> = write(&path, |out| {
            out.write_all(b"new, but").unwrap();
            Err(OutputError {
                path: path.clone(),
                source: std::io::ErrorKind::Other.into(),
            })
        });
        assert!(result.is_err());
        assert_eq!(std::fs::read(&path).unwrap(), b"old");
        assert_eq!(
            std::fs::read_dir(dir.path().join("deep")).unwrap().count(),
            1
        );
    }
}
