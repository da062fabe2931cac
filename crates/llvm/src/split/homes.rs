//! Which part has what must not be copied.

use std::collections::HashSet;

use inkwell::llvm_sys::LLVMLinkage::*;
use inkwell::module::Module;

use super::Owned;
use super::partition::hash;
use super::references::{Number, References};
use crate::ir::{self, Global};
use crate::kernels;
use crate::retain::is_local;
use crate::undefined::SHARED;

/// Where the definitions of a module live.
pub(super) struct Homes {
    /// The part that has each definition; none of what may be copied.
    owners: Vec<Option<usize>>,
    /// The local definitions that parts other than the owner name too.
    promoted: HashSet<Number>,
    singles: Vec<Single>,
    weights: Vec<u64>,
}

/// How often the image may have a definition.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Single {
    /// As often as there are parts.
    No,
    /// Once, but what uses it may be compiled with its body in view.
    Lent,
    /// Once, and its contents are its owner's alone.
    Yes,
}

impl Homes {
    /// A definition lives in the first part that reaches it, and what no kernel reaches, in the first of all, as the
    /// constructors do.
    pub(super) fn find<'m>(
        module: &'m Module<'_>,
        references: &References<'m>,
        kernels_of: &[&[Number]],
        sizes: &[u64],
    ) -> Self {
        let mut homes = Self {
            owners: vec![None; references.definitions.len()],
            promoted: HashSet::new(),
            singles: singles(module, references),
            weights: vec![0; kernels_of.len()],
        };
        for (part, kernels) in kernels_of.iter().enumerate() {
            homes.settle(kernels.iter().copied(), part, references, sizes);
        }
        let visible = references
            .definitions
            .iter()
            .copied()
            .filter(|global| !is_local(*global));
        let lists: [&[u8]; 4] = [
            b"llvm.global_ctors",
            b"llvm.global_dtors",
            b"llvm.used",
            b"llvm.compiler.used",
        ];
        let rest: Vec<Number> = visible
            .chain(ir::referred_to_by(module, &lists))
            .filter_map(|global| references.number(global))
            .filter(|number| homes.owners[*number].is_none())
            .collect();
        homes.settle(rest, 0, references, sizes);
        homes
    }

    fn settle(
        &mut self,
        roots: impl IntoIterator<Item = Number>,
        part: usize,
        references: &References<'_>,
        sizes: &[u64],
    ) {
        references.reach(roots, |number| {
            if self.singles[number] != Single::No {
                let owner = *self.owners[number].get_or_insert(part);
                if owner != part {
                    if is_local(references.definitions[number]) {
                        self.promoted.insert(number);
                    }
                    if self.singles[number] == Single::Yes {
                        return false;
                    }
                }
            }
            self.weights[part] += sizes[number];
            true
        });
    }

    /// Makes what parts share visible to them. Returns what must not be copied, and the weight of each part.
    pub(super) fn publish(self, references: References<'_>) -> (Vec<Owned>, Vec<u64>) {
        let mut owned = Vec::new();
        for (number, global) in references.definitions.iter().enumerate() {
            global.drop_comdat();
            let Some(part) = self.owners[number] else {
                continue;
            };
            let mut name = global.name().to_vec();
            if self.promoted.contains(&number) {
                let public = public_name(&name);
                // SAFETY: the only name of it that is held is the copy above.
                unsafe { global.rename(&public) };
                global.set_linkage(LLVMExternalLinkage);
                name = public.into_bytes();
            }
            owned.push(Owned {
                name,
                part,
                is_lent: self.singles[number] == Single::Lent,
            });
        }
        (owned, self.weights)
    }
}

fn singles<'m>(module: &'m Module<'_>, references: &References<'m>) -> Vec<Single> {
    let kernels: HashSet<Global<'_>> = kernels::kernels(module).into_iter().collect();
    let mut singles: Vec<Single> = references
        .definitions
        .iter()
        .map(|&global| single(global, kernels.contains(&global)))
        .collect();
    // What other parts can call works on the shared memory of whichever kernel is running.
    let callable = references
        .definitions
        .iter()
        .zip(0..)
        .filter(|(global, number)| {
            global.is_function() && singles[*number] != Single::No && !kernels.contains(global)
        });
    let mut memory = Vec::new();
    references.reach(callable.map(|(_, number)| number), |number| {
        if is_shared_memory(references.definitions[number]) {
            memory.push(number);
        }
        true
    });
    for number in memory {
        singles[number] = Single::Yes;
    }
    singles
}

fn single(global: Global<'_>, is_kernel: bool) -> Single {
    let may_be_copied = if global.is_function() {
        global.is_only_called()
    } else {
        is_shared_memory(global) || global.is_constant() && !global.has_address()
    };
    let is_final = matches!(
        global.linkage(),
        LLVMExternalLinkage
            | LLVMInternalLinkage
            | LLVMPrivateLinkage
            | LLVMWeakODRLinkage
            | LLVMLinkOnceODRLinkage
    );
    if is_local(global) && may_be_copied {
        Single::No
    } else if is_final && !is_kernel && (global.is_function() || global.is_constant()) {
        Single::Lent
    } else {
        Single::Yes
    }
}

fn is_shared_memory(global: Global<'_>) -> bool {
    global.is_variable() && global.address_space() == SHARED
}

/// The name of a local definition that other parts refer to: one that PTX allows, that no compiler makes up, and that
/// the rest of the module has no influence on.
fn public_name(name: &[u8]) -> String {
    let plain: String = name
        .iter()
        .map(|&byte| {
            if byte.is_ascii_alphanumeric() {
                char::from(byte)
            } else {
                '_'
            }
        })
        .collect();
    format!("__offlink_{plain}_{:016x}", hash(name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn public_names_are_identifiers_and_differ() {
        let names = ["a.1", "a_1", "_ZL1x"].map(|name| public_name(name.as_bytes()));
        assert!(names.iter().all(|name| {
            name.bytes()
                .all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
        }));
        assert_ne!(names[0], names[1]);
        assert_eq!(names[2], public_name(b"_ZL1x"));
    }
}
