//! Opening libLLVM.

use std::ffi::c_void;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use inkwell::llvm_sys::error_handling::LLVMInstallFatalErrorHandler;
use inkwell::targets::{InitializationConfig, Target};
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
    /// Opens the libLLVM at `path`, a shared object, and readies its NVPTX, AMDGPU and X86 targets as far as it
    /// has them. Opening the same file again gives the same library.
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
        let present = TARGETS
            .iter()
            .filter(|target| address(object, target.probe).is_some());
        let targets =
            worker::run(|| initialise(present)).map_err(|stopped| LoadError::Initialise {
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

    /// The targets that can be compiled for, by LLVM's names: of `AMDGPU`, `NVPTX` and `X86` those that the
    /// library was built with.
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

/// A target of LLVM that may be in the library.
struct KnownTarget {
    name: &'static str,
    /// A function that exactly the libraries with this target have.
    probe: &'static str,
    initialise: fn(&InitializationConfig),
}

const TARGETS: [KnownTarget; 3] = [
    KnownTarget {
        name: "AMDGPU",
        probe: "LLVMInitializeAMDGPUTarget",
        initialise: Target::initialize_amd_gpu,
    },
    KnownTarget {
        name: "NVPTX",
        probe: "LLVMInitializeNVPTXTarget",
        initialise: Target::initialize_nvptx,
    },
    KnownTarget {
        name: "X86",
        probe: "LLVMInitializeX86Target",
        initialise: Target::initialize_x86,
    },
];

/// Readies these targets and returns their names.
fn initialise(targets: impl Iterator<Item = &'static KnownTarget>) -> Vec<&'static str> {
    // SAFETY: the handler never returns, which the module `fault` argues to be sound.
    unsafe { LLVMInstallFatalErrorHandler(Some(fault::handler)) };
    let config = InitializationConfig::default();
    targets
        .map(|target| {
            (target.initialise)(&config);
            target.name
        })
        .collect()
}
