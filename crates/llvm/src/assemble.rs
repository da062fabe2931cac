//! LLVM IR as text → bitcode.

use std::path::PathBuf;

use inkwell::context::Context;
use inkwell::memory_buffer::MemoryBuffer;

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
        let module = context.create_module_from_ir(buffer);
        let module = module.map_err(|message| message.to_string())?;
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
