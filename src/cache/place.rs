//! Where the cache of a link is.

use crate::options::Choice;
use std::path::{Path, PathBuf};

/// The name of the folder among cargo's.
const NAME: &str = "offlink-cache";

/// The cache of a link that makes `output`: what was chosen, and otherwise under
/// cargo a folder in its target directory. Elsewhere there is none.
pub fn of_link(choice: &Choice, output: &Path) -> Option<PathBuf> {
    match choice {
        Choice::None => None,
        Choice::Named(dir) => Some(dir.clone()),
        Choice::Found => {
            // cargo sets it for rustc, which hands it on to linkers, and for build scripts.
            std::env::var_os("CARGO_MANIFEST_DIR")?;
            let output = std::path::absolute(output).ok()?;
            target_dir(&output).map(|dir| dir.join(NAME))
        }
    }
}

/// The cache of the package in the current folder: what was chosen, or that in its
/// target directory.
pub fn in_project(choice: &Choice) -> Option<PathBuf> {
    match choice {
        Choice::None => None,
        Choice::Named(dir) => Some(dir.clone()),
        Choice::Found => {
            let named = std::env::var_os("CARGO_TARGET_DIR").filter(|dir| !dir.is_empty());
            let target = named.map_or_else(|| PathBuf::from("target"), PathBuf::from);
            Some(target.join(NAME))
        }
    }
}

/// The target directory above `output`. cargo marks those that it makes with the
/// first file, and leaves the second in all.
fn target_dir(output: &Path) -> Option<&Path> {
    output.ancestors().skip(1).find(|dir| {
        ["CACHEDIR.TAG", ".rustc_info.json"]
            .iter()
            .any(|mark| dir.join(mark).is_file())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cargos_marks() {
        let dir = tempfile::tempdir().unwrap();
        let target = dir.path().join("target");
        let output = target.join("debug/deps/program");
        std::fs::create_dir_all(output.parent().unwrap()).unwrap();
        assert_eq!(target_dir(&output), None);
        for mark in ["CACHEDIR.TAG", ".rustc_info.json"] {
            let mark = target.join(mark);
            std::fs::write(&mark, "").unwrap();
            assert_eq!(target_dir(&output), Some(target.as_path()));
            std::fs::remove_file(mark).unwrap();
        }
    }

    #[test]
    fn what_is_chosen_is_taken() {
        let named = Choice::Named("cache".into());
        let output = Path::new("program");
        assert_eq!(of_link(&named, output), Some("cache".into()));
        assert_eq!(in_project(&named), Some("cache".into()));
        assert_eq!(of_link(&Choice::None, output), None);
        assert_eq!(in_project(&Choice::None), None);
    }
}
