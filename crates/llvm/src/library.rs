//! Opening libLLVM.

use std::ffi::c_void;
use std::fmt;
use std::iter;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use inkwell::llvm_sys::error_handling::LLVMInstallFatalErrorHandler;
use libloading::Library as SharedObject;

use crate::fault;
use crate::stubs;
use crate::worker;

/// The oldest major version whose C API and passes this crate works with.
const OLDEST: u32 = 19;

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
    /// Opens the libLLVM at `path`, a shared object, and readies its NVPTX, AMDGPU, SPIRV and X86 targets as far
    /// as it has them. Opening the same file again gives the same library.
    ///
    /// # Errors
    /// Every [`LoadError`]; after any but [`LoadError::Another`] and [`LoadError::Initialise`] another path may
    /// be tried.
    pub fn open(path: &Path) -> Result<&'static Library, LoadError> {
        // A panic while the lock was held can't have left half a library: it is stored last.
        let mut open = OPEN.lock().unwrap_or_else(PoisonError::into_inner);
        let real = path.canonicalize().unwrap_or_else(|_| path.to_owned());
        if let Some(library) = *open {
            return if library.path == real {
                Ok(library)
            } else {
                Err(LoadError::Another {
                    path: path.to_owned(),
                    open: library.path.clone(),
                })
            };
        }
        let (object, version) = load(path)?;
        // Never unloaded: the jumps point into it from here on.
        let object: &'static SharedObject = Box::leak(Box::new(object));
        // SAFETY: `load` saw that the object is an LLVM with this C API, and it is leaked, so its functions
        // stay where they are.
        unsafe { stubs::fill(|name| address(object, name)) };
        let targets =
            worker::run(|| initialise(object)).map_err(|stopped| LoadError::Initialise {
                path: path.to_owned(),
                message: stopped.to_string(),
            })?;
        let library: &'static Library = Box::leak(Box::new(Library {
            path: real,
            version,
            targets,
        }));
        *open = Some(library);
        Ok(library)
    }

    /// The version that the library itself reports.
    pub fn version(&self) -> Version {
        self.version
    }

    /// The file that was opened, symbolic links resolved.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The targets that can be compiled for, by LLVM's names: of `AMDGPU`, `NVPTX`, `SPIRV` and `X86` those that
    /// the library was built with. Debian's of LLVM 22 has `SPIRV`, rustc's has not.
    pub fn targets(&self) -> &[&'static str] {
        &self.targets
    }
}

/// Opens the shared object and checks that it is an LLVM, and new enough.
fn load(path: &Path) -> Result<(SharedObject, Version), LoadError> {
    // SAFETY: opening runs the object's initialisers. The user named this file to be run as LLVM; a real
    // libLLVM only registers its options and passes then.
    let object = unsafe { SharedObject::new(path) }.map_err(|source| LoadError::Open {
        path: path.to_owned(),
        source,
    })?;
    if address(&object, "LLVMContextCreate").is_none() {
        return Err(LoadError::NotLlvm {
            path: path.to_owned(),
        });
    }
    let too_old = |found: String| LoadError::TooOld {
        path: path.to_owned(),
        found,
    };
    // SAFETY: the type is that of llvm-c/Core.h, unchanged since the function came with LLVM 16.
    let get = unsafe {
        object.get::<unsafe extern "C" fn(*mut u32, *mut u32, *mut u32)>("LLVMGetVersion")
    }
    .map_err(|_| too_old("older than LLVM 16".into()))?;
    let mut version = Version {
        major: 0,
        minor: 0,
        patch: 0,
    };
    // SAFETY: the function stores one number through each pointer, all of which are valid.
    unsafe { get(&mut version.major, &mut version.minor, &mut version.patch) };
    if version.major < OLDEST {
        return Err(too_old(format!("LLVM {version}")));
    }
    Ok((object, version))
}

fn address(object: &SharedObject, name: &str) -> Option<*mut c_void> {
    // SAFETY: the symbol is only taken as an address here; nothing is read or called through it.
    let symbol = unsafe { object.get::<*mut c_void>(name) }.ok()?;
    Some(*symbol).filter(|address| !address.is_null())
}

/// The targets that images are compiled for, by LLVM's names.
const TARGETS: [&str; 4] = ["AMDGPU", "NVPTX", "SPIRV", "X86"];

/// Readies the targets that the library was built with and returns their names.
fn initialise(object: &SharedObject) -> Vec<&'static str> {
    // SAFETY: the handler never returns, which the module `fault` argues to be sound.
    unsafe { LLVMInstallFatalErrorHandler(Some(fault::handler)) };
    TARGETS
        .into_iter()
        .filter(|target| initialise_target(object, target))
        .collect()
}

/// Whether the library has the target, which is ready then. Not every target has every part: NVPTX and SPIRV
/// parse no assembly. inkwell knows nothing of SPIRV, so all go by the names of LLVM's functions.
fn initialise_target(object: &SharedObject, target: &str) -> bool {
    let part = |part: &str| {
        let name = format!("LLVMInitialize{target}{part}");
        // SAFETY: all functions of these names are declared in llvm-c/Target.h to take and return nothing.
        unsafe { object.get::<unsafe extern "C" fn()>(&name) }.ok()
    };
    let Some(description) = part("TargetInfo") else {
        return false;
    };
    let parts = ["Target", "TargetMC", "AsmPrinter", "AsmParser"];
    for initialise in iter::once(description).chain(parts.into_iter().filter_map(part)) {
        // SAFETY: as above; LLVM wants the target's description first, and registering twice is harmless.
        unsafe { initialise() };
    }
    true
}
