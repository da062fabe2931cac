//! The order of a module's variables.
//!
//! LLVM writes PTX's variables in the module's order, but what an initialiser refers to before the variable
//! itself, as PTX wants it. Those it takes from a `DenseSet` of pointers (`discoverDependentGlobals` in
//! NVPTXAsmPrinter.cpp of LLVM 19 to 23; pull request 197838 ends that), so that two runs give two PTX files.
//! Where the module's order is right already, nothing is left to that set.

use std::collections::{HashMap, HashSet};

use inkwell::llvm_sys::comdat::{LLVMGetComdat, LLVMSetComdat};
use inkwell::llvm_sys::core::*;
use inkwell::llvm_sys::prelude::LLVMValueRef;
use inkwell::module::Module;

use super::{Global, globals};

/// Whether LLVM for NVPTX would have to choose: a variable refers to several that are not written by then.
pub(crate) fn is_open(module: &Module<'_>) -> bool {
    Order::of(module).is_open()
}

/// Moves variables behind what they refer to, as far as that is no circle. None may be in the generic address
/// space any more.
pub(crate) fn settle(module: &Module<'_>) {
    let late: Vec<LLVMValueRef> = {
        let order = Order::of(module);
        order.late.iter().map(|variable| variable.value).collect()
    };
    for variable in late {
        // SAFETY: it is a variable of this module, and no `Global` of it is left.
        unsafe { move_to_end(module, variable) };
    }
}

/// NVPTX's number for the address space that all others are parts of (NVPTX usage guide, "Address Spaces").
const GENERIC: u32 = 0;

struct Order<'m> {
    references: HashMap<Global<'m>, Vec<Global<'m>>>,
    places: HashMap<Global<'m>, usize>,
    /// Those that refer to a later variable, or to one of these; each behind what it refers to.
    late: Vec<Global<'m>>,
    is_late: HashSet<Global<'m>>,
    seen: HashSet<Global<'m>>,
}

impl<'m> Order<'m> {
    fn of(module: &'m Module<'_>) -> Self {
        let variables: Vec<Global<'m>> = globals(module)
            .into_iter()
            .filter(|global| global.is_variable())
            .collect();
        let references = variables.iter().map(|variable| {
            let variables = variable.referred_to().into_iter();
            (*variable, variables.filter(|it| it.is_variable()).collect())
        });
        // LLVM's pass generic-to-nvvm, which code generation starts with, makes those anew.
        let is_made_anew = |variable: Global<'_>| {
            variable.address_space() == GENERIC && !variable.name().starts_with(b"llvm.")
        };
        let (last, first): (Vec<Global<'m>>, _) = variables
            .iter()
            .partition(|variable| is_made_anew(**variable));
        let mut order = Self {
            references: references.collect(),
            places: first.into_iter().chain(last).zip(0..).collect(),
            late: Vec::new(),
            is_late: HashSet::new(),
            seen: HashSet::new(),
        };
        for variable in variables {
            order.visit(variable);
        }
        order
    }

    fn visit(&mut self, variable: Global<'m>) {
        if !self.seen.insert(variable) {
            return;
        }
        for reference in self.references[&variable].clone() {
            self.visit(reference);
        }
        if self.not_before(variable) > 0 {
            self.late.push(variable);
            self.is_late.insert(variable);
        }
    }

    /// How many variables that this one refers to don't stand before it.
    fn not_before(&self, variable: Global<'m>) -> usize {
        let references = self.references[&variable].iter();
        references
            .filter(|it| self.places[it] > self.places[&variable] || self.is_late.contains(it))
            .count()
    }

    fn is_open(&self) -> bool {
        self.late.iter().any(|late| self.not_before(*late) > 1)
    }
}

/// Puts a copy of the variable at the end of the module, in place of the variable.
///
/// # Safety
/// `old` is a variable of the module, of which no `Global` exists.
unsafe fn move_to_end(module: &Module<'_>, old: LLVMValueRef) {
    // SAFETY: the caller vouches for the variable. The new one has its type and address space, so that it can stand
    // for it anywhere; the strings are copied before the old one goes, and the metadata list is freed after its use.
    unsafe {
        let new = LLVMAddGlobalInAddressSpace(
            module.as_mut_ptr(),
            LLVMGlobalGetValueType(old),
            c"".as_ptr(),
            LLVMGetPointerAddressSpace(LLVMTypeOf(old)),
        );
        LLVMSetInitializer(new, LLVMGetInitializer(old));
        LLVMSetGlobalConstant(new, LLVMIsGlobalConstant(old));
        LLVMSetExternallyInitialized(new, LLVMIsExternallyInitialized(old));
        LLVMSetThreadLocalMode(new, LLVMGetThreadLocalMode(old));
        LLVMSetLinkage(new, LLVMGetLinkage(old));
        LLVMSetVisibility(new, LLVMGetVisibility(old));
        LLVMSetUnnamedAddress(new, LLVMGetUnnamedAddress(old));
        LLVMSetAlignment(new, LLVMGetAlignment(old));
        LLVMSetSection(new, LLVMGetSection(old));
        LLVMSetComdat(new, LLVMGetComdat(old));
        let mut count = 0;
        let metadata = LLVMGlobalCopyAllMetadata(old, &mut count);
        for index in 0..count as u32 {
            let kind = LLVMValueMetadataEntriesGetKind(metadata, index);
            let node = LLVMValueMetadataEntriesGetMetadata(metadata, index);
            // LLVM 19 can't add a second of a kind.
            LLVMGlobalSetMetadata(new, kind, node);
        }
        LLVMDisposeValueMetadataEntries(metadata);
        LLVMReplaceAllUsesWith(old, new);
        let mut length = 0;
        let name = LLVMGetValueName2(old, &mut length);
        let name = super::bytes(name.cast(), length).to_vec();
        LLVMDeleteGlobal(old);
        LLVMSetValueName2(new, name.as_ptr().cast(), name.len());
    }
}
