//! Which functions and variables of a module refer to which.

use std::collections::{HashMap, HashSet};

use inkwell::llvm_sys::LLVMLinkage::LLVMAvailableExternallyLinkage;
use inkwell::module::Module;

use crate::ir::{self, Global};

/// A definition by its place in [`References`].
pub(super) type Number = usize;

/// The definitions of a module, numbered, and what each refers to.
pub(super) struct References<'m> {
    /// All definitions, in the module's order.
    pub definitions: Vec<Global<'m>>,
    numbers: HashMap<Global<'m>, Number>,
    /// What each definition's body or initialiser names, directly or through constants, in ascending order.
    uses: Vec<Vec<Number>>,
}

impl<'m> References<'m> {
    /// Reads the module, apart from LLVM's own variables such as `llvm.used`.
    pub fn of(module: &'m Module<'_>) -> Self {
        let definitions: Vec<Global<'m>> = ir::globals(module)
            .into_iter()
            .filter(|global| !global.is_declaration() && !global.name().starts_with(b"llvm."))
            // The definition proper is in another image.
            .filter(|global| global.linkage() != LLVMAvailableExternallyLinkage)
            .collect();
        let numbers: HashMap<Global<'m>, Number> = definitions.iter().copied().zip(0..).collect();
        let mut uses = vec![Vec::new(); definitions.len()];
        for (number, global) in definitions.iter().enumerate() {
            let users: HashSet<Number> = global
                .users()
                .iter()
                .filter_map(|user| numbers.get(user).copied())
                .collect();
            for user in users {
                uses[user].push(number);
            }
        }
        Self {
            definitions,
            numbers,
            uses,
        }
    }

    /// The number of a definition.
    pub fn number(&self, global: Global<'m>) -> Option<Number> {
        self.numbers.get(&global).copied()
    }

    /// Whether any body or initialiser refers to this definition.
    pub fn is_used(&self, number: Number) -> bool {
        self.uses.iter().any(|uses| uses.contains(&number))
    }

    /// Visits `roots` and what they refer to, each once; `goes_on` says of each whether what it refers to in turn
    /// counts.
    pub fn reach(
        &self,
        roots: impl IntoIterator<Item = Number>,
        mut goes_on: impl FnMut(Number) -> bool,
    ) {
        let mut open: Vec<Number> = roots.into_iter().collect();
        let mut seen: HashSet<Number> = open.iter().copied().collect();
        while let Some(number) = open.pop() {
            if goes_on(number) {
                let fresh = self.uses[number].iter().filter(|&&used| seen.insert(used));
                open.extend(fresh.copied().collect::<Vec<_>>());
            }
        }
    }
}
