//! A libLLVM that is opened at run time.

use std::ffi::c_void;
use std::iter;
use std::path::Path;
use std::sync::PoisonError;

use libloading::Library as SharedObject;

use super::{Library, LoadError, OPEN, Version, initialise};
use crate::stubs;

/// The oldest major version whose C API and passes this crate works with.
const OLDEST: u32 = 19;

/// The targets that images are compiled for, by LLVM's names.
const TARGETS: [&str; 4] = ["AMDGPU", "NVPTX", "SPIRV", "X86"];

/// [`Library::built_in`].
pub(super) fn built_in() -> Result<Option<&'static Library>, LoadError> {
    Ok(None)
}

/// [`Library::open`].
pub(super) fn open(path: &Path) -> Result<&'static Library, LoadError> {
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
    let library = initialise(real, version, move || {
        let targets = TARGETS.into_iter();
        targets
            .filter(|target| initialise_target(object, target))
            .collect()
    })?;
    *open = Some(library);
    Ok(library)
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
