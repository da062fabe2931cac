//! LLVM's messages about the code, which go to standard error unless somebody takes them.

use std::ffi::{CStr, c_void};
use std::mem;
use std::sync::{Mutex, PoisonError};

use inkwell::context::{AsContextRef, Context};
use inkwell::llvm_sys::LLVMDiagnosticSeverity::{LLVMDSError, LLVMDSWarning};
use inkwell::llvm_sys::core::{
    LLVMContextSetDiagnosticHandler, LLVMDisposeMessage, LLVMGetDiagInfoDescription,
    LLVMGetDiagInfoSeverity,
};
use inkwell::llvm_sys::prelude::LLVMDiagnosticInfoRef;

/// The errors and warnings that came so far. Remarks and notes are dropped.
#[derive(Debug, Default)]
pub(crate) struct Diagnostics {
    messages: Mutex<Messages>,
}

#[derive(Debug, Default)]
struct Messages {
    errors: Vec<String>,
    warnings: Vec<String>,
}

impl Diagnostics {
    /// Collects the messages of `context` here.
    ///
    /// # Safety
    /// The collector must outlive the context and stay where it is.
    pub(crate) unsafe fn collect(&self, context: &Context) {
        let this: *const Self = self;
        // SAFETY: the context calls the handler only while it lives, which the caller promises not to be longer
        // than `self`; the handler takes the pointer as what it is.
        unsafe {
            LLVMContextSetDiagnosticHandler(
                context.as_ctx_ref(),
                Some(receive),
                this.cast_mut().cast(),
            );
        }
    }

    /// Takes the errors that came since the last call.
    pub(crate) fn take_errors(&self) -> Vec<String> {
        mem::take(&mut self.lock().errors)
    }

    /// Takes the warnings that came since the last call.
    pub(crate) fn take_warnings(&self) -> Vec<String> {
        mem::take(&mut self.lock().warnings)
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Messages> {
        self.messages.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

extern "C" fn receive(info: LLVMDiagnosticInfoRef, collector: *mut c_void) {
    // SAFETY: `collect` registered this function together with a collector that lives, and LLVM passes a
    // diagnostic; its text is a C string that is ours to free.
    unsafe {
        let severity = LLVMGetDiagInfoSeverity(info);
        if severity != LLVMDSError && severity != LLVMDSWarning {
            return;
        }
        let text = LLVMGetDiagInfoDescription(info);
        let message = CStr::from_ptr(text).to_string_lossy().into_owned();
        LLVMDisposeMessage(text);
        let mut messages = (*collector.cast::<Diagnostics>()).lock();
        if severity == LLVMDSError {
            messages.errors.push(message);
        } else {
            messages.warnings.push(message);
        }
    }
}
