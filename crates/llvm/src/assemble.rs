//! LLVM IR as text → bitcode.

use std::ffi::CStr;
use std::mem::forget;
use std::path::PathBuf;
use std::ptr;

use inkwell::context::{AsContextRef, Context};
use inkwell::llvm_sys::core::LLVMDisposeMessage;
use inkwell::llvm_sys::ir_reader;
use inkwell::memory_buffer::MemoryBuffer;
use inkwell::module::Module;

use crate::library::{Library, Version};
use crate::worker;

/// LLVM does not take the text.
#[derive(Debug, thiserror::Error)]
#[error("LLVM {version} ({library}) cannot make bitcode of the module {name}: {message}")]
pub struct AssembleError {
    name: String,
    message: String,
    library: PathBuf,
    version: Version,
}

/// The bitcode of a module that is given as text, of the library's own version. `name` is the module's in error
/// messages. Which targets the library has doesn't matter.
///
/// # Errors
/// [`AssembleError`] with LLVM's reason.
pub fn assemble(
    library: &'static Library,
    name: &str,
    text: String,
) -> Result<Vec<u8>, AssembleError> {
    let made = worker::run(move || {
        let context = Context::create();
        let buffer = MemoryBuffer::create_from_memory_range_copy(text.as_bytes(), "module");
        let module = if library.version().major < 22 {
            parse_before_22(&context, buffer)
        } else {
            let module = context.create_module_from_ir(buffer);
            module.map_err(|message| message.to_string())
        }?;
        module.verify().map_err(|message| message.to_string())?;
        Ok(module.write_bitcode_to_memory().as_slice().to_vec())
    });
    let made = made.unwrap_or_else(|stopped| Err(stopped.to_string()));
    made.map_err(|message| AssembleError {
        name: name.to_owned(),
        message,
        library: library.path().to_owned(),
        version: library.version(),
    })
}

/// inkwell calls the function that came with LLVM 22, which deprecates this one.
#[expect(deprecated)]
fn parse_before_22<'c>(
    context: &'c Context,
    buffer: MemoryBuffer<'_>,
) -> Result<Module<'c>, String> {
    let (mut module, mut message) = (ptr::null_mut(), ptr::null_mut());
    // SAFETY: all are alive. LLVM takes the buffer over, whatever comes of it, and gives a module of the context,
    // which nobody else has, or a message, which is freed after its only use.
    unsafe {
        let failed = ir_reader::LLVMParseIRInContext(
            context.as_ctx_ref(),
            buffer.as_mut_ptr(),
            &mut module,
            &mut message,
        );
        forget(buffer);
        if failed == 0 {
            return Ok(Module::new(module));
        }
        let text = CStr::from_ptr(message).to_string_lossy().into_owned();
        LLVMDisposeMessage(message);
        Err(text)
    }
}
