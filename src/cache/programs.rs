//! The digests of programs and libraries that do the work.
//!
//! A libLLVM has a few hundred megabytes, so the digest of such a file is
//! remembered for as long as the system says that the file is the same: by its
//! inode, size, and the times of its last changes, of which no program can set the
//! second. Device code is never trusted like that.

use super::digest::Digest;
use super::folder::Folder;
use super::record;
use crate::loader::{Dynamic, Loader};
use crate::mapped_file;
use crate::output_file;
use serde::{Deserialize, Serialize};
use std::collections::HashMap;
use std::ffi::OsString;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::sync::{LazyLock, Mutex, PoisonError};
use std::time::{SystemTime, UNIX_EPOCH};

/// A file may change again within the same tick of the file system's clock, whose
/// ticks are 2 seconds at most (FAT).
const TICK: i64 = 2;

/// What digests the programs of one link, each once.
#[derive(Debug)]
pub struct Programs {
    folder: Folder,
    /// By what they are for, since several jobs of a link need the same.
    known: Mutex<HashMap<&'static str, Digest>>,
    loader: LazyLock<Loader>,
    library_path: Option<OsString>,
}

/// What is remembered of a file.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
struct Memory {
    stamp: Stamp,
    digest: Digest,
    /// What it asks the dynamic loader for.
    needed: Vec<String>,
    run_paths: Vec<String>,
    run_paths_first: bool,
}

/// What tells that a file is the same as before, times in nanoseconds.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Stamp {
    device: u64,
    inode: u64,
    size: u64,
    modified: (i64, i64),
    changed: (i64, i64),
}

impl Stamp {
    fn of(path: &Path) -> io::Result<Self> {
        let metadata = std::fs::metadata(path)?;
        Ok(Self {
            device: metadata.dev(),
            inode: metadata.ino(),
            size: metadata.len(),
            modified: (metadata.mtime(), metadata.mtime_nsec()),
            changed: (metadata.ctime(), metadata.ctime_nsec()),
        })
    }

    fn is_settled(&self) -> bool {
        let now = SystemTime::now().duration_since(UNIX_EPOCH);
        now.is_ok_and(|now| self.changed.0 + TICK < now.as_secs().cast_signed())
    }
}

impl Programs {
    pub(super) fn new(folder: Folder) -> Self {
        Self {
            folder,
            known: Mutex::default(),
            loader: LazyLock::new(|| Loader::new(None, None)),
            library_path: std::env::var_os("LD_LIBRARY_PATH"),
        }
    }

    /// The digest of what is used as `name`, which `find` gives the first time.
    ///
    /// # Errors
    /// Those of `find`.
    pub fn of<E>(
        &self,
        name: &'static str,
        find: impl FnOnce() -> Result<Digest, E>,
    ) -> Result<Digest, E> {
        // Held all along: a big file is read by one of several jobs.
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(digest) = known.get(name) {
            return Ok(digest.clone());
        }
        let digest = find()?;
        known.insert(name, digest.clone());
        Ok(digest)
    }

    /// The digest of one file.
    ///
    /// # Errors
    /// When it can't be read.
    pub fn file_digest(&self, path: &Path) -> io::Result<Digest> {
        Ok(self.memory(path)?.digest)
    }

    /// The digest of a program or shared library with all shared libraries that it
    /// is loaded with. A script is known by its own bytes. Of macOS's own libraries,
    /// which are no files, the names count.
    ///
    /// # Errors
    /// When the program can't be read, or dyld looks for a library of it.
    pub fn digest(&self, program: &Path) -> io::Result<Digest> {
        let mut digests = HashMap::new();
        let libraries = self.loader.closure(
            program,
            self.library_path.as_ref(),
            |path| -> io::Result<_> {
                let memory = self.memory(path)?;
                digests.insert(path.to_owned(), memory.digest);
                // Apple's dyld(1): `@rpath/lib.dylib` and the like.
                if let Some(name) = memory.needed.iter().find(|name| name.starts_with('@')) {
                    let user = path.display();
                    let reason = format!("where '{user}' gets {name} from is not known");
                    return Err(io::Error::new(io::ErrorKind::Unsupported, reason));
                }
                Ok(Dynamic {
                    needed: memory.needed,
                    run_paths: memory.run_paths,
                    run_paths_first: memory.run_paths_first,
                    ..Dynamic::default()
                })
            },
        )?;
        let digest = |path: &Path| digests.get(path).map_or("not found", Digest::as_str);
        let mut texts = vec![digest(program).as_bytes()];
        for (name, path) in &libraries {
            let digest = path.as_deref().map_or("not found", digest);
            texts.extend([name.as_bytes(), digest.as_bytes()]);
        }
        Ok(Digest::of_list(texts))
    }

    fn memory(&self, path: &Path) -> io::Result<Memory> {
        let path = std::path::absolute(path)?;
        let place = self
            .folder
            .program(&Digest::of(path.as_os_str().as_bytes()));
        let stamp = Stamp::of(&path)?;
        let remembered: Option<Memory> = std::fs::read(&place)
            .ok()
            .and_then(|text| record::unseal(&text));
        if let Some(memory) = remembered
            && memory.stamp == stamp
        {
            return Ok(memory);
        }
        let data = mapped_file::map_unlisted(&path)?;
        // FAT_MAGIC of `mach-o/fat.h`.
        if data.starts_with(&[0xca, 0xfe, 0xba, 0xbe]) {
            let reason = "which libraries a universal file loads is not known";
            return Err(io::Error::new(io::ErrorKind::Unsupported, reason));
        }
        let dynamic = Dynamic::read(&data);
        let memory = Memory {
            digest: Digest::of(&data),
            needed: dynamic.needed,
            run_paths: dynamic.run_paths,
            run_paths_first: dynamic.run_paths_first,
            stamp,
        };
        if memory.stamp.is_settled() && Stamp::of(&path)? == memory.stamp {
            // Without the memory the file is read again.
            let _ = output_file::write_bytes(&place, &record::seal(&memory)?);
        }
        Ok(memory)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::FileTimes;
    use std::fs::OpenOptions;
    use std::thread;
    use std::time::Duration;

    #[test]
    fn a_change_is_seen_although_size_and_time_stay() {
        let dir = tempfile::tempdir().unwrap();
        let folder = Folder::make(dir.path()).unwrap();
        let program = dir.path().join("program");
        let digest = || Programs::new(folder.clone()).digest(&program).unwrap();
        let long_ago = FileTimes::new().set_modified(UNIX_EPOCH + Duration::from_secs(1));
        let write = |text: &str| {
            std::fs::write(&program, text).unwrap();
            let file = OpenOptions::new().write(true).open(&program).unwrap();
            file.set_times(long_ago).unwrap();
        };
        write("one");
        let first = digest();
        // Long enough for the first to be remembered.
        thread::sleep(Duration::from_secs(4));
        assert_eq!(digest(), first);
        assert_eq!(folder.files("programs").len(), 1);
        write("two");
        assert_ne!(digest(), first);
        write("one");
        assert_eq!(digest(), first);
    }

    /// A Mach-O file for arm64 that loads these libraries (`mach-o/loader.h`).
    fn mach_o(libraries: &[&str]) -> Vec<u8> {
        let commands: Vec<Vec<u32>> = libraries
            .iter()
            .map(|name| {
                let mut text = name.as_bytes().to_vec();
                text.resize(text.len() / 8 * 8 + 8, 0);
                let text = text.chunks(4);
                let words = text.map(|word| u32::from_le_bytes(word.try_into().unwrap()));
                let size = 24 + words.len() as u32 * 4;
                // LC_LOAD_DYLIB, its size, where the name starts, a time, two versions.
                let head = [0xc, size, 24, 0, 0, 0];
                head.into_iter().chain(words).collect()
            })
            .collect();
        let commands_size = commands.concat().len() as u32 * 4;
        // MH_MAGIC_64, CPU_TYPE_ARM64, MH_EXECUTE.
        let head = [
            0xfeed_facf,
            0x0100_000c,
            0,
            2,
            commands.len() as u32,
            commands_size,
            0,
            0,
        ];
        let words = head.into_iter().chain(commands.concat());
        words.flat_map(u32::to_le_bytes).collect()
    }

    #[test]
    fn libraries_of_macos_programs_count() {
        let dir = tempfile::tempdir().unwrap();
        let folder = Folder::make(dir.path()).unwrap();
        let (program, library) = (dir.path().join("program"), dir.path().join("lib.dylib"));
        let digest = || Programs::new(folder.clone()).digest(&program);
        let system = "/usr/lib/libSystem.B.dylib";
        std::fs::write(&program, mach_o(&[system, library.to_str().unwrap()])).unwrap();
        std::fs::write(&library, mach_o(&[system])).unwrap();
        let first = digest().unwrap();
        assert_eq!(digest().unwrap(), first);
        std::fs::write(&library, mach_o(&[])).unwrap();
        assert_ne!(digest().unwrap(), first);
        std::fs::write(&library, mach_o(&["@rpath/libLLVM.dylib"])).unwrap();
        let error = digest().unwrap_err().to_string();
        assert!(error.contains("@rpath/libLLVM.dylib"), "{error}");
        std::fs::write(&program, [0xca, 0xfe, 0xba, 0xbe, 0, 0, 0, 2]).unwrap();
        let error = digest().unwrap_err().to_string();
        assert!(error.contains("universal"), "{error}");
    }

    #[test]
    fn libraries_count() {
        let dir = tempfile::tempdir().unwrap();
        let folder = Folder::make(dir.path()).unwrap();
        let programs = Programs::new(folder.clone());
        let shell = Path::new("/bin/sh");
        assert_ne!(
            programs.digest(shell).unwrap(),
            programs.file_digest(shell).unwrap()
        );
        let libc = folder.files("programs").iter().any(|(path, _)| {
            let memory: Memory = record::unseal(&std::fs::read(path).unwrap()).unwrap();
            memory.needed.iter().any(|name| name == "libc.so.6")
        });
        assert!(libc);
    }
}
