//! The LLVM C API as jumps through a table of addresses.
//!
//! Everything that calls LLVM (here, in inkwell and in llvm-sys) is linked against the jumps that `build/stubs.rs`
//! writes for the names in `symbols.txt`. [`fill`] points them into an opened library. A jump whose slot was
//! not filled lands in [`missing`], so that a name which the library lacks is an error and never a null call.

use std::arch::global_asm;
use std::ffi::c_void;
use std::sync::atomic::{AtomicPtr, Ordering};

use crate::fault::{self, Fault};

include!(concat!(env!("OUT_DIR"), "/names.rs"));

#[cfg(target_arch = "x86_64")]
global_asm!(
    include_str!(concat!(env!("OUT_DIR"), "/stubs.s")),
    missing = sym missing,
    options(att_syntax)
);
#[cfg(target_arch = "aarch64")]
global_asm!(
    include_str!(concat!(env!("OUT_DIR"), "/stubs.s")),
    missing = sym missing
);

// SAFETY: the assembly above defines this symbol as `COUNT` aligned pointers in writable memory.
unsafe extern "C" {
    #[link_name = "offlink_llvm_slots"]
    static SLOTS: [AtomicPtr<c_void>; COUNT];
}

/// Where the jump of a name that has no address ends up. `index` is the name's place in `NAMES`.
extern "C" fn missing(index: usize) -> ! {
    fault::raise(Fault::MissingSymbol(NAMES.get(index).unwrap_or(&"?")))
}

/// Points the jump of every name that `address` knows at the address it gives.
///
/// # Safety
/// Each address must be that of the LLVM C API function of that name and stay valid for the rest of the
/// process.
pub(crate) unsafe fn fill(address: impl Fn(&str) -> Option<*mut c_void>) {
    // SAFETY: the assembly above defines the table, and Rust code only accesses it atomically.
    let slots = unsafe { &SLOTS };
    for (name, slot) in NAMES.iter().zip(slots) {
        if let Some(address) = address(name) {
            slot.store(address, Ordering::Release);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::worker;

    #[test]
    fn a_call_without_a_library_is_an_error_that_names_the_symbol() {
        // Nothing in this test program opens a library.
        let outcome = worker::run(|| {
            // SAFETY: the call takes no arguments; its slot is unfilled and never returns.
            unsafe { inkwell::llvm_sys::core::LLVMContextCreate() };
        });
        assert!(matches!(
            outcome,
            Err(worker::Stopped::Fault(Fault::MissingSymbol(
                "LLVMContextCreate"
            )))
        ));
    }

    #[test]
    fn names_are_sorted_and_hold_the_calls_of_a_compile() {
        assert!(NAMES.is_sorted());
        for name in [
            "LLVMRunPasses",
            "LLVMLinkModules2",
            "LLVMTargetMachineEmitToMemoryBuffer",
        ] {
            assert!(NAMES.binary_search(&name).is_ok(), "{name}");
        }
    }
}
