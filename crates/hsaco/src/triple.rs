//! The two spellings of AMD's triples. LLVM 22 has `amdgcn` and names the
//! processor beside the triple; LLVM's main has `amdgpu`, of which `amdgcn` is an
//! alias, and may name the processor in it: `amdgpu9.0a-amd-amdhsa` is gfx90a, and
//! `amdgpu9-amd-amdhsa`, a major subarch, gfx9-generic ("Subarchitecture
//! Compatibility" in LLVM's "User Guide for AMDGPU Backend", autumn of 2026).

use crate::{Processor, TargetId, TargetIdError};

/// The architecture as LLVM 22, ROCm's runtimes and HIP's bundles spell it;
/// LLVM's main takes it as well.
const ARCH: &str = "amdgcn";

/// Whether the triple is for AMD's GPUs, in either spelling.
pub fn is_amd(triple: &str) -> bool {
    first(triple) == ARCH || subarch(triple).is_some()
}

/// The triple with `amdgcn` for its first component; the rest is kept. Any other
/// triple is kept as it is.
pub fn canonical(triple: &str) -> String {
    if !is_amd(triple) {
        return triple.into();
    }
    format!("{ARCH}{}", &triple[first(triple).len()..])
}

/// Whether the triple itself says which processor it is for.
pub fn names_processor(triple: &str) -> bool {
    subarch(triple).is_some_and(|subarch| !subarch.is_empty())
}

/// The target of a triple for AMD's GPUs with the target ID beside it, which may
/// be empty or `generic` if the triple names the processor.
///
/// # Errors
/// [`TargetIdError`] for a wrong target ID, for a subarch without a processor, and
/// for a processor that is neither the subarch's nor of its family.
pub fn target(triple: &str, id: &str) -> Result<TargetId, TargetIdError> {
    let Some(named) = processor(triple)? else {
        return TargetId::parse(id);
    };
    if matches!(id, "" | "generic") {
        return Ok(named.into());
    }
    let target = TargetId::parse(id)?;
    if target.processor() != named && !named.stands_for(target.processor()) {
        return Err(TargetIdError::OtherSubarch {
            subarch: first(triple).into(),
            processor: named.name().into(),
            id: id.into(),
        });
    }
    Ok(target)
}

/// Whether an option for `triple` is meant for `id` as well: the triple names no
/// processor, or this one, or its family. Vendor and system are not looked at.
pub fn is_for(triple: &str, id: TargetId) -> bool {
    let processor = processor(triple);
    processor.is_ok_and(|named| {
        named.is_none_or(|named| named == id.processor() || named.stands_for(id.processor()))
    })
}

/// The processor that the triple names, if it names one.
fn processor(triple: &str) -> Result<Option<Processor>, TargetIdError> {
    let Some(subarch) = subarch(triple).filter(|subarch| !subarch.is_empty()) else {
        return Ok(None);
    };
    // A minor subarch has two characters behind the dot: major version, then
    // minor version and stepping. One character is a family's minor version.
    let name = match subarch.split_once('.') {
        Some((major, minor)) if minor.len() == 2 => format!("gfx{major}{minor}"),
        Some((major, minor)) => format!("gfx{major}-{minor}-generic"),
        None => format!("gfx{subarch}-generic"),
    };
    match Processor::find(&name) {
        Some(processor) => Ok(Some(processor)),
        None => Err(TargetIdError::UnknownSubarch {
            subarch: first(triple).into(),
            name,
        }),
    }
}

/// What stands behind `amdgpu`; empty if nothing does.
fn subarch(triple: &str) -> Option<&str> {
    let subarch = first(triple).strip_prefix("amdgpu")?;
    let is_version = |byte: u8| byte.is_ascii_hexdigit() || byte == b'.';
    subarch.bytes().all(is_version).then_some(subarch)
}

fn first(triple: &str) -> &str {
    triple.split('-').next().unwrap_or(triple)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_spellings_are_one_target() {
        let says = |triple, id| target(triple, id).map(|target| target.to_string());
        for (triple, id, expected) in [
            ("amdgcn-amd-amdhsa", "gfx90a:xnack+", "gfx90a:xnack+"),
            ("amdgpu-amd-amdhsa", "gfx90a", "gfx90a"),
            ("amdgpu9.0a-amd-amdhsa", "", "gfx90a"),
            ("amdgpu9.0a-amd-amdhsa", "generic", "gfx90a"),
            ("amdgpu9.0a-amd-amdhsa", "gfx90a:xnack-", "gfx90a:xnack-"),
            ("amdgpu9-amd-amdhsa", "", "gfx9-generic"),
            ("amdgpu9-amd-amdhsa", "gfx900", "gfx900"),
            ("amdgpu9.4-amd-amdhsa", "", "gfx9-4-generic"),
            ("amdgpu9.50-amd-amdhsa", "", "gfx950"),
            ("amdgpu10.30-amd-amdhsa", "", "gfx1030"),
            ("amdgpu10.3-amd-amdhsa", "", "gfx10-3-generic"),
            ("amdgpu12.50-amd-amdhsa", "", "gfx1250"),
        ] {
            assert_eq!(says(triple, id).unwrap(), expected, "{triple} {id}");
        }
    }

    #[test]
    fn what_contradicts_itself_is_refused() {
        let says = |triple, id| target(triple, id).unwrap_err().to_string();
        let error = says("amdgpu9.0a-amd-amdhsa", "gfx908");
        assert!(
            error.contains("amdgpu9.0a is gfx90a, not gfx908"),
            "{error}"
        );
        let error = says("amdgpu9-amd-amdhsa", "gfx90a");
        assert!(error.contains("amdgpu9 is gfx9-generic"), "{error}");
        let error = says("amdgpu7-amd-amdhsa", "");
        assert!(error.contains("no processor gfx7-generic"), "{error}");
        let error = says("amdgpu-amd-amdhsa", "");
        assert!(error.contains("not an AMD processor"), "{error}");
    }

    #[test]
    fn the_canonical_spelling() {
        assert_eq!(canonical("amdgpu9.0a-amd-amdhsa"), "amdgcn-amd-amdhsa");
        assert_eq!(canonical("amdgpu"), "amdgcn");
        for kept in ["nvptx64-nvidia-cuda", "amdgputypo-amd-amdhsa", ""] {
            assert_eq!(canonical(kept), kept);
            assert!(!is_amd(kept) && !names_processor(kept));
        }
        assert!(names_processor("amdgpu9-amd-amdhsa") && !names_processor("amdgpu-amd-amdhsa"));
    }

    #[test]
    fn options_for_a_family_hold_for_its_processors() {
        let vega = TargetId::parse("gfx900").unwrap();
        for triple in [
            "amdgcn-amd-amdhsa",
            "amdgpu9-amd-amdhsa",
            "amdgpu9.00-amd-amdhsa",
        ] {
            assert!(is_for(triple, vega), "{triple}");
        }
        assert!(!is_for("amdgpu9.06-amd-amdhsa", vega));
        assert!(!is_for("amdgpu10.1-amd-amdhsa", vega));
    }
}
