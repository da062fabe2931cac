//! Waiting for another process that does the same work.

use super::folder::Folder;
use std::fs::{File, TryLockError};
use std::path::PathBuf;
use std::thread;
use std::time::{Duration, Instant};

/// How long another is waited for. Who holds a turn longer may be stopped or on
/// a machine that is gone, and the work can be done twice.
const PATIENCE: Duration = Duration::from_secs(120);

/// The first pause between two looks; each is half as long again, up to the last.
const FIRST_PAUSE: Duration = Duration::from_millis(5);
const LAST_PAUSE: Duration = Duration::from_millis(200);

/// The right to do a piece of work, so that others wait for its result. It ends
/// with this value or with the process, however that ends. Nothing but time is
/// lost where two have it: on file systems without locks everybody does.
#[derive(Debug)]
pub struct Turn {
    /// Removed at the end; `None` where there are no locks.
    held: Option<(PathBuf, File)>,
    /// Somebody else had it before.
    pub has_waited: bool,
}

impl Turn {
    /// Waits for the turn that is called `name`.
    pub fn wait(folder: &Folder, name: &str) -> Self {
        let path = folder.lock(name);
        let start = Instant::now();
        let mut pause = FIRST_PAUSE;
        let mut has_waited = false;
        let held = loop {
            let Ok(file) = File::create(&path) else {
                break None;
            };
            match file.try_lock() {
                Ok(()) => break Some((path, file)),
                Err(TryLockError::WouldBlock) if start.elapsed() < PATIENCE => {
                    has_waited = true;
                    thread::sleep(pause);
                    pause = (pause * 3 / 2).min(LAST_PAUSE);
                }
                Err(_) => break None,
            }
        };
        Self { held, has_waited }
    }
}

impl Drop for Turn {
    /// Who waits for a removed file gets its turn all the same, and who comes
    /// later makes a new one: both look for the result first.
    fn drop(&mut self) {
        if let Some((path, _)) = &self.held {
            let _ = std::fs::remove_file(path);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_at_a_time() {
        let dir = tempfile::tempdir().unwrap();
        let folder = Folder::make(dir.path()).unwrap();
        let first = Turn::wait(&folder, "work");
        assert!(!first.has_waited);
        let waits = thread::scope(|scope| {
            let second = scope.spawn(|| Turn::wait(&folder, "work").has_waited);
            thread::sleep(Duration::from_millis(30));
            assert!(!Turn::wait(&folder, "other work").has_waited);
            drop(first);
            second.join().unwrap()
        });
        assert!(waits);
        assert!(!folder.lock("work").exists());
    }

    #[test]
    fn without_locks_nobody_waits() {
        let folder = Folder::at(std::path::Path::new("/no/such/folder"));
        assert!(!Turn::wait(&folder, "work").has_waited);
    }
}
