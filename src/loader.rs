//! Where the dynamic loader of Linux finds shared libraries (glibc's ld.so(8)),
//! for the machine that this runs on or for one below a sysroot.

use crate::mapped_file;
use goblin::elf::Elf;
use goblin::mach::MachO;
use offlink_bundle::host_object::Platform;
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// How deep the loader's configuration may include other files; deeper ones
/// are most likely one that includes itself.
const MAX_DEPTH: usize = 4;

/// The loader of one machine.
#[derive(Clone, Debug)]
pub struct Loader {
    root: PathBuf,
    directories: Vec<PathBuf>,
}

/// What the loader reads of a program or library.
#[derive(Clone, Debug, Default)]
pub struct Dynamic {
    /// The name that programs linked with it know it by.
    pub soname: Option<String>,
    /// The libraries that it needs.
    pub needed: Vec<String>,
    /// Its own places to look for them: DT_RUNPATH, else DT_RPATH.
    pub run_paths: Vec<String>,
    /// These go before LD_LIBRARY_PATH, as those of DT_RPATH do.
    pub run_paths_first: bool,
}

impl Dynamic {
    /// Reads the dynamic section, or the libraries of a Mach-O file for one
    /// processor; that of any other file, or one that is damaged, is empty.
    pub fn read(data: &[u8]) -> Self {
        if let Ok(mach_o) = MachO::parse(data, 0) {
            // The file itself is the first.
            let needed = mach_o.libs.iter().skip(1);
            return Self {
                needed: needed.map(ToString::to_string).collect(),
                ..Self::default()
            };
        }
        let Ok(elf) = Elf::parse(data) else {
            return Self::default();
        };
        let paths = if elf.runpaths.is_empty() {
            &elf.rpaths
        } else {
            &elf.runpaths
        };
        Self {
            soname: elf.soname.map(str::to_owned),
            needed: elf.libraries.iter().map(ToString::to_string).collect(),
            run_paths: paths
                .iter()
                .flat_map(|path| path.split(':'))
                .map(str::to_owned)
                .collect(),
            run_paths_first: elf.runpaths.is_empty(),
        }
    }
}

impl Loader {
    /// The loader for programs of `platform`, whose files lie below `sysroot`.
    pub fn new(platform: Option<Platform>, sysroot: Option<&Path>) -> Self {
        let root = sysroot.unwrap_or(Path::new("/")).to_owned();
        let mut directories = Vec::new();
        if let Some(name) = platform.and_then(Platform::gnu_name) {
            directories.extend(["/lib", "/usr/lib"].map(|dir| Path::new(dir).join(name)));
        }
        directories.extend(["/lib64", "/usr/lib64", "/lib", "/usr/lib"].map(PathBuf::from));
        configured(&root, Path::new("/etc/ld.so.conf"), 0, &mut directories);
        Self { root, directories }
    }

    /// Its own directories, as they are below the sysroot.
    pub fn directories(&self) -> impl Iterator<Item = PathBuf> {
        self.directories.iter().map(|dir| below(&self.root, dir))
    }

    /// The library of this name in its own directories.
    pub fn find(&self, name: &str) -> Option<PathBuf> {
        self.directories()
            .map(|dir| dir.join(name))
            .find(|path| path.is_file())
    }

    /// The path that a program sees of a file below the sysroot.
    pub fn without_root(&self, path: &Path) -> PathBuf {
        path.strip_prefix(&self.root)
            .map_or_else(|_| path.into(), |rest| Path::new("/").join(rest))
    }

    /// The library that `user`, a program or library with this dynamic section,
    /// gets for a name that it needs; `library_path` is LD_LIBRARY_PATH.
    pub fn resolve(
        &self,
        name: &str,
        user: &Path,
        dynamic: &Dynamic,
        library_path: Option<&OsString>,
    ) -> Option<PathBuf> {
        if name.contains('/') {
            let path = PathBuf::from(name);
            return path.is_file().then_some(path);
        }
        let origin = || {
            let origin = user.canonicalize().unwrap_or_else(|_| user.into());
            let origin = origin.parent().unwrap_or(Path::new("."));
            origin.to_string_lossy().into_owned()
        };
        let own = dynamic.run_paths.iter().map(|path| {
            if !path.contains('$') {
                return PathBuf::from(path);
            }
            let path = path.replace("${ORIGIN}", &origin());
            PathBuf::from(path.replace("$ORIGIN", &origin()))
        });
        let variable = library_path.into_iter().flat_map(std::env::split_paths);
        let mut dirs: Vec<PathBuf> = own.collect();
        let place = if dynamic.run_paths_first {
            dirs.len()
        } else {
            0
        };
        dirs.splice(place..place, variable);
        dirs.iter()
            .map(|dir| dir.join(name))
            .find(|path| path.is_file())
            .or_else(|| self.find(name))
    }
}

impl Loader {
    /// The shared libraries that `program`, itself a program or library, is loaded with,
    /// by the names that they are asked for by; what is not found is `None`. `read`
    /// gives the dynamic sections of files.
    ///
    /// # Errors
    /// Those of `read`.
    pub fn closure<E>(
        &self,
        program: &Path,
        library_path: Option<&OsString>,
        mut read: impl FnMut(&Path) -> Result<Dynamic, E>,
    ) -> Result<BTreeMap<String, Option<PathBuf>>, E> {
        let mut libraries = BTreeMap::new();
        let mut open = vec![program.to_owned()];
        while let Some(user) = open.pop() {
            let dynamic = read(&user)?;
            for name in &dynamic.needed {
                if !libraries.contains_key(name) {
                    let found = self.resolve(name, &user, &dynamic, library_path);
                    open.extend(found.clone());
                    libraries.insert(name.clone(), found);
                }
            }
        }
        Ok(libraries)
    }
}

fn below(root: &Path, path: &Path) -> PathBuf {
    root.join(path.strip_prefix("/").unwrap_or(path))
}

/// Adds the directories of `file` and of those that it includes.
fn configured(root: &Path, file: &Path, depth: usize, directories: &mut Vec<PathBuf>) {
    let Ok(text) = std::fs::read_to_string(below(root, file)) else {
        return;
    };
    for line in text.lines() {
        let line = line.split('#').next().unwrap_or_default().trim();
        if let Some(pattern) = line.strip_prefix("include ") {
            let pattern = file.with_file_name("").join(pattern.trim());
            for included in matching(root, &pattern) {
                if depth < MAX_DEPTH {
                    configured(root, &included, depth + 1, directories);
                }
            }
        } else if line.starts_with('/') {
            directories.push(line.into());
        }
    }
}

/// The files that a pattern with at most one `*`, in its last part, stands for.
fn matching(root: &Path, pattern: &Path) -> Vec<PathBuf> {
    let name = pattern.file_name().unwrap_or_default().to_string_lossy();
    let Some((start, end)) = name.split_once('*') else {
        return vec![pattern.into()];
    };
    let folder = pattern.with_file_name("");
    let entries = std::fs::read_dir(below(root, &folder));
    let mut found: Vec<PathBuf> = entries
        .into_iter()
        .flatten()
        .filter_map(Result::ok)
        .filter_map(|entry| entry.file_name().into_string().ok())
        .filter(|name| name.starts_with(start) && name.ends_with(end))
        .map(|name| folder.join(name))
        .collect();
    found.sort();
    found
}

/// As [`Dynamic::read`], for a file that may be missing.
pub fn dynamic_of(path: &Path) -> Dynamic {
    mapped_file::map(path).map_or_else(|_| Dynamic::default(), |data| Dynamic::read(&data))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn configuration_with_includes() {
        let root = tempfile::tempdir().unwrap();
        let at = |path: &str| root.path().join(path);
        std::fs::create_dir_all(at("etc/ld.so.conf.d")).unwrap();
        std::fs::create_dir_all(at("opt/x/lib")).unwrap();
        std::fs::write(at("etc/ld.so.conf"), "include ld.so.conf.d/*.conf\n").unwrap();
        std::fs::write(at("etc/ld.so.conf.d/x.conf"), "# X\n/opt/x/lib # its\n").unwrap();
        std::fs::write(at("etc/ld.so.conf.d/x.old"), "/opt/y/lib\n").unwrap();
        std::fs::write(at("opt/x/lib/libx.so.1"), "").unwrap();

        let loader = Loader::new(None, Some(root.path()));
        assert_eq!(loader.find("libx.so.1"), Some(at("opt/x/lib/libx.so.1")));
        assert!(!loader.directories().any(|dir| dir.ends_with("y/lib")));
        assert_eq!(
            loader.without_root(&at("opt/x/lib")),
            Path::new("/opt/x/lib")
        );
    }

    #[test]
    fn a_program_finds_libraries_beside_it() {
        let dir = tempfile::tempdir().unwrap();
        let dir = dir.path().canonicalize().unwrap();
        std::fs::create_dir(dir.join("lib")).unwrap();
        std::fs::write(dir.join("lib/libx.so"), "").unwrap();
        let dynamic = Dynamic {
            run_paths: vec!["$ORIGIN/lib".into()],
            ..Dynamic::default()
        };
        let loader = Loader::new(None, Some(&dir));
        let found = |library_path: Option<OsString>| {
            loader.resolve(
                "libx.so",
                &dir.join("program"),
                &dynamic,
                library_path.as_ref(),
            )
        };
        std::fs::write(dir.join("program"), "").unwrap();
        assert_eq!(found(None), Some(dir.join("lib/libx.so")));
        std::fs::write(dir.join("libx.so"), "").unwrap();
        assert_eq!(found(Some(dir.clone().into())), Some(dir.join("libx.so")));
    }
}
