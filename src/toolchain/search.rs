//! A search that remembers where it looked.

use super::file::Key;
use crate::process::{self, Environment, Tool};
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs::Metadata;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use thiserror::Error;

/// A tool can't be had.
#[derive(Debug, Error)]
pub enum NotFound {
    /// It is nowhere.
    #[error("{name} was not found; looked in {}; {remedy}", list(looked))]
    Nowhere {
        /// What is missing.
        name: &'static str,
        /// The places.
        looked: Vec<String>,
        /// What to do.
        remedy: &'static str,
    },
    /// A hermetic link needs it and looks for nothing.
    #[error(
        "{name} is needed but not declared, and a hermetic link looks for nothing; set '{key}' in \
         the toolchain file, to a path"
    )]
    Undeclared {
        /// What is missing.
        name: &'static str,
        /// The key of the toolchain file.
        key: &'static str,
    },
}

impl NotFound {
    /// Whether a hermetic link was not told of it.
    pub fn is_undeclared(&self) -> bool {
        matches!(self, Self::Undeclared { .. })
    }
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

/// Why a folder is looked into: it is that of the CUDA or ROCm installation that
/// is named, which therefore is declared.
pub(super) const NAMED_CUDA: &str = "--cuda-path";
/// As [`NAMED_CUDA`].
pub(super) const NAMED_ROCM: &str = "--rocm-path";

/// What holds for the search for any tool.
#[derive(Clone, Debug, Default)]
pub(super) struct Rules {
    /// Only what is named counts.
    pub(super) hermetic: bool,
    /// What puts the tool into its environment.
    pub(super) environment: Environment,
    /// By key, the commands that start tools.
    pub(super) launchers: BTreeMap<Key, Vec<OsString>>,
}

/// The search for one tool: the first place that has it wins.
pub(super) struct Search<'a> {
    name: &'static str,
    key: Key,
    rules: &'a Rules,
    remedy: &'static str,
    looked: Vec<String>,
    /// With why it is this one.
    found: Option<(PathBuf, &'static str)>,
}

impl<'a> Search<'a> {
    /// A search for the tool called `name` in messages, which `key` declares.
    pub(super) fn new(
        name: &'static str,
        key: Key,
        rules: &'a Rules,
        remedy: &'static str,
    ) -> Self {
        Self {
            name,
            key,
            rules,
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
        if self.goes_on(rule) {
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
        if self.goes_on(rule) {
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
        if !self.goes_on("PATH") {
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

    /// Whether only what is named counts.
    pub(super) fn is_hermetic(&self) -> bool {
        self.rules.hermetic
    }

    /// Whether all further places would be passed over.
    pub(super) fn has_found(&self) -> bool {
        self.found.is_some()
    }

    /// Whether a place is to be looked at: nothing was found yet, and the place is
    /// declared if it has to be.
    fn goes_on(&self, rule: &str) -> bool {
        let is_declared = matches!(rule, NAMED_CUDA | NAMED_ROCM);
        self.found.is_none() && (is_declared || !self.rules.hermetic)
    }

    pub(super) fn finish(self) -> Result<Tool, NotFound> {
        let Some((path, rule)) = self.found else {
            // A named place that lacks it is no lack of a declaration.
            if self.rules.hermetic && self.looked.is_empty() {
                return Err(undeclared(self.name, self.key));
            }
            return Err(NotFound::Nowhere {
                name: self.name,
                looked: self.looked,
                remedy: self.remedy,
            });
        };
        let launcher = self.rules.launchers.get(&self.key).cloned();
        let launcher = launcher.unwrap_or_default();
        let needs_path = |word: &OsString| Path::new(word).components().count() == 1;
        if self.rules.hermetic && launcher.first().is_some_and(needs_path) {
            return Err(undeclared("a launcher without a path", self.key));
        }
        Ok(Tool {
            name: self.name,
            path,
            rule,
            launcher,
            environment: self.rules.environment.clone(),
        })
    }
}

/// The error that `name` is not declared.
pub(super) fn undeclared(name: &'static str, key: Key) -> NotFound {
    let key = key.name();
    NotFound::Undeclared { name, key }
}

/// Whether there is a program at `path`, other than this one: offlink may stand
/// in PATH under the name of the very linker that it looks for.
fn is_program(path: &Path) -> bool {
    std::fs::metadata(path).is_ok_and(|metadata| {
        metadata.is_file() && metadata.permissions().mode() & 0o111 != 0 && !is_offlink(&metadata)
    })
}

fn is_offlink(metadata: &Metadata) -> bool {
    process::own_program()
        .and_then(std::fs::metadata)
        .is_ok_and(|own| (own.dev(), own.ino()) == (metadata.dev(), metadata.ino()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failed_search_names_its_places() {
        let rules = Rules::default();
        let mut search = Search::new("ptxas", Key::Ptxas, &rules, "buy one");
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
        let rules = Rules::default();
        let error = Search::new("ptxas", Key::Ptxas, &rules, "buy one")
            .only(Path::new("/no/such/ptxas"))
            .unwrap_err();
        assert!(
            error
                .to_string()
                .contains("'/no/such/ptxas', which is named")
        );
        let found = Search::new("sh", Key::Cc, &rules, "")
            .only(Path::new("/bin/sh"))
            .unwrap();
        assert_eq!(
            (found.path.as_path(), found.rule),
            (Path::new("/bin/sh"), NAMED)
        );
    }
}
