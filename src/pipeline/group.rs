//! Device code by target: what is linked into one image.
//!
//! Equivalent targets are one, as for clang-linker-wrapper of LLVM's main: AMD's
//! GPUs in the spelling of LLVM 22 and in that of main. A target ID that says more
//! than another, and a family of processors, are targets of their own.
//!
//! The offload kind is no part of the target: OpenMP and CUDA code for one GPU
//! is linked together, once, and the image is registered for both, as
//! clang-linker-wrapper does it.

use crate::arch_list::ArchList;
use crate::device_input::DeviceInput;
use crate::target::{Device, Target, TargetError, canonical_triple};
use offlink_bundle::offload_binary::OffloadKind;
use std::collections::{BTreeMap, BTreeSet};
use thiserror::Error;

/// All device code for one target, in the order of the line.
#[derive(Clone, Debug)]
pub struct Group {
    /// The target.
    pub target: Target,
    /// The code; never empty.
    pub inputs: Vec<DeviceInput>,
}

/// Device code can't be assigned to a target.
#[derive(Debug, Error)]
pub enum GroupError {
    /// Its triple or arch is none.
    #[error("device code in '{origin}': {source}")]
    Target {
        /// Where the code is.
        origin: String,
        /// What is wrong.
        source: TargetError,
    },
    /// It fits all GPUs of its triple, but the link is for none.
    #[error(
        "device code in '{origin}' for {triple} names no arch, and no other device code does; \
         name one with --offlink-image=…,arch=…, or several with OFFLINK_ARCHS"
    )]
    NoArch {
        /// Where the code is.
        origin: String,
        /// Its triple.
        triple: String,
    },
    /// It is to join code that is launched, but there is none.
    #[error(
        "device code in '{origin}' is of offload kind none, and no code that is launched is for \
         its target, {triple} {arch}; leave it out, or give it a kind with --offlink-image=…,kind=…"
    )]
    Alone {
        /// Where the code is.
        origin: String,
        /// Its triple.
        triple: String,
        /// Its arch.
        arch: String,
    },
    /// SYCL's runtime loads nothing else.
    #[error(
        "device code in '{origin}' is for SYCL and {target}, but SYCL's runtime loads SPIR-V only; \
         compile it for spirv64-unknown-unknown"
    )]
    NotSpirV {
        /// Where the code is.
        origin: String,
        /// Its target.
        target: Target,
    },
    /// SYCL's images have a form of their own.
    #[error(
        "device code for {target} in '{sycl}' is for SYCL, but that in '{other}' for {}; the two \
         can't be linked together, so compile one of them for another target",
        kind.as_str()
    )]
    MixedWithSycl {
        /// The target.
        target: Target,
        /// Where code for SYCL is.
        sycl: String,
        /// Where the other code is.
        other: String,
        /// The offload kind of the other code.
        kind: OffloadKind,
    },
    /// It is for a runtime that offlink does not register images with.
    #[error(
        "device code in '{origin}' is of offload kind {}, but offlink links openmp, \
         cuda, hip and sycl",
        kind.as_str()
    )]
    Kind {
        /// Where the code is.
        origin: String,
        /// The offload kind.
        kind: OffloadKind,
    },
}

/// Sorts device code into groups, by triple and arch in ascending order. Code
/// for GPUs that names no arch, or `generic`, joins every group of its triple; if
/// there is none, and the code is somebody's, those of `archs` are made.
///
/// # Errors
/// [`GroupError`] for code that fits nowhere.
pub fn by_target(inputs: Vec<DeviceInput>, archs: &ArchList) -> Result<Vec<Group>, GroupError> {
    if let Some(other) = inputs
        .iter()
        .find(|input| !REGISTERED.contains(&input.kind) && input.kind != OffloadKind::None)
    {
        return Err(GroupError::Kind {
            origin: other.source.clone(),
            kind: other.kind,
        });
    }
    let mut groups: BTreeMap<Target, Vec<DeviceInput>> = BTreeMap::new();
    for input in inputs.iter().filter(|input| makes_group(input)) {
        let target =
            Target::parse(&input.triple, &input.arch).map_err(|source| GroupError::Target {
                origin: input.source.clone(),
                source,
            })?;
        groups.entry(target).or_default();
    }
    let named: BTreeSet<String> = groups.keys().map(|it| it.triple().to_owned()).collect();
    for input in inputs.iter().filter(|it| it.kind != OffloadKind::None) {
        if is_for_all(input) && !named.contains(&canonical_triple(&input.triple)) {
            let listed = archs.targets(&input.triple).into_iter();
            groups.extend(listed.map(|target| (target, Vec::new())));
        }
    }
    for input in inputs {
        let mut joined = false;
        for (target, group) in &mut groups {
            if belongs(&input, target) {
                group.push(input.clone());
                joined = true;
            }
        }
        if !joined && !is_for_all(&input) {
            return Err(GroupError::Alone {
                origin: input.source,
                triple: input.triple,
                arch: input.arch,
            });
        }
        if !joined {
            return Err(GroupError::NoArch {
                origin: input.source,
                triple: input.triple,
            });
        }
    }
    groups
        .into_iter()
        .map(|(target, inputs)| check_sycl(Group { target, inputs }))
        .collect()
}

/// Refuses code for SYCL that is none of SPIR-V, or not alone.
fn check_sycl(group: Group) -> Result<Group, GroupError> {
    let is_sycl = |input: &&DeviceInput| input.kind == OffloadKind::Sycl;
    let Some(sycl) = group.inputs.iter().find(is_sycl) else {
        return Ok(group);
    };
    if *group.target.device() != Device::SpirV {
        return Err(GroupError::NotSpirV {
            origin: sycl.source.clone(),
            target: group.target,
        });
    }
    let is_other = |input: &&DeviceInput| !is_sycl(input) && input.kind != OffloadKind::None;
    if let Some(other) = group.inputs.iter().find(is_other) {
        return Err(GroupError::MixedWithSycl {
            sycl: sycl.source.clone(),
            other: other.source.clone(),
            kind: other.kind,
            target: group.target,
        });
    }
    Ok(group)
}

/// The kinds that offlink writes registration objects for, in ascending order.
pub const REGISTERED: [OffloadKind; 4] = [
    OffloadKind::OpenMp,
    OffloadKind::Cuda,
    OffloadKind::Hip,
    OffloadKind::Sycl,
];

/// The target of code that is linked into an image of its own kind, if no other
/// code of that target is; `None` also for what names no valid target.
pub fn own_target(input: &DeviceInput) -> Option<Target> {
    if !makes_group(input) {
        return None;
    }
    Target::parse(&input.triple, &input.arch).ok()
}

/// Code of no kind is a library's: nobody launches anything in it, so it makes
/// no image by itself.
fn makes_group(input: &DeviceInput) -> bool {
    !is_for_all(input) && input.kind != OffloadKind::None
}

/// Code for any GPU of its triple. A CPU's `generic` is a CPU of its own, SPIR-V
/// is never for one device only, and a triple may name the processor.
fn is_for_all(input: &DeviceInput) -> bool {
    let has_archs = !["x86_64", "spirv64"]
        .iter()
        .any(|arch| input.triple.starts_with(arch))
        && !offlink_hsaco::triple::names_processor(&input.triple);
    matches!(input.arch.as_str(), "" | "generic") && has_archs
}

/// Whether the code is linked into the target's image.
pub fn belongs(input: &DeviceInput, target: &Target) -> bool {
    if is_for_all(input) {
        return canonical_triple(&input.triple) == target.triple();
    }
    // Target IDs are compared by meaning: their features may be in any order.
    Target::parse(&input.triple, &input.arch).is_ok_and(|own| own == *target)
}

#[cfg(test)]
mod tests {
    use super::*;
    use bytes::Bytes;

    /// Without a list of archs.
    fn by_target(inputs: Vec<DeviceInput>) -> Result<Vec<Group>, GroupError> {
        super::by_target(inputs, &ArchList::default())
    }

    fn input(source: &str, triple: &str, arch: &str) -> DeviceInput {
        DeviceInput {
            source: source.into(),
            kind: OffloadKind::OpenMp,
            triple: triple.into(),
            arch: arch.into(),
            data: Bytes::new(),
        }
    }

    fn shape(inputs: Vec<DeviceInput>) -> Vec<String> {
        by_target(inputs)
            .unwrap()
            .iter()
            .map(|group| {
                let sources: Vec<_> = group.inputs.iter().map(|i| i.source.as_str()).collect();
                format!("{}: {}", group.target.arch(), sources.join(" "))
            })
            .collect()
    }

    #[test]
    fn one_group_a_target_in_order() {
        let groups = shape(vec![
            input("b", "nvptx64-nvidia-cuda", "sm_90"),
            input("a", "nvptx64-nvidia-cuda", "sm_80"),
            input("lib", "nvptx64-nvidia-cuda", ""),
            input("c", "nvptx64-nvidia-cuda", "sm_90"),
            input("x", "amdgcn-amd-amdhsa", "gfx90a:xnack+:sramecc-"),
            input("y", "amdgcn-amd-amdhsa", "gfx90a:sramecc-:xnack+"),
            input("z", "amdgcn-amd-amdhsa", "gfx90a"),
        ]);
        assert_eq!(
            groups,
            [
                "gfx90a: z",
                "gfx90a:sramecc-:xnack+: x y",
                "sm_80: a lib",
                "sm_90: b lib c"
            ]
        );
    }

    /// The cases in clang/test/OffloadTools/clang-linker-wrapper of LLVM's main.
    #[test]
    fn equivalent_targets_merge_and_others_do_not() {
        let groups = shape(vec![
            input("old", "amdgcn-amd-amdhsa", "gfx900"),
            input("alias", "amdgpu-amd-amdhsa", "gfx900"),
            input("subarch", "amdgpu9.00-amd-amdhsa", ""),
            input("both", "amdgpu9.00-amd-amdhsa", "gfx900"),
            input("family", "amdgpu9-amd-amdhsa", ""),
            input("xnack", "amdgpu9.00-amd-amdhsa", "gfx900:xnack+"),
            input("sibling", "amdgpu9.06-amd-amdhsa", ""),
            input("lib", "amdgpu-amd-amdhsa", "generic"),
        ]);
        assert_eq!(
            groups,
            [
                "gfx9-generic: family lib",
                "gfx900: old alias subarch both lib",
                "gfx900:xnack+: xnack lib",
                "gfx906: sibling lib",
            ]
        );
        let odd = by_target(vec![input("odd", "amdgpu9.0a-amd-amdhsa", "gfx908")]);
        let error = odd.unwrap_err().to_string();
        assert!(
            error.contains("in 'odd': the triple's amdgpu9.0a is gfx90a"),
            "{error}"
        );
    }

    #[test]
    fn what_fits_nowhere_is_refused() {
        let alone = by_target(vec![input("lib", "amdgcn-amd-amdhsa", "generic")]);
        assert!(alone.unwrap_err().to_string().contains("names no arch"));
        let typo = by_target(vec![input("k", "nvptx64-nvidia-cuda", "sm_91")]);
        assert!(typo.unwrap_err().to_string().contains("nearest are sm_90"));
        let mut nothing = input("k", "nvptx64-nvidia-cuda", "sm_90");
        nothing.kind = OffloadKind::None;
        let error = by_target(vec![nothing]).unwrap_err().to_string();
        assert!(error.contains("kind none"), "{error}");
    }

    #[test]
    fn a_list_gives_archs_to_code_that_has_none() {
        let list = "sm_90,sm_80,gfx90a".parse().unwrap();
        let archs = |inputs| -> Vec<String> {
            let groups = super::by_target(inputs, &list).unwrap();
            groups.iter().map(|it| it.target.arch()).collect()
        };
        let plain = || input("k", "nvptx64-nvidia-cuda", "");
        assert_eq!(archs(vec![plain()]), ["sm_80", "sm_90"]);
        let own = input("o", "nvptx64-nvidia-cuda", "sm_75");
        assert_eq!(archs(vec![plain(), own]), ["sm_75"]);
        let mut library = input("l", "nvptx64-nvidia-cuda", "");
        library.kind = OffloadKind::None;
        assert!(super::by_target(vec![library], &list).is_err());
    }

    #[test]
    fn sycl_is_spirv_and_stays_alone() {
        let sycl = |triple: &str, arch: &str| DeviceInput {
            kind: OffloadKind::Sycl,
            ..input("s", triple, arch)
        };
        let says = |inputs| by_target(inputs).unwrap_err().to_string();
        let error = says(vec![sycl("nvptx64-nvidia-cuda", "sm_90")]);
        assert!(error.contains("loads SPIR-V only"), "{error}");
        let error = says(vec![
            sycl("spirv64-intel", ""),
            input("o", "spirv64-intel", ""),
        ]);
        assert!(
            error.contains("'s' is for SYCL, but that in 'o' for openmp"),
            "{error}"
        );
        let groups = by_target(vec![
            sycl("spirv64-unknown-unknown", "generic"),
            input("o", "spirv64-intel", ""),
            sycl("spirv64-unknown-unknown", ""),
        ]);
        let sizes: Vec<usize> = groups.unwrap().iter().map(|it| it.inputs.len()).collect();
        assert_eq!(sizes, [1, 2]);
    }

    #[test]
    fn kinds_share_the_image_of_a_target() {
        let mut cuda = input("c", "nvptx64-nvidia-cuda", "sm_90");
        cuda.kind = OffloadKind::Cuda;
        let groups = by_target(vec![cuda, input("o", "nvptx64-nvidia-cuda", "sm_90")]).unwrap();
        assert_eq!(groups.len(), 1);
        assert_eq!(groups[0].inputs.len(), 2);
    }
}
