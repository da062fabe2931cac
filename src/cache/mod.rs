//! A store of what was made before, so that nothing is made twice.
//!
//! It has two levels, as the Remote Execution API has them: a [`Key`] leads to a
//! record, and a record by digest to the bytes. Files appear by renaming, and what
//! is read is compared with its digest, so that no crash, full disk or other
//! writer can give wrong bytes. Therefore files need not be synced to the disk
//! either. The cache can fail in any way without a link failing.

mod digest;
mod folder;
mod key;
mod place;
mod programs;
mod record;
mod turn;
pub mod upkeep;

pub use digest::Digest;
pub use key::Key;
pub use place::{in_project, of_link};
pub use programs::Programs;

use crate::{mapped_file, output_file, report};
use bytes::Bytes;
use folder::Folder;
use record::Record;
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::fs::{File, FileTimes};
use std::io;
use std::path::Path;
use std::sync::Once;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::SystemTime;
use turn::Turn;

/// An open cache.
#[derive(Debug)]
pub struct Cache {
    folder: Folder,
    /// What the user wants to hear.
    voice: Voice,
    /// The first trouble has been told.
    trouble: Once,
    has_stored: AtomicBool,
}

/// What the user wants to hear of the cache.
#[derive(Clone, Copy, Debug, Default)]
pub struct Voice {
    /// That the cache can't be used.
    pub trouble: bool,
    /// Why something was made anew.
    pub reasons: bool,
}

/// What a step has made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Made<D> {
    /// Its bytes.
    pub data: Bytes,
    /// What else came of it.
    pub details: D,
}

/// A step whose result is kept.
pub struct Step<'a> {
    /// What decides about the result.
    pub key: &'a Key,
    /// What the step is called in messages.
    pub name: &'a str,
    /// Whose step it is, so that the key of the last time can be found.
    pub owner: Digest,
}

impl Cache {
    /// Opens the cache in the folder `path`, which is made if that is possible:
    /// one that can't be written to may have been filled by others.
    pub fn open(path: &Path, voice: Voice) -> Self {
        let made = Folder::make(path);
        let cache = Self {
            folder: Folder::at(path),
            voice,
            trouble: Once::new(),
            has_stored: AtomicBool::new(false),
        };
        if let Err(error) = made {
            cache.tell(path, &error.to_string());
        }
        cache
    }

    /// The digests of programs, remembered in this cache.
    pub fn programs(&self) -> Programs {
        Programs::new(self.folder.clone())
    }

    /// What `step` gave before, if that is in the cache.
    pub fn get<D: Serialize + DeserializeOwned>(&self, step: &Step<'_>) -> Option<Made<D>> {
        let key = step.key.digest();
        let made = self.look_up(&key)?;
        self.explain(step, "taken from the cache");
        self.remember(step, &key);
        Some(made)
    }

    /// What `step` gives: from the cache, or else by `make`, and then it is kept
    /// if `is_still_right` says that nothing it was made of has changed since the
    /// key was found. Equal steps at the same time, in any process, are done once.
    ///
    /// # Errors
    /// Those of `make`. They are not kept.
    pub fn get_or_make<D: Serialize + DeserializeOwned, E>(
        &self,
        step: &Step<'_>,
        make: impl FnOnce() -> Result<Made<D>, E>,
        is_still_right: impl FnOnce() -> bool,
    ) -> Result<Made<D>, E> {
        if let Some(made) = self.get(step) {
            return Ok(made);
        }
        let key = step.key.digest();
        let turn = Turn::wait(&self.folder, key.as_str());
        if turn.has_waited
            && let Some(made) = self.look_up(&key)
        {
            self.explain(
                step,
                "taken from another link that made it at the same time",
            );
            self.remember(step, &key);
            return Ok(made);
        }
        if self.voice.reasons {
            self.explain(step, &self.reason(step, &key));
        }
        let made = make()?;
        if !is_still_right() {
            self.explain(
                step,
                "not kept, as an input or a tool changed during the link",
            );
        } else if let Err(error) = self.store(step.key, &key, &made) {
            self.tell(&self.folder.record(&key), &error.to_string());
        } else {
            self.remember(step, &key);
        }
        Ok(made)
    }

    /// Says why a step is not looked for, if that is wanted.
    pub fn passed_over(&self, name: &str, reason: &str) {
        if self.voice.reasons {
            report::note(&format!("cache: {name}: not looked for: {reason}"));
        }
    }

    /// Prunes the cache if this link has added to it and nobody has done so for a
    /// while. To be called when the work is done.
    pub fn tidy(&self) {
        if self.has_stored.load(Ordering::Relaxed) {
            upkeep::prune_sometimes(&self.folder);
        }
    }

    fn look_up<D: DeserializeOwned>(&self, key: &Digest) -> Option<Made<D>> {
        let record = self.record(key)?;
        let path = self.folder.content(&record.content);
        let data = self.readable(&path, mapped_file::map(&path).map_err(io::Error::from))?;
        if Digest::of(&data) != record.content {
            self.tell(&path, "it is damaged, and what it held is made anew");
            self.folder.quarantine(&path);
            return None;
        }
        let details = serde_json::from_value(record.details).ok()?;
        for path in [&path, &self.folder.record(key)] {
            mark_used(path);
        }
        Some(Made { data, details })
    }

    fn record(&self, key: &Digest) -> Option<Record> {
        let path = self.folder.record(key);
        let text = self.readable(&path, std::fs::read(&path))?;
        let record: Option<Record> = record::unseal(&text);
        let right = record.filter(|record| record.key.digest() == *key);
        if right.is_none() {
            self.tell(&path, "it is damaged, and what it led to is made anew");
            self.folder.quarantine(&path);
        }
        right
    }

    /// What is not there is no trouble.
    fn readable<T>(&self, path: &Path, outcome: io::Result<T>) -> Option<T> {
        match outcome {
            Ok(value) => Some(value),
            Err(error) => {
                if error.kind() != io::ErrorKind::NotFound {
                    self.tell(path, &error.to_string());
                }
                None
            }
        }
    }

    /// The record goes last, so that it never leads to nothing.
    fn store<D: Serialize>(&self, key: &Key, digest: &Digest, made: &Made<D>) -> io::Result<()> {
        let content = Digest::of(&made.data);
        if let Some(first) = self.record(digest)
            && first.content != content
        {
            self.tell(
                &self.folder.record(digest),
                "equal steps gave different bytes; the first are kept",
            );
            if self.folder.content(&first.content).is_file() {
                return Ok(());
            }
        }
        let record = Record {
            key: key.clone(),
            size: made.data.len() as u64,
            details: serde_json::to_value(&made.details)?,
            content,
        };
        let path = self.folder.content(&record.content);
        output_file::write_bytes(&path, &made.data).map_err(io::Error::other)?;
        let text = record::seal(&record)?;
        output_file::write_bytes(&self.folder.record(digest), &text).map_err(io::Error::other)?;
        self.has_stored.store(true, Ordering::Relaxed);
        Ok(())
    }

    /// Notes the key of this time, to be compared with that of the next.
    fn remember(&self, step: &Step<'_>, key: &Digest) {
        let path = self.folder.last_key(&step.owner);
        let is_known = std::fs::read(&path).is_ok_and(|last| last == key.as_str().as_bytes());
        if !is_known {
            // Only explanations would lack it.
            let _ = output_file::write_bytes(&path, key.as_str().as_bytes());
        }
    }

    fn reason(&self, step: &Step<'_>, key: &Digest) -> String {
        let last = std::fs::read_to_string(self.folder.last_key(&step.owner));
        let Some(last) = last.ok().and_then(|text| Digest::try_from(text).ok()) else {
            return "made, for the first time".into();
        };
        if last == *key {
            return "made again, as its entry is gone or damaged".into();
        }
        match self.record(&last) {
            Some(record) => format!(
                "made anew, since these differ from the last time: {}",
                step.key.differences(&record.key).join(", ")
            ),
            None => "made anew; the entry of the last time is gone".into(),
        }
    }

    fn explain(&self, step: &Step<'_>, what: &str) {
        if self.voice.reasons {
            report::note(&format!("cache: {}: {what}", step.name));
        }
    }

    /// One trouble is told; others are likely to have the same cause.
    fn tell(&self, path: &Path, what: &str) {
        if self.voice.trouble || self.voice.reasons {
            self.trouble
                .call_once(|| report::note(&format!("cache: '{}': {what}", path.display())));
        }
    }
}

/// Times of access are not kept everywhere, so that of the last change serves. In
/// a folder that is only read nothing is pruned.
fn mark_used(path: &Path) {
    let now = FileTimes::new().set_modified(SystemTime::now());
    let _ = File::open(path).and_then(|file| file.set_times(now));
}

#[cfg(test)]
mod tests;
