//! What code uses and nobody defines.

use inkwell::llvm_sys::LLVMLinkage::LLVMExternalWeakLinkage;
use inkwell::module::Module;

use crate::ir::{self, Global};
use crate::kernels;

/// The address space of memory shared by a group of threads, on NVPTX and AMDGPU alike.
pub(crate) const SHARED: u32 = 3;

/// A symbol that the optimised code uses and doesn't define.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Undefined {
    /// The symbol.
    pub symbol: String,
    /// A function or variable that uses it: the first by name.
    pub used_by: String,
}

/// The declarations of `module` that are in use, sorted by name, without intrinsics, weak references and, on
/// GPUs, shared memory of a size that the launch decides. On NVPTX weak references count, since ptxas insists on
/// them (seen with CUDA 13.0).
pub(crate) fn undefined(module: &Module<'_>, triple: &str) -> Vec<Undefined> {
    let gpu = kernels::has_kernels(triple);
    let nvptx = triple.starts_with("nvptx");
    let mut undefined: Vec<Undefined> = ir::globals(module)
        .into_iter()
        .filter(|global| global.is_declaration() && !global.name().starts_with(b"llvm."))
        .filter(|global| nvptx || global.linkage() != LLVMExternalWeakLinkage)
        .filter(|global| !(gpu && global.is_variable() && global.address_space() == SHARED))
        .filter_map(|global| {
            let used_by = global.users().into_iter().map(Global::name).min()?;
            Some(Undefined {
                symbol: text(global.name()),
                used_by: text(used_by),
            })
        })
        .collect();
    undefined.sort();
    undefined
}

/// A symbol's name for messages.
pub(crate) fn text(name: &[u8]) -> String {
    String::from_utf8_lossy(name).into_owned()
}
