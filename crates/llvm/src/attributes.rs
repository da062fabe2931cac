//! The target that functions were compiled for, against the one that they are compiled for now.
//!
//! Functions carry `target-cpu` and `target-features`, and code generation prefers them over the target machine.

use inkwell::module::Module;

use crate::ir;
use crate::options::Options;

const CPU: &str = "target-cpu";
const FEATURES: &str = "target-features";

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
                let features = [features.as_str(), options.features.as_str()]
                    .into_iter()
                    .filter(|list| !list.is_empty())
                    .collect::<Vec<_>>()
                    .join(",");
                function.set_attribute(
                    FEATURES,
                    Some(&features)
                        .filter(|list| !list.is_empty())
                        .map(String::as_str),
                );
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
