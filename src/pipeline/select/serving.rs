//! Code of an archive's member for a target that says less than one of the link's:
//! for a family of AMD's processors, or for a GPU in any mode. It is linked into
//! the image for the latter, as by clang-linker-wrapper of LLVM's main: a runtime
//! loads the image that says most, and would not see an image of the member's own.

use crate::device_input::DeviceInput;
use crate::pipeline::group;
use crate::pipeline::scan::{Item, ScanError, Scanned};
use crate::target::{Device, Target};
use offlink_bundle::image::ImageFormat;

/// The targets of all that is linked whatever archives hold.
///
/// # Errors
/// [`ScanError`] when the device code of an object is damaged.
pub(super) fn targets(scanned: &Scanned) -> Result<Vec<Target>, ScanError> {
    let mut targets = Vec::new();
    for item in &scanned.items {
        let inputs = match item {
            Item::Object(object) => object.device_inputs()?,
            Item::Device(inputs) => inputs.clone(),
            Item::Archive(_) | Item::SharedLibrary(_) => continue,
        };
        targets.extend(inputs.iter().filter_map(group::own_target));
    }
    targets.sort();
    targets.dedup();
    Ok(targets)
}

/// The code of one member, that which serves any of `targets` under the name of
/// each that it serves. A target that the member has code of its own for is served
/// by that alone.
pub(super) fn addressed(inputs: Vec<DeviceInput>, targets: &[Target]) -> Vec<DeviceInput> {
    let mut served = Vec::new();
    let mut serving: Vec<Target> = Vec::new();
    for target in targets {
        if inputs.iter().any(|input| group::belongs(input, target)) {
            continue;
        }
        let offers = inputs.iter().filter_map(|input| offer(input, target));
        let Some(best) = offers.max_by_key(|offered| says(offered, target)) else {
            continue;
        };
        for input in inputs
            .iter()
            .filter(|it| linked_target(it).as_ref() == Some(&best))
        {
            served.push(DeviceInput {
                triple: target.triple().into(),
                arch: target.arch(),
                ..input.clone()
            });
        }
        serving.push(best);
    }
    let is_spent = |input: &DeviceInput| {
        linked_target(input).is_some_and(|own| serving.contains(&own) && !targets.contains(&own))
    };
    let mut all: Vec<DeviceInput> = inputs.into_iter().filter(|it| !is_spent(it)).collect();
    all.extend(served);
    all
}

/// The input's target, if it serves the other.
fn offer(input: &DeviceInput, target: &Target) -> Option<Target> {
    let own = linked_target(input)?;
    match (own.device(), target.device()) {
        (Device::Amdgcn(own_id), Device::Amdgcn(id))
            if own.triple() == target.triple() && own_id.serves(*id) =>
        {
            Some(own)
        }
        _ => None,
    }
}

/// The target of code that is yet to be linked: a finished image is what it is.
fn linked_target(input: &DeviceInput) -> Option<Target> {
    match ImageFormat::detect(&input.data) {
        ImageFormat::Bitcode | ImageFormat::HsacoRelocatable => {
            Target::parse(&input.triple, &input.arch).ok()
        }
        _ => None,
    }
}

/// How much the offered target says of the other: the processor itself is more
/// than its family, and then each mode counts. The text decides between equals.
fn says(offered: &Target, target: &Target) -> (bool, usize, String) {
    let processor = |target: &Target| match target.device() {
        Device::Amdgcn(id) => Some(id.processor()),
        _ => None,
    };
    let arch = offered.arch();
    let modes = arch.matches(':').count();
    (processor(offered) == processor(target), modes, arch)
}

#[cfg(test)]
mod tests {
    use super::*;
    use bytes::Bytes;
    use offlink_bundle::offload_binary::OffloadKind;

    fn input(arch: &str, kind: OffloadKind, data: &'static [u8]) -> DeviceInput {
        DeviceInput {
            source: "lib.a(m.o)".into(),
            kind,
            triple: "amdgcn-amd-amdhsa".into(),
            arch: arch.into(),
            data: Bytes::from_static(data),
        }
    }

    /// What becomes of bitcode for `archs` in a link for `targets`.
    fn archs(archs: &[&str], targets: &[&str]) -> Vec<String> {
        let inputs = archs
            .iter()
            .map(|arch| input(arch, OffloadKind::Hip, b"BC\xc0\xde"))
            .collect();
        let targets: Vec<Target> = targets
            .iter()
            .map(|arch| Target::parse("amdgcn-amd-amdhsa", arch).unwrap())
            .collect();
        let all = addressed(inputs, &targets);
        all.into_iter().map(|input| input.arch).collect()
    }

    #[test]
    fn what_says_less_serves_what_says_more() {
        assert_eq!(archs(&["gfx9-generic"], &["gfx900"]), ["gfx900"]);
        let modes = ["gfx90a:xnack+", "gfx90a:xnack-"];
        assert_eq!(archs(&["gfx90a"], &modes), modes);
        // The closest serves, and its own target keeps it.
        let targets = ["gfx90a", "gfx90a:sramecc+:xnack+"];
        assert_eq!(
            archs(&["gfx90a", "gfx90a:xnack+"], &targets),
            ["gfx90a", "gfx90a:sramecc+:xnack+"]
        );
        assert_eq!(archs(&["gfx90a"], &targets), ["gfx90a", targets[1]]);
    }

    #[test]
    fn nothing_serves_what_says_less_or_has_its_own() {
        for (own, target) in [
            ("gfx90a:xnack+", "gfx90a"),
            ("gfx90a:xnack+", "gfx90a:xnack-"),
            ("gfx900", "gfx9-generic"),
            ("gfx900", "gfx906"),
            ("gfx9-generic", "gfx90a"),
        ] {
            assert_eq!(archs(&[own], &[target]), [own]);
        }
        let both = ["gfx9-generic", "gfx900"];
        assert_eq!(archs(&both, &["gfx900"]), both);
    }

    #[test]
    fn all_kinds_are_served_and_images_are_not_touched() {
        let target = [Target::parse("amdgcn-amd-amdhsa", "gfx90a:xnack+").unwrap()];
        let code = [OffloadKind::Hip, OffloadKind::OpenMp];
        let code = code.map(|kind| input("gfx90a", kind, b"BC\xc0\xde"));
        let all = addressed(code.to_vec(), &target);
        let kinds: Vec<_> = all.iter().map(|it| (it.kind, it.arch.as_str())).collect();
        assert_eq!(
            kinds,
            [
                (OffloadKind::Hip, "gfx90a:xnack+"),
                (OffloadKind::OpenMp, "gfx90a:xnack+")
            ]
        );
        let image = include_bytes!("../../../crates/bundle/tests/data/device.hsaco");
        let all = addressed(vec![input("gfx90a", OffloadKind::Hip, image)], &target);
        assert_eq!(all.len(), 1);
        assert_eq!(all[0].arch, "gfx90a");
    }
}
