//! Which definitions survive the link, and under what linkage.
//!
//! It takes two steps. Before linking, [`promote`] gives kernels and exports linkages under which LLVM's linker
//! takes them along: it leaves out internal and linkonce definitions that no module before refers to. After
//! linking, [`internalise`] makes local what nobody can look up, so that the optimiser may drop it or change
//! it freely. Both set linkages through the API; LLVM's own internalize pass takes names in its pipeline
//! string, where names with commas or angle brackets don't survive.

use std::collections::HashSet;

use inkwell::llvm_sys::LLVMLinkage::*;
use inkwell::llvm_sys::LLVMVisibility::{self, *};
use inkwell::module::Module;

use crate::ir::{self, Global};
use crate::kernels;
use crate::options::{Keep, Options};

/// Makes the kernels and exports of a module that is not yet linked ones that linking keeps.
pub(crate) fn promote(module: &Module<'_>, options: &Options) {
    for global in looked_up(module, options) {
        match global.linkage() {
            LLVMInternalLinkage | LLVMPrivateLinkage => global.set_linkage(LLVMExternalLinkage),
            LLVMLinkOnceAnyLinkage => global.set_linkage(LLVMWeakAnyLinkage),
            LLVMLinkOnceODRLinkage => global.set_linkage(LLVMWeakODRLinkage),
            _ => {}
        }
    }
}

/// Makes local what nobody outside the linked module can refer to, and visible what the host looks up.
pub(crate) fn internalise(module: &Module<'_>, options: &Options) {
    let looked_up = looked_up(module, options);
    let used: HashSet<Global<'_>> =
        ir::referred_to_by(module, &[b"llvm.used", b"llvm.compiler.used"])
            .into_iter()
            .collect();
    for &global in &looked_up {
        if global.visibility() == LLVMHiddenVisibility {
            global.set_visibility(lookup_visibility(&options.triple));
        }
    }
    for global in ir::globals(module) {
        let is_kept = match options.keep {
            Keep::Kernels => false,
            Keep::Visible => global.visibility() != LLVMHiddenVisibility,
            Keep::Linkable => true,
        };
        let stays = is_fixed(global) || looked_up.contains(&global) || used.contains(&global);
        if !stays && !is_kept {
            global.drop_comdat();
            global.set_linkage(LLVMInternalLinkage);
        }
    }
}

/// The definitions that can be found by name from outside.
pub(crate) fn visible<'m>(module: &'m Module<'_>) -> impl Iterator<Item = Global<'m>> {
    ir::globals(module)
        .into_iter()
        .filter(|&global| !is_fixed(global))
}

/// The definitions that the host finds by name: kernels, exports and externally initialised variables.
fn looked_up<'m>(module: &'m Module<'_>, options: &Options) -> HashSet<Global<'m>> {
    let exports: HashSet<&[u8]> = options.exports.iter().map(|name| name.as_bytes()).collect();
    let mut looked_up: HashSet<Global<'m>> = ir::globals(module)
        .into_iter()
        .filter(|&global| !is_fixed(global))
        .filter(|global| exports.contains(global.name()) || global.is_externally_initialized())
        .collect();
    if kernels::has_kernels(&options.triple) {
        looked_up.extend(kernels::kernels(module));
    }
    looked_up
}

/// Whether the linkage has to stay: of declarations, local definitions, LLVM's own variables, and bodies that
/// are only there to be inlined.
fn is_fixed(global: Global<'_>) -> bool {
    let linkage = global.linkage();
    global.is_declaration()
        || global.name().starts_with(b"llvm.")
        || is_local(global)
        || matches!(
            linkage,
            LLVMAvailableExternallyLinkage | LLVMAppendingLinkage
        )
}

/// Whether only its own module can name the global.
pub(crate) fn is_local(global: Global<'_>) -> bool {
    matches!(global.linkage(), LLVMInternalLinkage | LLVMPrivateLinkage)
}

/// The visibility of what the host looks up: protected, so that it stands in the dynamic symbol table, from
/// which a GPU's loader takes it, and still can't be replaced. PTX and SPIR-V have
/// linkage only, so there default says all.
fn lookup_visibility(triple: &str) -> LLVMVisibility {
    if triple.starts_with("nvptx") || triple.starts_with("spirv") {
        LLVMDefaultVisibility
    } else {
        LLVMProtectedVisibility
    }
}
