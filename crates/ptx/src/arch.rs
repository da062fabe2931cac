//! The `sm_XX` architectures that offlink links for.

use crate::PtxVersion;
use std::fmt;
use thiserror::Error;

/// One architecture, `sm_70` or newer; `a` variants are tied to that very
/// architecture, `f` variants to its family.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Arch {
    name: &'static str,
    min_ptx: PtxVersion,
    llvm: u32,
}

/// Why a name is not an architecture that can be linked for.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum ArchError {
    /// No NVIDIA GPU and no LLVM has this name.
    #[error("'{name}' is not an NVIDIA architecture; the nearest are {nearest}")]
    Unknown {
        /// The name as given.
        name: String,
        /// Up to three valid names, separated by commas.
        nearest: String,
    },
    /// The architecture exists but is older than `sm_70`.
    #[error("'{name}' is older than sm_70, the oldest architecture that offlink links for")]
    TooOld {
        /// The name as given.
        name: String,
    },
}

/// Name, lowest PTX version, first LLVM release that knows the name.
///
/// The PTX versions were read off LLVM 22.1.8 (`llc -mcpu=NAME -mattr=+ptxNN`
/// refuses what is too low) and agree with ptxas 13.0 for the names that both
/// know. That LLVM 19.1.7 ends at `sm_90a` was seen as well; which of 20, 21
/// and 22 brought the later names is from LLVM's release history.
const TABLE: &[(&str, u32, u32)] = &[
    ("sm_70", 60, 9),
    ("sm_72", 61, 9),
    ("sm_75", 63, 9),
    ("sm_80", 70, 11),
    ("sm_86", 71, 13),
    ("sm_87", 74, 16),
    ("sm_88", 90, 22),
    ("sm_89", 78, 16),
    ("sm_90", 78, 16),
    ("sm_90a", 80, 18),
    ("sm_100", 86, 20),
    ("sm_100a", 86, 20),
    ("sm_100f", 88, 21),
    ("sm_101", 86, 20),
    ("sm_101a", 86, 20),
    ("sm_101f", 88, 21),
    ("sm_103", 88, 21),
    ("sm_103a", 88, 21),
    ("sm_103f", 88, 21),
    ("sm_110", 90, 22),
    ("sm_110a", 90, 22),
    ("sm_110f", 90, 22),
    ("sm_120", 87, 20),
    ("sm_120a", 87, 20),
    ("sm_120f", 88, 21),
    ("sm_121", 88, 21),
    ("sm_121a", 88, 21),
    ("sm_121f", 88, 21),
];

/// Names before `sm_70`, so that a real but old GPU is told apart from a typo.
const OLD: &[&str] = &[
    "sm_20", "sm_21", "sm_30", "sm_32", "sm_35", "sm_37", "sm_50", "sm_52", "sm_53", "sm_60",
    "sm_61", "sm_62",
];

impl Arch {
    /// Looks up `sm_90`, `sm_90a`, `sm_100f` …
    ///
    /// # Errors
    /// [`ArchError::TooOld`] for `sm_20` to `sm_62`; [`ArchError::Unknown`],
    /// with the nearest valid names, for everything else that is not in the
    /// table.
    pub fn parse(name: &str) -> Result<Self, ArchError> {
        if let Some(arch) = Self::all().find(|arch| arch.name == name) {
            return Ok(arch);
        }
        if OLD.contains(&name) {
            return Err(ArchError::TooOld { name: name.into() });
        }
        Err(ArchError::Unknown {
            name: name.into(),
            nearest: nearest(name),
        })
    }

    /// Every architecture, in ascending order.
    pub fn all() -> impl Iterator<Item = Self> {
        TABLE.iter().map(|&(name, ptx, llvm)| Self {
            name,
            min_ptx: PtxVersion::new(ptx),
            llvm,
        })
    }

    /// The name as ptxas and LLVM spell it, such as `sm_90a`.
    pub fn name(self) -> &'static str {
        self.name
    }

    /// The number in the name: 90 for `sm_90` and `sm_90a`.
    pub fn number(self) -> u32 {
        number(self.name).unwrap_or_default()
    }

    /// Whether the name has no suffix, so that PTX for it runs on all GPUs that
    /// came later.
    pub fn is_plain(self) -> bool {
        self.name.ends_with(|c: char| c.is_ascii_digit())
    }

    /// The lowest PTX version that has this architecture as `.target`.
    pub fn min_ptx(self) -> PtxVersion {
        self.min_ptx
    }

    /// The major version of the first LLVM whose NVPTX back end knows the
    /// architecture; an older one only warns and emits an empty `.target`.
    pub fn first_llvm(self) -> u32 {
        self.llvm
    }
}

impl fmt::Display for Arch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)
    }
}

/// The number in `sm_90a`, if there is one.
fn number(name: &str) -> Option<u32> {
    let digits = name.trim_start_matches(|c: char| !c.is_ascii_digit());
    let end = digits
        .find(|c: char| !c.is_ascii_digit())
        .unwrap_or(digits.len());
    digits[..end].parse().ok()
}

/// The three valid names whose numbers are closest; plain names go first.
fn nearest(name: &str) -> String {
    let wanted = number(name).unwrap_or(90);
    let mut names: Vec<&str> = TABLE.iter().map(|row| row.0).collect();
    names.sort_by_key(|name| {
        (
            number(name).map_or(u32::MAX, |n| n.abs_diff(wanted)),
            name.len(),
        )
    });
    names.truncate(3);
    names.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn table_names_parse_to_themselves() {
        for arch in Arch::all() {
            assert_eq!(Arch::parse(arch.name()), Ok(arch));
        }
        assert_eq!(Arch::parse("sm_90").unwrap().min_ptx().to_string(), "7.8");
        assert_eq!(Arch::parse("sm_90a").unwrap().min_ptx().to_string(), "8.0");
        assert_eq!(Arch::parse("sm_100f").unwrap().first_llvm(), 21);
    }

    #[test]
    fn typos_name_their_neighbours() {
        let says = |name: &str| Arch::parse(name).unwrap_err().to_string();
        assert!(says("sm_91").contains("sm_90, sm_90a"), "{}", says("sm_91"));
        assert!(says("sm_999").contains("sm_121"), "{}", says("sm_999"));
        assert!(says("gfx90a").contains("sm_90"), "{}", says("gfx90a"));
        assert!(says("").contains("sm_"), "{}", says(""));
    }

    #[test]
    fn old_gpus_are_no_typos() {
        assert_eq!(
            Arch::parse("sm_60"),
            Err(ArchError::TooOld {
                name: "sm_60".into()
            })
        );
    }
}
