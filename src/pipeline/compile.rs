//! Registration objects for hosts that offlink has no compiled code for: the
//! user's compiler makes them of C source.

use super::register::RegisterError;
use crate::output_file;
use crate::toolchain::Compiler;
use offlink_bundle::host_object::Platform;
use std::path::Path;

/// Compiles `source` for `platform` to `object` by way of `file`, whose name goes
/// into the object's symbol table.
///
/// # Errors
/// [`RegisterError`] when the source can't be written or the compiler fails.
pub fn compile(
    source: &str,
    platform: Platform,
    compiler: &Compiler,
    file: &Path,
    object: &Path,
) -> Result<(), RegisterError> {
    output_file::write_bytes(file, source.as_bytes())?;
    let mut arguments = compiler.arguments.clone();
    arguments.extend(platform.compiler_flags().into_iter().map(Into::into));
    arguments.extend([file.into(), "-o".into(), object.into()]);
    let purpose = "the registration object";
    compiler.tool.run(&arguments, purpose)?;
    Ok(())
}
