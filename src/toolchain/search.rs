//! A search that remembers where it looked.

use crate::process::Tool;
use std::fs::Metadata;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use thiserror::Error;

/// A tool is nowhere.
#[derive(Debug, Error)]
#[error("{name} was not found; looked in {}; {remedy}", list(looked))]
pub struct NotFound {
    name: &'static str,
    looked: Vec<String>,
    remedy: &'static str,
}

fn list(looked: &[String]) -> String {
    if looked.is_empty() {
        "no place at all".into()
    } else {
        looked.join(", ")
    }
}

/// Why a tool is the one that the user wants.
pub(super) const NAMED: &str = "named";

/// The search for one tool: the first place that has it wins.
pub(super) struct Search {
    name: &'static str,
    remedy: &'static str,
    looked: Vec<String>,
    /// With why it is this one.
    found: Option<(PathBuf, &'static str)>,
}

impl Search {
    pub(super) fn new(name: &'static str, remedy: &'static str) -> Self {
        Self {
            name,
            remedy,
            looked: Vec::new(),
            found: None,
        }
    }

    /// The tool is the named program and no other.
    pub(super) fn only(mut self, path: &Path) -> Result<Tool, NotFound> {
        if is_program(path) {
            self.found = Some((path.into(), NAMED));
        } else {
            self.looked.push(format!(
                "'{}', which is named but is no program other than offlink",
                path.display()
            ));
        }
        self.finish()
    }

    /// The file is the named one and no other.
    pub(super) fn only_file(mut self, path: &Path) -> Result<Tool, NotFound> {
        if path.is_file() {
            self.found = Some((path.into(), NAMED));
        } else {
            self.looked.push(format!(
                "'{}', which is named but is no file",
                path.display()
            ));
        }
        self.finish()
    }

    /// Looks for the file `name`, which is no program, in `dir`, which is looked
    /// into because of `rule`.
    pub(super) fn file(&mut self, dir: &Path, name: &str, rule: &'static str) {
        if self.found.is_none() {
            let path = Some(dir.join(name)).filter(|path| path.is_file());
            self.found = path.map(|path| (path, rule));
            self.looked.push(dir.display().to_string());
        }
    }

    /// As [`Self::only`], but a bare name is one for PATH, as in cargo's settings.
    pub(super) fn named(mut self, path: &Path) -> Result<Tool, NotFound> {
        if path.components().count() > 1 {
            return self.only(path);
        }
        self.path_variable(&[&path.to_string_lossy()]);
        self.found = self.found.map(|(path, _)| (path, NAMED));
        self.finish()
    }

    /// Looks for programs of these names in `dir`, which is looked into because
    /// of `rule`.
    pub(super) fn dir(&mut self, dir: &Path, names: &[&str], rule: &'static str) {
        if self.found.is_none() {
            self.found = names
                .iter()
                .map(|name| dir.join(name))
                .find(|path| is_program(path))
                .map(|path| (path, rule));
            self.looked.push(dir.display().to_string());
        }
    }

    /// Looks for programs of these names in the directories of PATH.
    pub(super) fn path_variable(&mut self, names: &[&str]) {
        if self.found.is_some() {
            return;
        }
        let path = super::variable("PATH").unwrap_or_default();
        let dirs: Vec<PathBuf> = std::env::split_paths(&path).collect();
        self.found = names
            .iter()
            .flat_map(|name| dirs.iter().map(move |dir| dir.join(name)))
            .find(|path| is_program(path))
            .map(|path| (path, "PATH"));
        self.looked.push("PATH".into());
    }

    /// Whether all further places would be passed over.
    pub(super) fn has_found(&self) -> bool {
        self.found.is_some()
    }

    pub(super) fn finish(self) -> Result<Tool, NotFound> {
        match self.found {
            Some((path, rule)) => Ok(Tool {
                name: self.name,
                path,
                rule,
            }),
            None => Err(NotFound {
                name: self.name,
                looked: self.looked,
                remedy: self.remedy,
            }),
        }
    }
}

/// Whether there is a program at `path`, other than this one: offlink may stand
/// in PATH under the name of the very linker that it looks for.
fn is_program(path: &Path) -> bool {
    std::fs::metadata(path).is_ok_and(|metadata| {
        metadata.is_file() && metadata.permissions().mode() & 0o111 != 0 && !is_offlink(&metadata)
    })
}

fn is_offlink(metadata: &Metadata) -> bool {
    std::fs::metadata("/proc/self/exe")
        .is_ok_and(|own| (own.dev(), own.ino()) == (metadata.dev(), metadata.ino()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failed_search_names_its_places() {
        let mut search = Search::new("ptxas", "buy one");
        search.dir(Path::new("/no/such/dir"), &["ptxas"], "");
        search.dir(Path::new("/nor/this"), &["ptxas"], "");
        let message = search.finish().unwrap_err().to_string();
        assert_eq!(
            message,
            "ptxas was not found; looked in /no/such/dir, /nor/this; buy one"
        );
    }

    #[test]
    fn a_named_tool_is_not_replaced() {
        let error = Search::new("ptxas", "buy one")
            .only(Path::new("/no/such/ptxas"))
            .unwrap_err();
        assert!(
            error
                .to_string()
                .contains("'/no/such/ptxas', which is named")
        );
        let found = Search::new("sh", "").only(Path::new("/bin/sh")).unwrap();
        assert_eq!(
            (found.path.as_path(), found.rule),
            (Path::new("/bin/sh"), NAMED)
        );
    }
}
