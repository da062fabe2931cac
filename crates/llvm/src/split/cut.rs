//! One part of a module.

use std::collections::HashMap;

use inkwell::llvm_sys::LLVMLinkage::{LLVMAvailableExternallyLinkage, LLVMLinkOnceODRLinkage};
use inkwell::module::Module;

use super::{Owned, Parts};
use crate::ir;
use crate::retain::is_local;

/// Prepares `whole`, of which no body has been read yet, so that linking it into an empty module gives the part, and
/// reads what that has and no more.
///
/// LLVM's linker takes what is visible, and whatever it refers to of what is local or may be dropped when nothing
/// needs it (`linkonce`). Of what is defined elsewhere (`available_externally`) it takes the declaration.
pub(crate) fn prepare(whole: &Module<'_>, parts: &Parts, part: usize) {
    let owned = by_name(parts);
    for global in ir::globals(whole) {
        match owned.get(global.name()) {
            Some(owned) if owned.part != part && !is_local(global) => {
                global.set_linkage(if owned.is_lent {
                    LLVMLinkOnceODRLinkage
                } else {
                    LLVMAvailableExternallyLinkage
                });
            }
            _ => {}
        }
    }
    for list in [c"llvm.used", c"llvm.compiler.used"] {
        ir::filter_list(whole, list, |member| match owned.get(member.name()) {
            Some(owned) => owned.part == part,
            None => part == 0,
        });
    }
    if part != 0 {
        for list in [c"llvm.global_ctors", c"llvm.global_dtors"] {
            ir::filter_list(whole, list, |_| false);
        }
    }
}

/// Tells the optimiser which definitions in the linked part are other parts', for it to look at.
pub(crate) fn return_lent(image: &Module<'_>, parts: &Parts, part: usize) {
    let owned = by_name(parts);
    for global in ir::globals(image) {
        let is_lent = |owned: &&Owned| owned.part != part && owned.is_lent;
        if !global.is_declaration()
            && !is_local(global)
            && owned.get(global.name()).is_some_and(is_lent)
        {
            global.set_linkage(LLVMAvailableExternallyLinkage);
        }
    }
}

fn by_name(parts: &Parts) -> HashMap<&[u8], &Owned> {
    parts
        .owned
        .iter()
        .map(|owned| (owned.name.as_slice(), owned))
        .collect()
}
