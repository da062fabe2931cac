//! Output files appear whole or not at all.

use crate::{files, mapped_file};
use std::fs::File;
use std::io::{self, BufWriter, Read, Seek, Write};
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
    files::written(path);
    Ok(())
}

/// The file that is being written. What comes from a mapped file is read from
/// that file, so that an image's size does not show in this process's memory.
#[derive(Debug)]
pub struct NewFile<'a>(&'a File);

impl Write for NewFile<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if bytes.len() >= mapped_file::LARGE
            && let Some(source) = mapped_file::file_of(bytes)
        {
            copy(source, self.0, bytes.len())?;
            return Ok(bytes.len());
        }
        self.0.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

/// Copies the next `size` bytes of `source` to where `target` stands.
///
/// Whole blocks are left to the system, which shares them where the file system
/// can. Between blocks that overlap it copies by pages, in pieces, and takes 1.4
/// times as long as large reads and writes do (Linux 6.18, ext4).
fn copy(mut source: File, mut target: &File, size: usize) -> io::Result<()> {
    const BLOCK: u64 = 4096;
    const STEP: usize = 256 << 10;
    let mut at = target.stream_position()?;
    if at % BLOCK == source.stream_position()? % BLOCK {
        let copied = io::copy(&mut source.take(size as u64), &mut target)?;
        return if copied == size as u64 {
            Ok(())
        } else {
            Err(io::ErrorKind::UnexpectedEof.into())
        };
    }
    let mut buffer = vec![0; STEP];
    let mut left = size;
    while left > 0 {
        // Writes end on multiples of their size, so that none but the first and
        // the last touches part of a block.
        let until_aligned = STEP - at as usize % STEP;
        let piece = &mut buffer[..until_aligned.min(left)];
        source.read_exact(piece)?;
        target.write_all(piece)?;
        at += piece.len() as u64;
        left -= piece.len();
    }
    Ok(())
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

/// Writes `contents` as [`write_bytes`] does, unless the file has them already: it
/// keeps its time then, by which build systems see that nothing behind it has to be
/// done again.
///
/// # Errors
/// [`OutputError`] when the file can't be written.
pub fn write_if_changed(path: &Path, contents: &[u8]) -> Result<(), OutputError> {
    if std::fs::read(path).is_ok_and(|old| old == contents) {
        files::written(path);
        return Ok(());
    }
    write_bytes(path, contents)
}

/// What any new file gets; the umask takes from it.
fn permissions() -> std::fs::Permissions {
    std::os::unix::fs::PermissionsExt::from_mode(0o666)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_mapped_is_copied_from_its_file() {
        let dir = tempfile::tempdir().unwrap();
        let (input, output) = (dir.path().join("in"), dir.path().join("out"));
        let contents: Vec<u8> = (0..3_000_000_u32).map(|n| (n / 7) as u8).collect();
        std::fs::write(&input, &contents).unwrap();
        let map = mapped_file::map(&input).unwrap();
        // Blocks that overlap, and blocks that are the same.
        for (start, size) in [(5, 2_500_001), (16, 2_900_000)] {
            let image = &map[start..start + size];
            write(&output, |out| -> Result<(), OutputError> {
                out.write_all(b"0123456789abcdef").unwrap();
                out.write_all(image).unwrap();
                out.write_all(b"end").unwrap();
                Ok(())
            })
            .unwrap();
            let written = std::fs::read(&output).unwrap();
            let expected = [b"0123456789abcdef", image, b"end"].concat();
            assert!(written == expected, "{size} bytes from {start}");
        }
        // The rest of a file that was cut is an error and not zeros.
        File::options()
            .write(true)
            .open(&input)
            .unwrap()
            .set_len(2_000_000)
            .unwrap();
        for start in [5, 16] {
            let result = write(&output, |out| {
                let cut = out
                    .write_all(b"0123456789abcdef")
                    .and_then(|()| out.write_all(&map[start..]));
                cut.map_err(|source| OutputError {
                    path: input.clone(),
                    source,
                })
            });
            assert!(result.is_err());
        }
    }

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
