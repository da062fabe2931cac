//! The LLVM of the process: opened at run time, or linked into the program with the feature `static-llvm`.

#[cfg(feature = "static-llvm")]
mod linked;
#[cfg(not(feature = "static-llvm"))]
mod opened;

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use inkwell::llvm_sys::error_handling::LLVMInstallFatalErrorHandler;

use crate::fault;
use crate::worker;

#[cfg(feature = "static-llvm")]
use linked as source;
#[cfg(not(feature = "static-llvm"))]
use opened as source;

/// A release of LLVM, as `LLVMGetVersion` tells it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Version {
    /// 22 in 22.1.8.
    pub major: u32,
    /// 1 in 22.1.8.
    pub minor: u32,
    /// 8 in 22.1.8.
    pub patch: u32,
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}.{}", self.major, self.minor, self.patch)
    }
}

/// Why a library can't be used.
#[derive(Debug, thiserror::Error)]
pub enum LoadError {
    /// The dynamic linker can't open the file, which may be missing, be no shared object (the
    /// `libLLVM-22-rust-*.so` beside rustc's library is a linker script) or need other libraries.
    #[error("cannot open libLLVM {path}: {source}")]
    Open {
        /// The path as given.
        path: PathBuf,
        /// The dynamic linker's reason.
        source: libloading::Error,
    },
    /// The file is a shared object without the LLVM C API.
    #[error("{path} is not a libLLVM: it has no LLVMContextCreate")]
    NotLlvm {
        /// The path as given.
        path: PathBuf,
    },
    /// The library is older than LLVM 19.
    #[error("libLLVM {path} is {found}; offlink needs LLVM 19 or newer")]
    TooOld {
        /// The path as given.
        path: PathBuf,
        /// The version, or a bound on it where the library is too old to tell.
        found: String,
    },
    /// The program has an LLVM of its own.
    #[error("libLLVM {path} cannot be used: this program has LLVM {version} built in")]
    BuiltIn {
        /// The path as given.
        path: PathBuf,
        /// The version that is built in.
        version: Version,
    },
    /// The process already uses another library; the C API has room for one.
    #[error("libLLVM {path} cannot be used: this process already uses {open}")]
    Another {
        /// The path as given.
        path: PathBuf,
        /// The library in use.
        open: PathBuf,
    },
    /// The thread that would have initialised the library could not be started, or LLVM failed on it.
    #[error("cannot initialise libLLVM {path}: {message}")]
    Initialise {
        /// The path as given.
        path: PathBuf,
        /// What failed.
        message: String,
    },
}

/// The libLLVM of this process. There is at most one, and it stays open until the process ends.
#[derive(Debug)]
pub struct Library {
    path: PathBuf,
    version: Version,
    targets: Vec<&'static str>,
}

static OPEN: Mutex<Option<&'static Library>> = Mutex::new(None);

impl Library {
    /// Whether LLVM is linked into this program, which can open no libLLVM then.
    pub const IS_BUILT_IN: bool = cfg!(feature = "static-llvm");

    /// The LLVM that is linked into this program, if one is.
    ///
    /// # Errors
    /// [`LoadError::Initialise`].
    pub fn built_in() -> Result<Option<&'static Library>, LoadError> {
        source::built_in()
    }

    /// Opens the libLLVM at `path`, a shared object, and readies its NVPTX, AMDGPU, SPIRV and X86 targets as far
    /// as it has them. Opening the same file again gives the same library.
    ///
    /// # Errors
    /// Every [`LoadError`]; after any but [`LoadError::Another`], [`LoadError::BuiltIn`] and
    /// [`LoadError::Initialise`] another path may be tried.
    pub fn open(path: &Path) -> Result<&'static Library, LoadError> {
        source::open(path)
    }

    /// The version that the library itself reports.
    pub fn version(&self) -> Version {
        self.version
    }

    /// The file that LLVM is in, symbolic links resolved: the library, or the program that has it built in.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The targets that can be compiled for, by LLVM's names: of `AMDGPU`, `NVPTX`, `SPIRV` and `X86` those that
    /// the library was built with. Debian's of LLVM 22 has `SPIRV`, rustc's has not.
    pub fn targets(&self) -> &[&'static str] {
        &self.targets
    }
}

/// Installs the handler of fatal errors and readies targets, whose names `targets` returns.
fn initialise(
    path: PathBuf,
    version: Version,
    targets: impl FnOnce() -> Vec<&'static str> + Send + 'static,
) -> Result<&'static Library, LoadError> {
    let targets = worker::run(|| {
        // SAFETY: the handler never returns, which the module `fault` argues to be sound.
        unsafe { LLVMInstallFatalErrorHandler(Some(fault::handler)) };
        targets()
    });
    match targets {
        Ok(targets) => Ok(Box::leak(Box::new(Library {
            path,
            version,
            targets,
        }))),
        Err(stopped) => Err(LoadError::Initialise {
            path,
            message: stopped.to_string(),
        }),
    }
}
