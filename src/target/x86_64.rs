//! CPU names for x86-64 as an OpenMP device.

use thiserror::Error;

/// Not a CPU that LLVM knows.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error("'{name}' is not an x86-64 CPU; the nearest are {nearest}")]
pub struct UnknownCpu {
    name: String,
    nearest: String,
}

/// The 64-bit names of LLVM 22.1.8 (`llc -march=x86-64 -mcpu=help`) that LLVM
/// 19.1.7 has too.
const NAMES: &[&str] = &[
    "generic",
    "x86-64",
    "x86-64-v2",
    "x86-64-v3",
    "x86-64-v4",
    "alderlake",
    "amdfam10",
    "arrowlake",
    "arrowlake-s",
    "athlon64",
    "athlon64-sse3",
    "atom",
    "barcelona",
    "bdver1",
    "bdver2",
    "bdver3",
    "bdver4",
    "bonnell",
    "broadwell",
    "btver1",
    "btver2",
    "cannonlake",
    "cascadelake",
    "clearwaterforest",
    "cooperlake",
    "core-avx-i",
    "core-avx2",
    "core2",
    "corei7",
    "corei7-avx",
    "emeraldrapids",
    "goldmont",
    "goldmont-plus",
    "gracemont",
    "grandridge",
    "graniterapids",
    "graniterapids-d",
    "haswell",
    "icelake-client",
    "icelake-server",
    "ivybridge",
    "k8",
    "k8-sse3",
    "lunarlake",
    "meteorlake",
    "nehalem",
    "nocona",
    "opteron",
    "opteron-sse3",
    "pantherlake",
    "penryn",
    "raptorlake",
    "rocketlake",
    "sandybridge",
    "sapphirerapids",
    "sierraforest",
    "silvermont",
    "skx",
    "skylake",
    "skylake-avx512",
    "slm",
    "tigerlake",
    "tremont",
    "westmere",
    "znver1",
    "znver2",
    "znver3",
    "znver4",
];

/// Looks the name up; an empty one is `generic`.
///
/// # Errors
/// [`UnknownCpu`] with the three names that share the longest start with it.
pub fn cpu(name: &str) -> Result<&'static str, UnknownCpu> {
    let name = if name.is_empty() { "generic" } else { name };
    if let Some(known) = NAMES.iter().find(|known| **known == name) {
        return Ok(known);
    }
    let shared = |other: &str| {
        name.bytes()
            .zip(other.bytes())
            .take_while(|(a, b)| a == b)
            .count()
    };
    let mut names = NAMES.to_vec();
    names.sort_by_key(|other| std::cmp::Reverse(shared(other)));
    names.truncate(3);
    Err(UnknownCpu {
        name: name.into(),
        nearest: names.join(", "),
    })
}

#[cfg(test)]
mod tests {
    use super::cpu;

    #[test]
    fn names_and_neighbours() {
        assert_eq!(cpu(""), Ok("generic"));
        assert_eq!(cpu("znver4"), Ok("znver4"));
        let error = cpu("znver9").unwrap_err().to_string();
        assert!(error.contains("znver1"), "{error}");
        // A 32-bit CPU can't run a 64-bit image.
        assert!(cpu("pentium4").is_err());
    }
}
