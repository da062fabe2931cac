//! Which files this invocation reads and writes: what build systems ask for
//! afterwards. It is known for the whole process, as a process is one invocation;
//! the few places that open files, make them, or start programs say so here.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

#[derive(Debug)]
struct Files {
    read: BTreeSet<PathBuf>,
    written: BTreeSet<PathBuf>,
    intermediate: BTreeSet<PathBuf>,
}

static FILES: Mutex<Files> = Mutex::new(Files {
    read: BTreeSet::new(),
    written: BTreeSet::new(),
    intermediate: BTreeSet::new(),
});

/// A set that is whole whenever it is unlocked stays good when a thread panics.
fn files() -> MutexGuard<'static, Files> {
    FILES.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The file at `path` was opened, or run.
pub fn read(path: &Path) {
    files().read.insert(path.into());
}

/// The file at `path` was written, or will be by the host linker.
pub fn written(path: &Path) {
    files().written.insert(path.into());
}

/// `path`, and what lies below it, is made on the way and is no output.
pub fn intermediate(path: &Path) {
    files().intermediate.insert(path.into());
}

/// What the invocation depends on: files that were opened and not made by it.
pub fn inputs() -> Vec<PathBuf> {
    let files = files();
    let inputs = files.read.difference(&files.written);
    inputs
        .filter(|path| !files.is_made(path))
        .cloned()
        .collect()
}

/// What the invocation made.
pub fn outputs() -> Vec<PathBuf> {
    let files = files();
    let outputs = files.written.iter();
    outputs
        .filter(|path| !files.is_made(path))
        .cloned()
        .collect()
}

impl Files {
    fn is_made(&self, path: &Path) -> bool {
        path.ancestors()
            .any(|folder| self.intermediate.contains(folder))
    }
}
