//! CPU images for libomptarget's host plugin: a shared object, made by a
//! compiler driver.

use super::super::plan::DeviceLink;
use super::bitcode::{self, Machine};
use super::key::Stage;
use super::{Context, DeviceError, Files, Linked, cached};
use crate::options::Emit;
use crate::target::Target;
use bytes::Bytes;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// Makes the image for the CPU. Symbols that stay undefined are those of the
/// program's own libraries: the plugin opens the image inside the program.
///
/// # Errors
/// [`DeviceError`], with what would help.
pub(super) fn link(
    target: &Target,
    cpu: &'static str,
    link: &DeviceLink,
    context: &Context<'_>,
    files: &Files<'_>,
) -> Result<Linked, DeviceError> {
    let cpu = if cpu == "generic" { "x86-64" } else { cpu };
    let machine = Machine {
        cpu,
        features: String::new(),
        first_llvm: 0,
    };
    if link.options.emit == Emit::Bitcode {
        return cached::get_or_make(Stage::Image, target, link, context, || {
            bitcode::as_image(target, &machine, link, context)
        });
    }
    let mut objects = Vec::new();
    if !link.bitcode.is_empty() {
        let make = || {
            let emit = offlink_llvm::Emit::Object;
            let compiled = bitcode::compile(target, &machine, link, emit, context)?;
            Ok(Linked::from(Bytes::from(compiled.code)))
        };
        let object = cached::get_or_make(Stage::Object, target, link, context, make)?;
        objects.push(files.write("o", &object.data)?);
    }
    objects.extend(files.write_all(&link.objects, "object.o")?);
    let output = files.path("so");
    let driver = context.toolchain.driver(context.style)?;
    let mut arguments = arguments(&objects, &output);
    arguments.extend(link.options.driver_arguments.iter().cloned());
    for argument in &link.options.linker_arguments {
        arguments.extend(["-Xlinker".into(), argument.clone()]);
    }
    driver.run(&arguments, &target.to_string())?;
    Ok(files.read(&output)?.into())
}

/// `-Bsymbolic` binds the image to its own definitions, not to the host's of
/// the same names.
fn arguments(objects: &[PathBuf], output: &Path) -> Vec<OsString> {
    let mut arguments: Vec<OsString> = ["-shared", "-nostdlib", "-Wl,-Bsymbolic", "-o"]
        .map(OsString::from)
        .into();
    arguments.push(output.into());
    arguments.extend(objects.iter().map(OsString::from));
    arguments
}
