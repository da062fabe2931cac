//! The LLVM that is linked into the program.

// The code of zstd, which LLVM calls.
use zstd_sys as _;

use std::path::Path;
use std::sync::PoisonError;

use inkwell::llvm_sys::core::LLVMGetVersion;

use super::{Library, LoadError, OPEN, Version, initialise};

/// Declares and lists functions of llvm-c/Target.h, which inkwell has for some of the targets only.
macro_rules! initialisers {
    ($($target:literal: $($name:ident)*;)*) => {
        unsafe extern "C" {
            $($(fn $name();)*)*
        }
        const INITIALISERS: &[(&str, &[unsafe extern "C" fn()])] = &[$(($target, &[$($name),*])),*];
    };
}

// The description comes first, as LLVM wants it. NVPTX and SPIRV parse no assembly.
initialisers! {
    "AMDGPU": LLVMInitializeAMDGPUTargetInfo LLVMInitializeAMDGPUTarget LLVMInitializeAMDGPUTargetMC
        LLVMInitializeAMDGPUAsmPrinter LLVMInitializeAMDGPUAsmParser;
    "NVPTX": LLVMInitializeNVPTXTargetInfo LLVMInitializeNVPTXTarget LLVMInitializeNVPTXTargetMC
        LLVMInitializeNVPTXAsmPrinter;
    "SPIRV": LLVMInitializeSPIRVTargetInfo LLVMInitializeSPIRVTarget LLVMInitializeSPIRVTargetMC
        LLVMInitializeSPIRVAsmPrinter;
    "X86": LLVMInitializeX86TargetInfo LLVMInitializeX86Target LLVMInitializeX86TargetMC
        LLVMInitializeX86AsmPrinter LLVMInitializeX86AsmParser;
}

/// [`Library::built_in`].
pub(super) fn built_in() -> Result<Option<&'static Library>, LoadError> {
    // A panic while the lock was held can't have left half a library: it is stored last.
    let mut open = OPEN.lock().unwrap_or_else(PoisonError::into_inner);
    if open.is_none() {
        // Without /proc the program doesn't know where it lies; only options of LLVM need to.
        let path = std::env::current_exe().unwrap_or_else(|_| "/proc/self/exe".into());
        let targets = || {
            let initialise = |(target, functions): &(&'static str, &[unsafe extern "C" fn()])| {
                for function in *functions {
                    // SAFETY: llvm-c/Target.h declares all of them to take and return nothing.
                    unsafe { function() };
                }
                *target
            };
            INITIALISERS.iter().map(initialise).collect()
        };
        *open = Some(initialise(path, version(), targets)?);
    }
    Ok(*open)
}

/// [`Library::open`], for which there is no room: LLVM's functions are those of this program.
pub(super) fn open(path: &Path) -> Result<&'static Library, LoadError> {
    Err(LoadError::BuiltIn {
        path: path.to_owned(),
        version: version(),
    })
}

fn version() -> Version {
    let mut version = Version {
        major: 0,
        minor: 0,
        patch: 0,
    };
    // SAFETY: the function stores one number through each pointer, all of which are valid.
    unsafe { LLVMGetVersion(&mut version.major, &mut version.minor, &mut version.patch) };
    version
}
