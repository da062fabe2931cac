//! Faults after which LLVM may not run on: its fatal errors, and calls of functions that the library lacks.
//!
//! LLVM reports some faults through `report_fatal_error`, which calls the installed handler and ends the
//! process when that returns. [`raise`] never returns: it hands the fault to whoever waits for the thread
//! ([`crate::worker`]) and parks the thread for ever.
//!
//! Why that is sound: a parked thread runs no more code, so nothing that LLVM left half done is ever looked at
//! again. What it held (its LLVM context, modules, stack) belongs to it alone, since contexts are not shared,
//! and is leaked rather than freed, so no pointer dangles. LLVM lets go of the lock around the handler before it
//! calls it, and holds its other process-wide locks (of its registries of passes and targets) only for look-ups
//! that raise nothing fatal, so other threads go on. The price is a thread and its memory per fault.

use std::cell::RefCell;
use std::ffi::{CStr, c_char};
use std::thread;

/// What stopped a thread inside LLVM.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Fault {
    /// LLVM's own message.
    #[error("{0}")]
    Fatal(String),
    /// The C API function that was called and is not in the library.
    #[cfg_attr(
        feature = "static-llvm",
        expect(dead_code, reason = "what is linked in is whole")
    )]
    #[error("no opened libLLVM has {0}")]
    MissingSymbol(&'static str),
}

/// Passes a fault on and says whether somebody took it.
pub(crate) type Report = Box<dyn FnOnce(Fault) -> bool>;

thread_local! {
    static WAITING: RefCell<Option<Report>> = const { RefCell::new(None) };
}

/// Sends the fault that this thread may come to have to `waiting`.
pub(crate) fn report_to(waiting: Report) {
    WAITING.with_borrow_mut(|slot| *slot = Some(waiting));
}

/// Hands `fault` to the waiting thread and never comes back.
///
/// LLVM is only called on worker threads, which all have someone waiting. Were that broken, there would be
/// nobody to tell and no way on, so the process aborts.
pub(crate) fn raise(fault: Fault) -> ! {
    let report = WAITING
        .try_with(|slot| slot.try_borrow_mut().ok()?.take())
        .ok()
        .flatten();
    if !report.is_some_and(|report| report(fault)) {
        std::process::abort();
    }
    loop {
        thread::park();
    }
}

/// The handler for `LLVMInstallFatalErrorHandler`.
pub(crate) extern "C" fn handler(reason: *const c_char) {
    let message = if reason.is_null() {
        String::new()
    } else {
        // SAFETY: LLVM passes a NUL-terminated string that lives until the handler returns.
        unsafe { CStr::from_ptr(reason) }
            .to_string_lossy()
            .into_owned()
    };
    raise(Fault::Fatal(message))
}
