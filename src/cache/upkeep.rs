//! Looking after a cache: what is in it, whether it is right, and what can go.

use super::digest::Digest;
use super::folder::{CONTENT, Folder, QUARANTINE, RECORDS};
use super::record::{self, Record};
use crate::mapped_file;
use serde::Serialize;
use std::collections::HashMap;
use std::fs::{File, Metadata};
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};
use thiserror::Error;

const MONTH: Duration = Duration::from_secs(30 * 24 * 60 * 60);

/// What links prune to by themselves, and how often.
pub const LIMITS: Limits = Limits {
    max_size: Some(4 << 30),
    max_age: Some(MONTH),
};
const INTERVAL: Duration = Duration::from_secs(60 * 60);

/// Bytes without a record may be those of a link that is about to write it, as
/// may a file that is not complete.
const GRACE: Duration = Duration::from_secs(10 * 60);

/// The cache can't be looked after.
#[derive(Debug, Error)]
pub enum UpkeepError {
    /// None is to be used.
    #[error("no cache is in use; name one with --cache-dir=DIR")]
    NoneNamed,
    /// There is none.
    #[error(
        "there is no cache in '{}'; name it with --cache-dir=DIR or OFFLINK_CACHE_DIR", path.display()
    )]
    None {
        /// The folder.
        path: PathBuf,
    },
    /// A file can't be removed.
    #[error("cannot remove '{}' from the cache: {source}", path.display())]
    Remove {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
}

/// What is in a cache.
#[derive(Debug, PartialEq, Eq, Serialize)]
pub struct Stat {
    /// Its folder.
    pub folder: PathBuf,
    /// How many results it holds.
    pub entries: usize,
    /// The bytes of its files.
    pub bytes: u64,
    /// Seconds since the entry that was used longest ago was used.
    pub oldest_use: Option<u64>,
    /// Damaged files that were put aside.
    pub quarantined: usize,
}

/// What was found by comparing all entries with their digests.
#[derive(Debug, PartialEq, Eq, Serialize)]
pub struct Verified {
    /// Entries that are right.
    pub right: usize,
    /// Files that were damaged, and are in quarantine now.
    pub damaged: Vec<PathBuf>,
}

/// How much a cache may hold.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Limits {
    /// Bytes; those used longest ago go first.
    pub max_size: Option<u64>,
    /// The time since an entry was last used.
    pub max_age: Option<Duration>,
}

/// What pruning has removed.
#[derive(Debug, Default, PartialEq, Eq, Serialize)]
pub struct Pruned {
    /// Entries.
    pub entries: usize,
    /// Bytes of all files that went.
    pub bytes: u64,
}

/// Says what is in the cache in the folder `path`.
///
/// # Errors
/// [`UpkeepError::None`].
pub fn stat(path: &Path) -> Result<Stat, UpkeepError> {
    let folder = existing(path)?;
    let records = folder.files(RECORDS);
    let files = records.iter().chain(&folder.files(CONTENT)).map(size).sum();
    Ok(Stat {
        folder: path.into(),
        entries: records.len(),
        bytes: files,
        oldest_use: records.iter().map(|file| age(file).as_secs()).max(),
        quarantined: folder.files(QUARANTINE).len(),
    })
}

/// Compares all files with their digests and puts the damaged ones aside.
///
/// # Errors
/// [`UpkeepError::None`].
pub fn verify(path: &Path) -> Result<Verified, UpkeepError> {
    let folder = existing(path)?;
    let mut right = 0;
    let mut damaged = Vec::new();
    for (path, _) in folder.files(CONTENT) {
        let data = mapped_file::map(&path);
        if data.is_ok_and(|data| is_named(&path, &Digest::of(&data))) {
            continue;
        }
        folder.quarantine(&path);
        damaged.push(path);
    }
    for (path, _) in folder.files(RECORDS) {
        let sound = read(&path).filter(|record| is_named(&path, &record.key.digest()));
        match sound {
            Some(record) if folder.content(&record.content).is_file() => right += 1,
            // Its bytes are damaged, or were pruned.
            Some(_) => {
                let _ = std::fs::remove_file(&path);
            }
            None => {
                folder.quarantine(&path);
                damaged.push(path);
            }
        }
    }
    damaged.sort();
    Ok(Verified { right, damaged })
}

/// Removes what `limits` don't allow: entries that were not used for long, and, of
/// the others, those used longest ago until the rest is small enough. Also what is
/// left of links that were killed, and what was put aside a month ago.
///
/// # Errors
/// [`UpkeepError`] when there is no cache, or a file can't be removed.
pub fn prune(path: &Path, limits: Limits) -> Result<Pruned, UpkeepError> {
    prune_folder(&existing(path)?, limits)
}

/// Prunes to the usual limits, unless that was done within the last hour or
/// another process is at it. What goes wrong will do so for the next link too.
pub(super) fn prune_sometimes(folder: &Folder) {
    let path = folder.pruned();
    let since = std::fs::metadata(&path).map(|metadata| age(&(PathBuf::new(), metadata)));
    if since.is_ok_and(|since| since < INTERVAL) {
        return;
    }
    let Ok(file) = File::create(&path) else {
        return;
    };
    if file.try_lock().is_ok() {
        let _ = file.set_modified(SystemTime::now());
        let _ = prune_folder(folder, LIMITS);
    }
}

fn prune_folder(folder: &Folder, limits: Limits) -> Result<Pruned, UpkeepError> {
    let mut pruned = Pruned::default();
    let mut content: HashMap<PathBuf, (u64, Duration)> = folder
        .files(CONTENT)
        .into_iter()
        .map(|file| (file.0.clone(), (size(&file), age(&file))))
        .collect();
    let mut records = folder.files(RECORDS);
    records.sort_by_cached_key(|file| (age(file), file.0.clone()));
    let mut kept: u64 = 0;
    let mut is_full = false;
    for file in records {
        let bytes = read(&file.0).map(|record| folder.content(&record.content));
        // Several entries may have the same bytes, which go with the youngest:
        // all that are older go too.
        let own = bytes.and_then(|path| content.remove_entry(&path));
        let needs = size(&file) + own.as_ref().map_or(0, |(_, (size, _))| *size);
        is_full |= limits.max_size.is_some_and(|max| kept + needs > max);
        let is_too_old = limits.max_age.is_some_and(|max| age(&file) > max);
        if !is_full && !is_too_old {
            kept += needs;
            continue;
        }
        remove(&file.0, size(&file), &mut pruned)?;
        pruned.entries += 1;
        if let Some((path, (size, _))) = own {
            remove(&path, size, &mut pruned)?;
        }
    }
    for (path, (size, age)) in content {
        if age > GRACE {
            remove(&path, size, &mut pruned)?;
        }
    }
    for file in folder.unfinished() {
        if age(&file) > GRACE {
            remove(&file.0, size(&file), &mut pruned)?;
        }
    }
    for part in [QUARANTINE, "last", "programs", "locks"] {
        for file in folder.files(part) {
            if age(&file) > limits.max_age.unwrap_or(MONTH) {
                remove(&file.0, size(&file), &mut pruned)?;
            }
        }
    }
    Ok(pruned)
}

fn existing(path: &Path) -> Result<Folder, UpkeepError> {
    let folder = Folder::at(path);
    if folder.exists() {
        return Ok(folder);
    }
    Err(UpkeepError::None { path: path.into() })
}

/// Another process may have removed it first.
fn remove(path: &Path, size: u64, pruned: &mut Pruned) -> Result<(), UpkeepError> {
    match std::fs::remove_file(path) {
        Ok(()) => pruned.bytes += size,
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        Err(source) => {
            return Err(UpkeepError::Remove {
                path: path.into(),
                source,
            });
        }
    }
    Ok(())
}

fn read(path: &Path) -> Option<Record> {
    record::unseal(&std::fs::read(path).ok()?)
}

fn is_named(path: &Path, digest: &Digest) -> bool {
    path.file_name().is_some_and(|name| name == digest.as_str())
}

fn size(file: &(PathBuf, Metadata)) -> u64 {
    file.1.len()
}

/// The time since the file was used. A time that is still to come, as after a
/// change of the clock, is now.
fn age(file: &(PathBuf, Metadata)) -> Duration {
    let used = file.1.modified().unwrap_or(SystemTime::UNIX_EPOCH);
    SystemTime::now().duration_since(used).unwrap_or_default()
}
