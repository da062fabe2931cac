//! The part of a device link that libLLVM does.

use super::super::plan::DeviceLink;
use super::libraries;
use super::remarks::{Remark, Remarks};
use super::{Context, DeviceError, ImageSymbols, Linked};
use crate::pipeline::symbols;
use crate::target::{Device, Target};
use crate::timing;
use bytes::Bytes;
use offlink_llvm::{Compiled, Emit, Keep, Module, OptLevel, Options, Outcome, Parts, Split};
use std::sync::Arc;

/// What LLVM is to make the code for.
#[derive(Clone, Debug)]
pub(super) struct Machine {
    /// The name that LLVM has for the arch.
    pub cpu: &'static str,
    /// Target features in LLVM's notation.
    pub features: String,
    /// The first major version of LLVM that knows the arch.
    pub first_llvm: u32,
}

/// Links and compiles all bitcode of `link`, which must have some.
///
/// # Errors
/// [`DeviceError::Llvm`], [`DeviceError::LlvmTooOld`],
/// [`DeviceError::NoSpirVInLlvm`], or what LLVM says.
pub(super) fn compile(
    target: &Target,
    machine: &Machine,
    link: &DeviceLink,
    emit: Emit,
    context: &Context<'_>,
) -> Result<Compiled, DeviceError> {
    match compile_or_split(target, machine, link, emit, Split::Never, context)? {
        Outcome::Whole(compiled) => Ok(compiled),
        Outcome::Parts(_) => unreachable!("nothing is split that is never to be"),
    }
}

/// As [`compile`], or stops before the code is made, if `split` is for parts. What targets
/// have in common is linked once.
///
/// # Errors
/// As [`compile`].
pub(super) fn compile_or_split(
    target: &Target,
    machine: &Machine,
    link: &DeviceLink,
    emit: Emit,
    split: Split,
    context: &Context<'_>,
) -> Result<Outcome, DeviceError> {
    let library = context.setting.library()?;
    if library.version().major < machine.first_llvm {
        return Err(DeviceError::LlvmTooOld {
            version: library.version().to_string(),
            library: library.path().into(),
            arch: target.arch(),
            needed: machine.first_llvm,
        });
    }
    if *target.device() == Device::SpirV && !library.targets().contains(&"SPIRV") {
        return Err(DeviceError::NoSpirVInLlvm {
            target: target.to_string(),
            version: library.version().to_string(),
            library: library.path().into(),
        });
    }
    let modules = link
        .bitcode
        .iter()
        .map(|input| Module {
            name: input.source.clone(),
            bitcode: input.data.clone(),
        })
        .collect();
    let options = Options {
        triple: target.triple().into(),
        cpu: machine.cpu.into(),
        features: machine.features.clone(),
        opt_level: opt_level(link.options.opt_level),
        passes: link.options.passes.clone(),
        exports: exports(link),
        keep: keep(target, link),
        emit,
    };
    let (linked, is_first) = context
        .setting
        .linked
        .get_or_link(library, modules, &options);
    let linked = linked.map_err(|error| failed(target, error))?;
    if is_first {
        timing::llvm_steps(&target.to_string(), linked.steps());
        warn(target, linked.warnings(), context.remarks);
    }
    let find = libraries::finder(target, context.toolchain.device_libraries());
    let outcome = offlink_llvm::compile_linked(&linked, find, options, split)
        .map_err(|error| failed(target, error))?;
    let (steps, warnings) = match &outcome {
        Outcome::Whole(compiled) => (compiled.steps.as_slice(), compiled.warnings.as_slice()),
        Outcome::Parts(parts) => (parts.steps(), parts.warnings()),
    };
    timing::llvm_steps(&target.to_string(), steps);
    warn(target, warnings, context.remarks);
    Ok(outcome)
}

/// The bitcode of one part of a link, by which the part is known.
///
/// # Errors
/// What LLVM says.
pub(super) fn cut_part(target: &Target, parts: &Parts, part: usize) -> Result<Bytes, DeviceError> {
    let bitcode = offlink_llvm::cut_part(parts, part).map_err(|error| failed(target, error))?;
    Ok(bitcode.into())
}

/// Compiles what [`cut_part`] gave to PTX.
///
/// # Errors
/// What LLVM says.
pub(super) fn compile_part(
    target: &Target,
    parts: &Parts,
    bitcode: &Bytes,
    features: &str,
    remarks: &Remarks,
) -> Result<Compiled, DeviceError> {
    let compiled = offlink_llvm::compile_part(parts, bitcode.clone(), features)
        .map_err(|error| failed(target, error))?;
    timing::llvm_steps(&target.to_string(), &compiled.steps);
    warn(target, &compiled.warnings, remarks);
    Ok(compiled)
}

fn failed(target: &Target, error: impl Into<Arc<offlink_llvm::Error>>) -> DeviceError {
    DeviceError::Bitcode {
        target: target.to_string(),
        kept: None,
        source: error.into(),
    }
}

fn warn(target: &Target, warnings: &[String], remarks: &Remarks) {
    for warning in warnings {
        let text = format!("{target}: {warning}");
        remarks.add(Remark::Detail(text));
    }
}

/// The optimised bitcode as the image, for a runtime that compiles it.
///
/// # Errors
/// [`DeviceError::BitcodeOfObjects`] when some code is not bitcode any more, and
/// as [`compile`].
pub(super) fn as_image(
    target: &Target,
    machine: &Machine,
    link: &DeviceLink,
    context: &Context<'_>,
) -> Result<Linked, DeviceError> {
    if let Some(other) = link.ptx.iter().chain(&link.objects).next() {
        return Err(DeviceError::BitcodeOfObjects {
            target: target.to_string(),
            origin: other.source.clone(),
        });
    }
    let compiled = compile(target, machine, link, Emit::Bitcode, context)?;
    Ok(Linked {
        data: compiled.code.into(),
        symbols: Some(ImageSymbols {
            kernels: compiled.kernels.into_iter().collect(),
            all: compiled.defined.into_iter().collect(),
        }),
    })
}

/// What the host looks up, and what objects of the link need: that may be
/// hidden, as most of AMD's code is by default.
fn exports(link: &DeviceLink) -> Vec<String> {
    let mut exports = link.exports.clone();
    for object in &link.objects {
        exports.extend(
            symbols::of_object(&object.data)
                .needed
                .into_iter()
                .map(str::to_owned),
        );
    }
    exports
}

/// Other code that joins the bitcode may use whatever is visible in it, and so
/// may a CPU's runtime, where a kernel is a function like any other.
fn keep(target: &Target, link: &DeviceLink) -> Keep {
    if link.options.relocatable {
        return Keep::Linkable;
    }
    let alone = link.objects.is_empty() && link.ptx.is_empty();
    let is_gpu = !matches!(target.device(), Device::X86_64(_));
    if alone && is_gpu {
        Keep::Kernels
    } else {
        Keep::Visible
    }
}

fn opt_level(level: u8) -> OptLevel {
    match level {
        0 => OptLevel::O0,
        1 => OptLevel::O1,
        2 => OptLevel::O2,
        _ => OptLevel::O3,
    }
}
