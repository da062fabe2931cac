//! AMD images: bitcode → object, and lld → hsaco.

use super::super::plan::DeviceLink;
use super::bitcode::{self, Machine};
use super::error::with_users;
use super::{Context, DeviceError, Files, Linked};
use crate::options::Emit;
use crate::target::Target;
use offlink_hsaco::{TargetId, lld};

/// Makes the image for the target ID.
///
/// # Errors
/// [`DeviceError`], with what would help.
pub(super) fn link(
    target: &Target,
    id: TargetId,
    link: &DeviceLink,
    context: &Context<'_>,
    files: &Files<'_>,
) -> Result<Linked, DeviceError> {
    let machine = Machine {
        cpu: id.processor().name(),
        features: id.features(),
        first_llvm: id.processor().first_llvm(),
    };
    if link.options.emit == Emit::Bitcode {
        return bitcode::as_image(target, &machine, link, context);
    }
    let lld = context.toolchain.lld()?;
    let mut objects = Vec::new();
    let mut known = Vec::new();
    if !link.bitcode.is_empty() {
        let emit = offlink_llvm::Emit::Object;
        let compiled = bitcode::compile(target, &machine, link, emit, context)?;
        objects.push(files.write("o", &compiled.code)?);
        known = compiled.undefined;
    }
    objects.extend(files.write_all(&link.objects, "object.o")?);
    let output = files.path("hsaco");
    let mut arguments = lld::arguments(lld::is_generic_driver(&lld.path), &objects, &output);
    arguments.extend(link.options.linker_arguments.iter().cloned());
    lld.run(&arguments, &target.to_string()).map_err(|error| {
        match lld::undefined_symbols(error.stderr()) {
            symbols if symbols.is_empty() => error.into(),
            symbols => DeviceError::Undefined {
                target: target.to_string(),
                symbols: with_users(symbols, &known),
            },
        }
    })?;
    Ok(files.read(&output)?.into())
}
