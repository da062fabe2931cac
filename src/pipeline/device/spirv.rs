//! SPIR-V images: bitcode → SPIR-V, and spirv-link where modules join.

use super::super::plan::DeviceLink;
use super::bitcode::{self, Machine};
use super::error::with_users;
use super::{Context, DeviceError, Files, Linked};
use crate::options::Emit;
use crate::target::Target;
use bytes::Bytes;
use offlink_bundle::image;
use offlink_llvm::Undefined;
use std::collections::BTreeSet;
use std::ffi::OsString;

/// Makes the module, which is an image as it is: a device's driver compiles it.
///
/// # Errors
/// [`DeviceError`], with what would help.
pub(super) fn link(
    target: &Target,
    link: &DeviceLink,
    context: &Context<'_>,
    files: &Files<'_>,
) -> Result<Linked, DeviceError> {
    let machine = Machine {
        cpu: "",
        features: String::new(),
        first_llvm: 0,
    };
    if link.options.emit == Emit::Bitcode {
        return bitcode::as_image(target, &machine, link, context);
    }
    let mut modules = Vec::new();
    let mut known = Vec::new();
    if !link.bitcode.is_empty() {
        let emit = offlink_llvm::Emit::Object;
        let compiled = bitcode::compile(target, &machine, link, emit, context)?;
        modules.push(Module {
            origin: String::new(),
            data: compiled.code.into(),
        });
        known = compiled.undefined;
    }
    modules.extend(link.objects.iter().map(|input| Module {
        origin: input.source.clone(),
        data: input.data.clone(),
    }));
    check_imports(target, &modules, &known)?;
    match modules.as_slice() {
        [only] => Ok(only.data.clone().into()),
        _ => Ok(join(target, &modules, context, files)?.into()),
    }
}

/// A SPIR-V module to be linked.
struct Module {
    /// Where it was found; empty for the one made of the bitcode.
    origin: String,
    data: Bytes,
}

/// Names what no module defines, before a driver does so when the program runs.
/// `known` tells who in the bitcode uses it.
fn check_imports(
    target: &Target,
    modules: &[Module],
    known: &[Undefined],
) -> Result<(), DeviceError> {
    let mut defined = BTreeSet::new();
    let mut undefined = Vec::new();
    for Module { origin, data } in modules {
        let unreadable = |source| DeviceError::Object {
            target: target.to_string(),
            origin: origin.clone(),
            source,
        };
        defined.append(&mut image::device_symbols(data).map_err(unreadable)?);
        let imports = image::spirv_imports(data).map_err(unreadable)?;
        undefined.extend(if origin.is_empty() {
            with_users(imports.into_iter().collect(), known)
        } else {
            let used_by = |symbol| Undefined {
                symbol,
                used_by: origin.clone(),
            };
            imports.into_iter().map(used_by).collect()
        });
    }
    undefined.retain(|it| !defined.contains(&it.symbol));
    if undefined.is_empty() {
        return Ok(());
    }
    Err(DeviceError::Undefined {
        target: target.to_string(),
        symbols: undefined,
    })
}

/// Joins modules into one that keeps the names of what they export: the host may
/// look up a variable.
fn join(
    target: &Target,
    modules: &[Module],
    context: &Context<'_>,
    files: &Files<'_>,
) -> Result<Bytes, DeviceError> {
    let spirv_link = context.toolchain.spirv_link()?;
    let output = files.path("spv");
    let mut arguments: Vec<OsString> = vec!["--create-library".into(), "-o".into()];
    arguments.push(output.clone().into());
    for (number, module) in modules.iter().enumerate() {
        let file = files.write(&format!("{number}.module.spv"), &module.data)?;
        arguments.push(file.into());
    }
    spirv_link.run(&arguments, &target.to_string())?;
    files.read(&output)
}
