//! Which functions are kernels.

use std::collections::BTreeSet;

use inkwell::module::Module;

use crate::ir::{self, Global, Operand};

/// `llvm::CallingConv` in LLVM's `CallingConv.h`: PTX_Kernel, SPIR_KERNEL and AMDGPU_KERNEL.
const KERNEL_CONVENTIONS: [u32; 3] = [71, 76, 91];

/// Whether images for `triple` are launched through kernels; on CPUs every function will do.
pub(crate) fn has_kernels(triple: &str) -> bool {
    ["nvptx", "amdgcn", "amdgpu", "spir"]
        .iter()
        .any(|arch| triple.starts_with(arch))
}

/// The kernels that `module` defines.
///
/// LLVM 21 and newer know them by calling convention. Clang up to 20 marks those for NVPTX with `!{ptr @f,
/// !"kernel", i32 1}` in `!nvvm.annotations` (LLVM's NVPTX usage guide), which newer LLVMs turn into the
/// convention on reading.
pub(crate) fn kernels<'m>(module: &'m Module<'_>) -> Vec<Global<'m>> {
    let annotated: BTreeSet<&[u8]> = ir::named_metadata(module, c"nvvm.annotations")
        .iter()
        .filter_map(|node| annotated_kernel(node))
        .map(Global::name)
        .collect();
    ir::globals(module)
        .into_iter()
        .filter(|global| global.is_function() && !global.is_declaration())
        .filter(|function| {
            function
                .calling_convention()
                .is_some_and(|convention| KERNEL_CONVENTIONS.contains(&convention))
                || annotated.contains(function.name())
        })
        .collect()
}

/// The function of an annotation that has the pair "kernel", 1 among its pairs.
fn annotated_kernel<'m>(node: &[Operand<'m>]) -> Option<Global<'m>> {
    let (Operand::Global(function), pairs) = node.split_first()? else {
        return None;
    };
    pairs
        .chunks_exact(2)
        .any(|pair| matches!(pair, [Operand::String(b"kernel"), Operand::Integer(1)]))
        .then_some(*function)
}
