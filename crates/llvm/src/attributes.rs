//! The target that functions were compiled for, against the one that they are compiled for now.
//!
//! Functions carry `target-cpu` and `target-features`, and code generation prefers them over the target machine.

use inkwell::module::Module;

use crate::ir;
use crate::options::Options;

const CPU: &str = "target-cpu";
const FEATURES: &str = "target-features";
const DENORMALS: &str = "denormal-fp-math";
const DENORMALS_F32: &str = "denormal-fp-math-f32";

/// The highest NN of the `+ptxNN` features that functions of `module` ask for.
pub(crate) fn declared_ptx(module: &Module<'_>) -> Option<u32> {
    ir::globals(module)
        .into_iter()
        .filter_map(|function| highest_ptx(&function.attribute(FEATURES)?))
        .max()
}

/// Brings the functions of the linked module in line with the options.
///
/// NVPTX has one GPU per module, and a clang without CUDA leaves features that don't fit the GPU, so all go.
/// Functions for AMDGPU may have been compiled for another GPU, as generic device libraries are; their
/// features that follow from the GPU go, those that are a choice stay, and the choices of `options` (a target
/// ID's settings) come on top. What an optimiser has inferred goes as well: which of its inputs a function
/// doesn't need depends on the GPU, and the optimiser infers it again. (LLVM 22: a trap needs the queue's
/// address before gfx9 only. Told that it needs none, the code for those reads behind its arguments.)
pub(crate) fn retarget(module: &Module<'_>, options: &Options) {
    for function in ir::globals(module) {
        if options.triple.starts_with("nvptx") {
            function.set_attribute(CPU, None);
            function.set_attribute(FEATURES, None);
        } else if options.triple.starts_with("amdgcn") {
            let mut features = function.attribute(FEATURES);
            if let Some(cpu) = function.attribute(CPU).filter(|cpu| *cpu != options.cpu) {
                function.set_attribute(CPU, Some(&options.cpu));
                features = features.map(|features| choices(&features, [&cpu, &options.cpu]));
                for inferred in function
                    .attribute_keys()
                    .iter()
                    .filter(|key| is_inferred(key))
                {
                    function.set_attribute(inferred, None);
                }
            }
            if let Some(features) = features {
                let features = joined([&features, &options.features]);
                function.set_attribute(FEATURES, features.as_deref());
            }
        }
    }
}

/// What all functions that a module defines say alike. Functions of device libraries say it too once they are
/// linked: LLVM inlines no function into one that treats denormal numbers otherwise, and a GPU's waves have one
/// size.
pub(crate) struct Shared {
    /// The target features that each function has, in the first one's order.
    features: String,
    /// For each attribute about denormal numbers the one value, which may be none.
    denormals: [(&'static str, Option<Option<String>>); 2],
}

impl Shared {
    /// Of the functions that `module` defines.
    pub(crate) fn of(module: &Module<'_>) -> Self {
        let functions: Vec<_> = ir::globals(module)
            .into_iter()
            .filter(|global| global.is_function() && !global.is_declaration())
            .collect();
        let one = |key: &str| {
            let mut values = functions.iter().map(|function| function.attribute(key));
            let first = values.next()?;
            values.all(|value| value == first).then_some(first)
        };
        let features = functions
            .iter()
            .map(|function| function.attribute(FEATURES).unwrap_or_default())
            .reduce(|shared, own| in_both(&shared, &own))
            .unwrap_or_default();
        Self {
            features,
            denormals: [DENORMALS, DENORMALS_F32].map(|key| (key, one(key))),
        }
    }

    /// The target features that all functions have, in LLVM's notation.
    pub(crate) fn features(&self) -> &str {
        &self.features
    }

    /// Whether denormal numbers of single precision become zero; without an attribute for these alone, the one for
    /// all types counts (LLVM's language reference).
    pub(crate) fn flushes_denormals(&self) -> bool {
        let [all, single] = &self.denormals;
        let value = |(_, value): &(_, Option<Option<String>>)| value.clone().flatten();
        value(single).or_else(|| value(all)).is_some_and(|mode| {
            mode.starts_with("preserve-sign") || mode.starts_with("positive-zero")
        })
    }

    /// Brings the functions of a library in line. Where the code itself is of two minds, the library stays as it is.
    pub(crate) fn impose(&self, library: &Module<'_>, options: &Options) {
        let is_amd = options.triple.starts_with("amdgcn");
        for function in ir::globals(library) {
            if is_amd {
                let own = function.attribute(FEATURES).unwrap_or_default();
                let features = joined([&own, &self.features]);
                function.set_attribute(CPU, Some(&options.cpu));
                function.set_attribute(FEATURES, features.as_deref());
            } else {
                function.set_attribute(CPU, None);
                function.set_attribute(FEATURES, None);
            }
            for (key, value) in &self.denormals {
                if let Some(value) = value {
                    function.set_attribute(key, value.as_deref());
                }
            }
        }
    }
}

fn highest_ptx(features: &str) -> Option<u32> {
    features
        .split(',')
        .filter_map(|feature| feature.strip_prefix("+ptx")?.parse().ok())
        .max()
}

/// Two lists of features as one, of which the later entries win; `None` if both are empty.
fn joined(lists: [&str; 2]) -> Option<String> {
    let lists: Vec<&str> = lists.into_iter().filter(|list| !list.is_empty()).collect();
    (!lists.is_empty()).then(|| lists.join(","))
}

/// The features of the first list that the second has too.
fn in_both(first: &str, second: &str) -> String {
    let second: Vec<&str> = second.split(',').collect();
    let shared = first.split(',').filter(|feature| second.contains(feature));
    shared.collect::<Vec<_>>().join(",")
}

/// Whether an attribute of a function for AMDGPU is one that LLVM's optimiser adds.
fn is_inferred(key: &str) -> bool {
    key.starts_with("amdgpu-no-") || key == "amdgpu-agpr-alloc"
}

/// Of AMDGPU features those that a compiler chooses for a GPU rather than takes from it, when the code goes
/// from the first GPU to the second.
fn choices(features: &str, cpus: [&str; 2]) -> String {
    let is_for_modes = cpus.into_iter().all(has_modes);
    features
        .split(',')
        .filter(|feature| match feature.trim_start_matches(['+', '-']) {
            "wavefrontsize32" | "wavefrontsize64" | "cumode" => is_for_modes,
            name => matches!(name, "xnack" | "sramecc"),
        })
        .collect::<Vec<_>>()
        .join(",")
}

/// Whether a GPU runs waves of 32 and of 64 threads, and compute units alone and in pairs: gfx10 to gfx12, but
/// for gfx125x (LLVM 22's "User Guide for AMDGPU Backend").
fn has_modes(cpu: &str) -> bool {
    ["gfx10", "gfx11", "gfx12"]
        .iter()
        .any(|family| cpu.starts_with(family))
        && !cpu.starts_with("gfx125")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_highest_ptx_counts_and_removed_ones_do_not() {
        assert_eq!(highest_ptx("+ptx42,+sm_90,+ptx78,-ptx86"), Some(78));
        assert_eq!(highest_ptx("+sm_90"), None);
        assert_eq!(highest_ptx("+ptx"), None);
        assert_eq!(highest_ptx("+ptx99999999999"), None);
    }

    #[test]
    fn shared_features_keep_their_order() {
        assert_eq!(
            in_both(
                "+dpp,+wavefrontsize64,+new",
                "+old,+wavefrontsize64,-new,+dpp"
            ),
            "+dpp,+wavefrontsize64"
        );
        assert_eq!(in_both("+dpp", ""), "");
        assert_eq!(joined(["+dpp", ""]).as_deref(), Some("+dpp"));
        assert_eq!(joined(["", ""]), None);
    }

    #[test]
    fn choices_survive_a_change_of_gpu() {
        let of = |from, to| {
            let features =
                "+16-bit-insts,-wavefrontsize32,+wavefrontsize64,+xnack,+gfx9-insts,-sramecc";
            choices(features, [from, to])
        };
        assert_eq!(
            of("gfx1030", "gfx1100"),
            "-wavefrontsize32,+wavefrontsize64,+xnack,-sramecc"
        );
        for (from, to) in [
            ("gfx90a", "gfx1100"),
            ("gfx1100", "gfx90a"),
            ("gfx1100", "gfx1250"),
        ] {
            assert_eq!(of(from, to), "+xnack,-sramecc", "{from} {to}");
        }
        assert_eq!(choices("", ["gfx90a", "gfx942"]), "");
    }
}
