//! The target machine: what LLVM is to emit code for, and with what passes.

use std::ffi::{CStr, CString};

use inkwell::OptimizationLevel;
use inkwell::llvm_sys::LLVMLinkage::LLVMAvailableExternallyLinkage;
use inkwell::llvm_sys::error::{LLVMDisposeErrorMessage, LLVMGetErrorMessage};
use inkwell::llvm_sys::transforms::pass_builder::{
    LLVMCreatePassBuilderOptions, LLVMDisposePassBuilderOptions, LLVMRunPasses,
};
use inkwell::module::Module;
use inkwell::targets::{CodeModel, FileType, RelocMode, Target, TargetMachine, TargetTriple};

use crate::callseq;
use crate::ir;
use crate::options::{Emit, OptLevel, Options};

/// Makes the machine that `options` describe; the error is LLVM's message.
pub(crate) fn create(options: &Options) -> Result<TargetMachine, String> {
    let triple = TargetTriple::create(&options.triple);
    let target = Target::from_triple(&triple).map_err(|message| message.to_string())?;
    let level = match options.opt_level {
        OptLevel::O0 => OptimizationLevel::None,
        OptLevel::O1 => OptimizationLevel::Less,
        OptLevel::O2 => OptimizationLevel::Default,
        OptLevel::O3 => OptimizationLevel::Aggressive,
    };
    target
        .create_target_machine(
            &triple,
            &options.cpu,
            &options.features,
            level,
            // Images are shared objects, and PTX has no choice.
            RelocMode::PIC,
            CodeModel::Default,
        )
        .ok_or_else(|| "the target has no code generator".into())
}

/// Names the module's target as the machine's.
pub(crate) fn adopt(machine: &TargetMachine, module: &Module<'_>) {
    module.set_triple(&machine.get_triple());
    module.set_data_layout(&machine.get_target_data().get_data_layout());
}

/// Takes out what nothing in the internalised module needs.
pub(crate) fn drop_dead_code(machine: &TargetMachine, module: &Module<'_>) -> Result<(), String> {
    run(machine, module, "globaldce".into())
}

/// Runs the passes that the options ask for over the linked and internalised module.
pub(crate) fn optimise(
    machine: &TargetMachine,
    module: &Module<'_>,
    options: &Options,
) -> Result<(), String> {
    let pipelines = pipelines(module, options);
    pipelines
        .into_iter()
        .try_for_each(|passes| run(machine, module, passes))
}

fn run(machine: &TargetMachine, module: &Module<'_>, passes: String) -> Result<(), String> {
    let passes = CString::new(passes).map_err(|error| error.to_string())?;
    // SAFETY: module and machine are alive; the options are freed after their only use, and so is the message.
    unsafe {
        let options = LLVMCreatePassBuilderOptions();
        let error = LLVMRunPasses(
            module.as_mut_ptr(),
            passes.as_ptr(),
            machine.as_mut_ptr(),
            options,
        );
        LLVMDisposePassBuilderOptions(options);
        if error.is_null() {
            return Ok(());
        }
        let text = LLVMGetErrorMessage(error);
        let message = CStr::from_ptr(text).to_string_lossy().into_owned();
        LLVMDisposeErrorMessage(text);
        Err(message)
    }
}

/// The pipelines to run one after the other, in LLVM's notation.
///
/// The link-time pipeline leaves out what the front end's pipeline starts with, among it the pass that answers
/// `__nvvm_reflect` of libdevice. Where that is called the O0 pipeline, which holds little else, goes first, so
/// that the answers come before the optimiser rather than at code generation.
///
/// SPIR-V is compiled once more by the device's driver, and LLVM's optimiser makes integers of widths that SPIR-V
/// has only in an extension (clang 22 turns the sum of a counter into arithmetic of 33 bits). So nothing is
/// optimised for it; what is always inlined is.
///
/// NVPTX emits constructors only after a pass has turned them into a kernel and a table for the offload
/// runtime, which AMDGPU's code generator does by itself. Nor does it declare what is defined elsewhere
/// (`available_externally`) unless the body is gone.
fn pipelines(module: &Module<'_>, options: &Options) -> Vec<String> {
    let reflects = ["__nvvm_reflect", "llvm.nvvm.reflect"]
        .iter()
        .any(|name| module.get_function(name).is_some());
    let constructs = ["llvm.global_ctors", "llvm.global_dtors"]
        .iter()
        .any(|name| module.get_global(name).is_some());
    let has_lent = ir::globals(module).into_iter().any(|global| {
        global.linkage() == LLVMAvailableExternallyLinkage && !global.is_declaration()
    });
    let triple = module.get_triple();
    let is_for = |arch: &[u8]| triple.as_str().to_bytes().starts_with(arch);
    let level = if is_for(b"spirv") {
        OptLevel::O0
    } else {
        options.opt_level
    };

    let mut before = vec!["globaldce"];
    if reflects || level == OptLevel::O0 {
        before.push("default<O0>");
    }
    let of_level = match level {
        OptLevel::O0 => "globaldce",
        OptLevel::O1 => "lto<O1>",
        OptLevel::O2 => "lto<O2>",
        OptLevel::O3 => "lto<O3>",
    };
    let mut after = Vec::new();
    if constructs && is_for(b"nvptx") {
        after.push("nvptx-lower-ctor-dtor");
    }
    if has_lent {
        after.extend(["elim-avail-extern", "globaldce"]);
    }
    match &options.passes {
        None => vec![[before.as_slice(), &[of_level], &after].concat().join(",")],
        // Which passes a pipeline may hold depends on the first, so this one stands alone.
        Some(passes) => {
            let mut pipelines = vec![before.join(","), passes.clone()];
            pipelines.extend(after.into_iter().map(str::to_owned));
            pipelines
        }
    }
}

/// Emits the module in the form that `options` ask for.
pub(crate) fn emit(
    machine: &TargetMachine,
    module: &Module<'_>,
    options: &Options,
) -> Result<Vec<u8>, String> {
    let file_type = match options.emit {
        Emit::Bitcode => return Ok(module.write_bitcode_to_memory().as_slice().to_vec()),
        Emit::Assembly => FileType::Assembly,
        Emit::Object => FileType::Object,
    };
    if options.triple.starts_with("nvptx") && ir::order::is_open(module) {
        run(machine, module, "generic-to-nvvm".into())?;
        ir::order::settle(module);
    }
    let buffer = machine
        .write_to_memory_buffer(module, file_type)
        .map_err(|message| message.to_string())?;
    if options.emit == Emit::Assembly && options.triple.starts_with("nvptx") {
        return Ok(callseq::without_numbers(buffer.as_slice()));
    }
    Ok(buffer.as_slice().to_vec())
}
