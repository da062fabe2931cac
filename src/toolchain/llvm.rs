//! Choosing a libLLVM: one that can read the bitcode, without asking for more
//! than one to be installed.

use super::rust::Sysroot;
use super::search::NotFound;
use super::subdirectories;
use crate::device_input::DeviceInput;
use crate::mapped_file;
use crate::pipeline::symbols;
use offlink_llvm::{Identification, Library, LoadError};
use std::path::{Path, PathBuf};
use thiserror::Error;

/// No libLLVM can link the bitcode.
#[derive(Debug, Error)]
pub enum LlvmError {
    /// The library can't be used.
    #[error("{0}; name another with --offlink-llvm=PATH or OFFLINK_LLVM")]
    Load(LoadError),
    /// One is named where none can be opened.
    #[error("{0}; leave out --offlink-llvm, OFFLINK_LLVM and 'llvm' in the toolchain file")]
    BuiltIn(LoadError),
    /// None is declared.
    #[error(transparent)]
    Undeclared(NotFound),
    /// The library that was named is older than the bitcode.
    #[error(
        "'{origin}' was written by {producer}, which LLVM {version} ({}) cannot read; name a \
         libLLVM of version {needed} or newer with --offlink-llvm=PATH or OFFLINK_LLVM",
        library.display()
    )]
    NamedTooOld {
        /// Where the bitcode is.
        origin: String,
        /// Who wrote it.
        producer: String,
        /// The library's version.
        version: String,
        /// The library.
        library: PathBuf,
        /// The least major version.
        needed: u32,
    },
    /// The library that is built in is older than the bitcode.
    #[error(
        "'{origin}' was written by {producer}, which the LLVM {version} in this offlink cannot read; \
         use an offlink with LLVM {needed} or newer in it, or one that opens a libLLVM"
    )]
    BuiltInTooOld {
        /// Where the bitcode is.
        origin: String,
        /// Who wrote it.
        producer: String,
        /// The library's version.
        version: String,
        /// The least major version.
        needed: u32,
    },
    /// No library that was found can make SPIR-V.
    #[error(
        "no libLLVM of version {needed} or newer with a SPIR-V backend was found, which '{origin}' \
         needs (rustc's has none, Debian's libllvm22 has it); found {}; name one with \
         --offlink-llvm=PATH or OFFLINK_LLVM",
        list(found)
    )]
    NoSpirV {
        /// Where bitcode for SPIR-V is.
        origin: String,
        /// The least major version.
        needed: u32,
        /// What was found.
        found: Vec<PathBuf>,
    },
    /// No library that was found is new enough.
    #[error(
        "no libLLVM of version {needed} or newer was found, which '{origin}' needs (written by \
         {producer}); found {}; name one with --offlink-llvm=PATH or OFFLINK_LLVM",
        list(found)
    )]
    NoneFits {
        /// Where the bitcode is.
        origin: String,
        /// Who wrote it.
        producer: String,
        /// The least major version.
        needed: u32,
        /// What was found.
        found: Vec<PathBuf>,
    },
}

impl From<LoadError> for LlvmError {
    fn from(error: LoadError) -> Self {
        match error {
            LoadError::BuiltIn { .. } => Self::BuiltIn(error),
            _ => Self::Load(error),
        }
    }
}

fn list(found: &[PathBuf]) -> String {
    if found.is_empty() {
        return "none".into();
    }
    found
        .iter()
        .map(|path| path.display().to_string())
        .collect::<Vec<_>>()
        .join(", ")
}

/// The newest bitcode of a link.
struct Newest {
    major: u32,
    producer: String,
    origin: String,
}

/// LLVM reads the bitcode of its own and all earlier major versions, so the
/// newest piece decides. Pieces that don't tell their version decide nothing.
fn newest<'a>(bitcode: impl IntoIterator<Item = &'a DeviceInput>) -> Newest {
    let none = Newest {
        major: 0,
        producer: String::new(),
        origin: String::new(),
    };
    bitcode.into_iter().fold(none, |newest, input| {
        let Ok(identification) = Identification::read(&input.data) else {
            return newest;
        };
        match identification.llvm_version() {
            Some((major, _)) if major > newest.major => Newest {
                major,
                producer: identification.producer,
                origin: input.source.clone(),
            },
            _ => newest,
        }
    })
}

/// Opens the named library; else takes the one that is built in, or opens the first
/// that is new enough, can make SPIR-V if that is wanted, and can be opened, of: those
/// of the Rust toolchains, then the system's, the newest first.
pub(super) fn open<'a>(
    named: Option<&Path>,
    rust: &[Sysroot],
    bitcode: impl IntoIterator<Item = &'a DeviceInput>,
) -> Result<&'static Library, LlvmError> {
    let bitcode: Vec<&DeviceInput> = bitcode.into_iter().collect();
    let newest = newest(bitcode.iter().copied());
    if let Some(path) = named {
        let library = Library::open(path)?;
        if library.version().major < newest.major {
            return Err(LlvmError::NamedTooOld {
                origin: newest.origin,
                producer: newest.producer,
                version: library.version().to_string(),
                library: path.into(),
                needed: newest.major,
            });
        }
        return Ok(library);
    }
    if let Some(library) = Library::built_in()? {
        if library.version().major < newest.major {
            return Err(LlvmError::BuiltInTooOld {
                origin: newest.origin,
                producer: newest.producer,
                version: library.version().to_string(),
                needed: newest.major,
            });
        }
        return Ok(library);
    }
    let for_spirv = for_spirv(&bitcode);
    let mut refused = None;
    for candidate in candidates(rust).filter(|candidate| fits(candidate, &newest, for_spirv)) {
        match Library::open(&candidate.path) {
            Ok(library) => return Ok(library),
            // The process has one library; no other can be tried any more.
            Err(error @ (LoadError::Another { .. } | LoadError::Initialise { .. })) => {
                return Err(error.into());
            }
            Err(error) => refused = refused.or(Some(error)),
        }
    }
    let found = candidates(rust).map(|candidate| candidate.path).collect();
    Err(match (refused, for_spirv) {
        (Some(error), _) => error.into(),
        (None, Some(input)) => LlvmError::NoSpirV {
            origin: input.source.clone(),
            needed: newest.major,
            found,
        },
        (None, None) => LlvmError::NoneFits {
            origin: newest.origin,
            producer: newest.producer,
            needed: newest.major,
            found,
        },
    })
}

/// The library that [`open`] opens unless that one is refused.
pub(super) fn first_choice(
    named: Option<&Path>,
    rust: &[Sysroot],
    bitcode: &[&DeviceInput],
) -> Option<PathBuf> {
    if let Some(path) = named {
        return Some(path.into());
    }
    let newest = newest(bitcode.iter().copied());
    candidates(rust)
        .find(|candidate| fits(candidate, &newest, for_spirv(bitcode)))
        .map(|candidate| candidate.path)
}

fn fits(candidate: &Candidate, newest: &Newest, for_spirv: Option<&DeviceInput>) -> bool {
    candidate.major >= newest.major && (for_spirv.is_none() || makes_spirv(&candidate.path))
}

/// The first piece that needs a library with a SPIR-V backend.
fn for_spirv<'a>(bitcode: &[&'a DeviceInput]) -> Option<&'a DeviceInput> {
    let mut bitcode = bitcode.iter();
    bitcode
        .find(|input| input.triple.starts_with("spirv"))
        .copied()
}

/// The libraries to choose from, in order. Folders are read when it comes to them:
/// those of the system have thousands of files.
pub(super) fn candidates(rust: &[Sysroot]) -> impl Iterator<Item = Candidate> {
    let of_rust = rust
        .iter()
        .flat_map(|sysroot| libraries_in(&sysroot.path.join("lib"), "the Rust toolchain's"));
    of_rust.chain(std::iter::once_with(system_libraries).flatten())
}

/// Whether the library has a SPIR-V backend. It can't be opened to be asked, as
/// the process has one library only.
pub fn makes_spirv(path: &Path) -> bool {
    mapped_file::map(path)
        .is_ok_and(|library| symbols::shared_library_defines(&library, "LLVMInitializeSPIRVTarget"))
}

/// A library whose major version its file name tells, so that it need not be
/// opened to be passed over.
#[derive(Debug)]
pub struct Candidate {
    /// The library.
    pub path: PathBuf,
    /// Why it is looked at.
    pub rule: &'static str,
    major: u32,
}

fn system_libraries() -> Vec<Candidate> {
    // Debian's folder for libraries of the processor that this runs on.
    let multiarch = format!("/usr/lib/{}-linux-gnu", std::env::consts::ARCH);
    let mut dirs: Vec<PathBuf> = [&multiarch, "/usr/lib64", "/usr/lib", "/usr/local/lib"]
        .map(PathBuf::from)
        .into();
    let versioned = subdirectories(Path::new("/usr/lib"), |name| name.starts_with("llvm-"));
    dirs.extend(versioned.iter().map(|dir| dir.join("lib")));
    dirs.push("/opt/rocm/llvm/lib".into());
    let mut found: Vec<Candidate> = dirs
        .iter()
        .flat_map(|dir| libraries_in(dir, "the system's"))
        .collect();
    found.sort_by_key(|candidate| std::cmp::Reverse(candidate.major));
    found
}

/// The libLLVMs of one directory that offlink can use.
fn libraries_in(dir: &Path, rule: &'static str) -> Vec<Candidate> {
    const OLDEST: u32 = 19;
    let Ok(entries) = std::fs::read_dir(dir) else {
        return Vec::new();
    };
    let mut found: Vec<Candidate> = entries
        .filter_map(Result::ok)
        .filter_map(|entry| {
            let major = major_in_name(entry.file_name().to_str()?)?;
            Some(Candidate {
                path: entry.path(),
                rule,
                major,
            })
        })
        .filter(|candidate| candidate.major >= OLDEST)
        .collect();
    found.sort_by(|a, b| (b.major, &a.path).cmp(&(a.major, &b.path)));
    found
}

/// 22 in `libLLVM.so.22.1`, `libLLVM.so.22.1-rust-1.95.0-stable`. Names like
/// `libLLVM-22.so` are links to these, or linker scripts.
fn major_in_name(name: &str) -> Option<u32> {
    let version = name.strip_prefix("libLLVM.so.")?;
    version.split('.').next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn file_names_tell_the_version() {
        assert_eq!(major_in_name("libLLVM.so.22.1"), Some(22));
        assert_eq!(
            major_in_name("libLLVM.so.22.1-rust-1.95.0-stable"),
            Some(22)
        );
        assert_eq!(major_in_name("libLLVM-22-rust-1.95.0-stable.so"), None);
        assert_eq!(major_in_name("libLLVM.so"), None);
    }

    #[test]
    fn newer_libraries_go_first() {
        let dir = tempfile::tempdir().unwrap();
        for name in [
            "libLLVM.so.19.1",
            "libLLVM.so.22.1",
            "libLLVM.so.18.1",
            "libLLVM-22.so",
        ] {
            std::fs::write(dir.path().join(name), "").unwrap();
        }
        let majors: Vec<u32> = libraries_in(dir.path(), "")
            .iter()
            .map(|c| c.major)
            .collect();
        assert_eq!(majors, [22, 19]);
    }
}
