//! Finding libomptarget, which OpenMP's images are registered with.

use super::rust::{self, Sysroot};
use super::search::NotFound;
use crate::loader::{Loader, dynamic_of};
use crate::options::Choice;
use crate::pipeline::host::platform_of;
use crate::request::LinkLine;
use offlink_bundle::entry::Generation;
use offlink_bundle::host_object::Platform;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use thiserror::Error;

/// The first that reads entries of 56 bytes. Newer ones read the older form, too:
/// LLVM 22's was seen to run programs of clang 19.
const FIRST_WITH_NEW_ENTRIES: u32 = 20;

/// A libomptarget.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Omptarget {
    /// The file.
    pub path: PathBuf,
    /// The name that programs load it by, if it has one.
    pub soname: Option<String>,
    /// Its version, as far as its names tell.
    pub version: Option<(u32, u32)>,
    /// Why it is this one.
    pub rule: &'static str,
}

/// What a libomptarget is wanted for.
#[derive(Debug)]
pub struct Wanted<'a> {
    /// What the user says.
    pub choice: &'a Choice,
    /// The host; nothing is found for one that offlink does not know.
    pub platform: Option<Platform>,
    /// The form of the program's entries.
    pub entries: Generation,
    /// The link.
    pub line: &'a LinkLine,
}

/// There is no libomptarget to link.
#[derive(Debug, Error)]
pub enum OmptargetError {
    /// The named file is none.
    #[error("there is no libomptarget '{}', which --offlink-omptarget, OFFLINK_OMPTARGET or the toolchain file names", .0.display())]
    Named(PathBuf),
    /// None is declared.
    #[error(transparent)]
    Undeclared(NotFound),
    /// The named file can't work.
    #[error(
        "'{}' is the libomptarget of LLVM {major}, which does not read offload entries of {}; name \
         a newer one with --offlink-omptarget or OFFLINK_OMPTARGET",
        path.display(),
        entries.compilers()
    )]
    TooOld {
        /// The file.
        path: PathBuf,
        /// Its major version.
        major: u32,
        /// The form of the program's entries.
        entries: Generation,
    },
    /// None was found.
    #[error(
        "no libomptarget{} was found, with which OpenMP's images are registered; looked in {}{}; \
         install one ('apt install liboffload-22', 'rustup component add offload'), name one with \
         --offlink-omptarget=FILE or OFFLINK_OMPTARGET, or leave it out with \
         --offlink-omptarget=none",
        host(.platform),
        list(.looked),
        and_unfit(.unfit, *.entries)
    )]
    NotFound {
        /// The host.
        platform: Option<Platform>,
        /// The directories.
        looked: Vec<PathBuf>,
        /// The form of the program's entries.
        entries: Generation,
        /// Those found that don't read them.
        unfit: Vec<PathBuf>,
    },
}

fn host(platform: &Option<Platform>) -> String {
    platform.map_or_else(String::new, |platform| {
        format!(" for {}", platform.triple())
    })
}

fn list(paths: &[PathBuf]) -> String {
    let paths: Vec<String> = paths
        .iter()
        .map(|path| path.display().to_string())
        .collect();
    paths.join(", ")
}

fn and_unfit(paths: &[PathBuf], entries: Generation) -> String {
    if paths.is_empty() {
        return String::new();
    }
    format!(
        ", and found {}, which does not read offload entries of {}",
        list(paths),
        entries.compilers()
    )
}

impl Omptarget {
    /// What the library at `path` says of itself.
    pub fn at(path: &Path, rule: &'static str) -> Self {
        let soname = dynamic_of(path).soname;
        let real = path.canonicalize().unwrap_or_else(|_| path.into());
        let version = soname
            .as_deref()
            .and_then(version_in_name)
            .or_else(|| version_in_name(real.file_name()?.to_str()?));
        Self {
            path: path.into(),
            soname,
            version,
            rule,
        }
    }

    /// Whether it reads entries of this form; one that does not tell its version is
    /// taken to do so.
    pub fn reads(&self, entries: Generation) -> bool {
        entries == Generation::Llvm19
            || self
                .version
                .is_none_or(|(major, _)| major >= FIRST_WITH_NEW_ENTRIES)
    }

    /// The folder that the program has to look into at run time, unless its
    /// loader finds this very file by itself.
    pub fn run_path(&self, loader: &Loader) -> Option<PathBuf> {
        let soname = self.soname.as_ref()?;
        let real = self.path.canonicalize().ok()?;
        let known = loader
            .find(soname)
            .and_then(|path| path.canonicalize().ok());
        if known.is_some_and(|known| known == real) {
            return None;
        }
        let folder = self.path.parent()?;
        let folder = folder.canonicalize().unwrap_or_else(|_| folder.into());
        Some(loader.without_root(&folder))
    }
}

/// The named one; else the first of: the `-L` directories, the Rust toolchain,
/// beside the libLLVM that was named; else the newest of the system's. Below a
/// sysroot the system's is that one, and this machine's toolchains don't count.
pub(super) fn find(
    wanted: &Wanted<'_>,
    sysroots: &[Sysroot],
    llvm: Option<&Path>,
) -> Result<Omptarget, OmptargetError> {
    if let Choice::Named(path) = wanted.choice {
        return named(path, wanted.entries);
    }
    let line = wanted.line;
    let mut places: Vec<(PathBuf, &str)> = Vec::new();
    places.extend(line.search_dirs.iter().map(|dir| (dir.clone(), "-L")));
    if line.sysroot.is_none() {
        // Only the caller's toolchain: another's is of another LLVM.
        let rust = sysroots.first().into_iter();
        places.extend(rust.flat_map(|sysroot| rust_dirs(&sysroot.path)));
        let beside = llvm.and_then(Path::parent);
        places.extend(beside.map(|dir| (dir.to_owned(), "beside the libLLVM that is named")));
    }
    let mut unfit = Vec::new();
    let mut looked = Vec::new();
    for (dir, rule) in places {
        let found = newest(
            libraries_in(&dir, rule, wanted.platform),
            wanted.entries,
            &mut unfit,
        );
        if let Some(found) = found {
            return Ok(found);
        }
        looked.push(dir);
    }
    let loader = Loader::new(wanted.platform, line.sysroot.as_deref());
    let root = line.sysroot.as_deref().unwrap_or(Path::new("/"));
    let versioned = super::subdirectories(&root.join("usr/lib"), |name| name.starts_with("llvm-"));
    // The loader's own go first, as no program needs an rpath to find these.
    let dirs: Vec<PathBuf> = loader
        .directories()
        .chain(versioned.into_iter().map(|dir| dir.join("lib")))
        .collect();
    let system = dirs
        .iter()
        .flat_map(|dir| libraries_in(dir, "the system's newest", wanted.platform));
    if let Some(found) = newest(system.collect(), wanted.entries, &mut unfit) {
        return Ok(found);
    }
    looked.extend(dirs);
    looked.dedup();
    Err(OmptargetError::NotFound {
        platform: wanted.platform,
        entries: wanted.entries,
        looked,
        unfit,
    })
}

/// The library at `path`, if it reads entries of this form.
pub(super) fn named(path: &Path, entries: Generation) -> Result<Omptarget, OmptargetError> {
    if !path.is_file() {
        return Err(OmptargetError::Named(path.into()));
    }
    let library = Omptarget::at(path, "named");
    match library.version {
        Some((major, _)) if !library.reads(entries) => Err(OmptargetError::TooOld {
            path: path.into(),
            major,
            entries,
        }),
        _ => Ok(library),
    }
}

/// Where a Rust toolchain keeps libraries for a host.
fn rust_dirs(sysroot: &Path) -> Vec<(PathBuf, &'static str)> {
    let mut dirs = rust::target_libs(sysroot);
    dirs.push(sysroot.join("lib"));
    dirs.into_iter()
        .map(|dir| (dir, "the Rust toolchain's"))
        .collect()
}

/// The newest that reads the entries, the first of several; the others are unfit.
fn newest(
    found: Vec<Omptarget>,
    entries: Generation,
    unfit: &mut Vec<PathBuf>,
) -> Option<Omptarget> {
    let (fit, other): (Vec<_>, Vec<_>) = found
        .into_iter()
        .partition(|library| library.reads(entries));
    unfit.extend(other.into_iter().map(|library| library.path));
    fit.into_iter().rev().max_by_key(|library| library.version)
}

/// The libraries of one directory that are for the host, by full names first.
fn libraries_in(dir: &Path, rule: &'static str, platform: Option<Platform>) -> Vec<Omptarget> {
    let entries = std::fs::read_dir(dir).into_iter().flatten();
    let mut paths: Vec<PathBuf> = entries
        .filter_map(Result::ok)
        .filter(|entry| is_name(&entry.file_name()))
        .map(|entry| entry.path())
        .filter(|path| platform.is_some() && platform_of(path) == platform)
        .collect();
    paths.sort();
    paths.reverse();
    let libraries = paths.iter().map(|path| Omptarget::at(path, rule));
    libraries.collect()
}

/// `libomptarget.so`, `libomptarget.so.22.1`.
pub fn is_name(name: &OsStr) -> bool {
    let rest = name
        .to_str()
        .and_then(|name| name.strip_prefix("libomptarget.so"));
    rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
}

/// (22, 1) in `libomptarget.so.22.1`.
fn version_in_name(name: &str) -> Option<(u32, u32)> {
    let mut numbers = name.strip_prefix("libomptarget.so.")?.split('.');
    let major = numbers.next()?.parse().ok()?;
    let minor = numbers.next().and_then(|minor| minor.parse().ok());
    Some((major, minor.unwrap_or(0)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn library(version: Option<(u32, u32)>, name: &str) -> Omptarget {
        Omptarget {
            path: name.into(),
            soname: None,
            version,
            rule: "",
        }
    }

    #[test]
    fn the_newest_that_reads_the_entries() {
        let mut unfit = Vec::new();
        let libraries = vec![
            library(Some((19, 1)), "old"),
            library(Some((22, 1)), "first"),
            library(Some((22, 1)), "second"),
            library(None, "unknown"),
        ];
        let found = newest(libraries, Generation::Llvm21, &mut unfit);
        assert_eq!(found.unwrap().path, Path::new("first"));
        assert_eq!(unfit, [PathBuf::from("old")]);
        let mut old = |entries| newest(vec![library(Some((19, 1)), "old")], entries, &mut unfit);
        assert_eq!(old(Generation::Llvm20), None);
        assert!(old(Generation::Llvm19).is_some());
    }

    #[test]
    fn names() {
        assert!(is_name("libomptarget.so".as_ref()));
        assert!(is_name("libomptarget.so.22.1".as_ref()));
        assert!(!is_name("libomptarget.rtl.cuda.so".as_ref()));
        assert!(!is_name("libomptarget.sock".as_ref()));
        assert_eq!(version_in_name("libomptarget.so.22.1"), Some((22, 1)));
        assert_eq!(version_in_name("libomptarget.so.23.0git"), Some((23, 0)));
        assert_eq!(version_in_name("libomptarget.so"), None);
    }
}
