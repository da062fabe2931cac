//! Which GPUs run which code: NVIDIA's rules for machine code (CUDA C++
//! Programming Guide 13, "Binary Compatibility" and "Feature-Specific and
//! Family-Specific Compilation") and for PTX.

use std::fmt;
use thiserror::Error;

/// The version of a GPU's architecture, 9.0 for an H200.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ComputeCapability {
    major: u32,
    minor: u32,
}

/// What an image is, which decides where it runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Code {
    /// A cubin.
    Machine,
    /// PTX, which the driver compiles.
    Ptx,
}

/// Why an image does not run on a GPU.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum Misfit {
    /// The image's name is not one of an NVIDIA architecture.
    #[error("'{0}' is no architecture of NVIDIA's")]
    Name(String),
    /// Machine code of another generation.
    #[error(
        "machine code for {arch} runs on GPUs {major}.{minor} to {major}.9, and this one is \
         {device}"
    )]
    Generation {
        /// The image's architecture.
        arch: String,
        /// The generation that it is for.
        major: u32,
        /// The first GPU of it that runs the image.
        minor: u32,
        /// The GPU.
        device: ComputeCapability,
    },
    /// PTX for a newer GPU.
    #[error("PTX for {arch} needs a GPU {needed} or newer, and this one is {device}")]
    Newer {
        /// The image's architecture.
        arch: String,
        /// The first GPU that runs the image.
        needed: ComputeCapability,
        /// The GPU.
        device: ComputeCapability,
    },
    /// Code with the features of one GPU.
    #[error("{arch} is for exactly {needed}, and this GPU is {device}")]
    Exact {
        /// The image's architecture.
        arch: String,
        /// The only GPU that runs it.
        needed: ComputeCapability,
        /// The GPU.
        device: ComputeCapability,
    },
    /// Code with the features of a family.
    #[error("{arch} is for the family of {needed} from there on, and this GPU is {device}")]
    Family {
        /// The image's architecture.
        arch: String,
        /// The first GPU of the family that runs it.
        needed: ComputeCapability,
        /// The GPU.
        device: ComputeCapability,
    },
}

/// Families of GPUs that have members of several versions. 10.1 was renamed to
/// 11.0, and is no member of the family of 10.0.
const FAMILIES: [&[(u32, u32)]; 2] = [&[(10, 0), (10, 3)], &[(12, 0), (12, 1)]];

impl ComputeCapability {
    /// Reads `9.0`, as nvidia-smi writes it.
    pub fn parse(text: &str) -> Option<Self> {
        let (major, minor) = text.trim().split_once('.')?;
        Some(Self {
            major: major.parse().ok()?,
            minor: minor.parse().ok()?,
        })
    }

    /// The architecture that is compiled for: `sm_90` for 9.0.
    pub fn arch(self) -> String {
        format!("sm_{}{}", self.major, self.minor)
    }

    /// Whether both are of one family, and `self` is not the older one.
    fn follows_in_family(self, first: Self) -> bool {
        let is_in = |family: &[(u32, u32)], gpu: Self| family.contains(&(gpu.major, gpu.minor));
        let mut families = FAMILIES.iter();
        self == first
            || self > first && families.any(|family| is_in(family, self) && is_in(family, first))
    }
}

impl fmt::Display for ComputeCapability {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.major, self.minor)
    }
}

/// Whether `device` runs `code` for `arch` (`sm_90a`, `compute_80`).
///
/// # Errors
/// [`Misfit`] says why it does not.
pub fn fits(code: Code, arch: &str, device: ComputeCapability) -> Result<(), Misfit> {
    let (needed, suffix) = parts(arch).ok_or_else(|| Misfit::Name(arch.into()))?;
    let arch = arch.to_owned();
    match (suffix, code) {
        ("a", _) if device != needed => Err(Misfit::Exact {
            arch,
            needed,
            device,
        }),
        ("f", _) if !device.follows_in_family(needed) => Err(Misfit::Family {
            arch,
            needed,
            device,
        }),
        ("", Code::Machine) if device.major != needed.major || device < needed => {
            Err(Misfit::Generation {
                arch,
                major: needed.major,
                minor: needed.minor,
                device,
            })
        }
        ("", Code::Ptx) if device < needed => Err(Misfit::Newer {
            arch,
            needed,
            device,
        }),
        _ => Ok(()),
    }
}

/// How specific code for `arch` is: of several images that fit, the driver
/// takes the one for the newest architecture, machine code before PTX.
pub fn rank(code: Code, arch: &str) -> Option<(bool, ComputeCapability)> {
    parts(arch).map(|(needed, _)| (code == Code::Machine, needed))
}

/// `(9.0, "a")` of `sm_90a`.
fn parts(arch: &str) -> Option<(ComputeCapability, &str)> {
    let rest = arch
        .strip_prefix("sm_")
        .or_else(|| arch.strip_prefix("compute_"))?;
    let end = rest.trim_end_matches(['a', 'f']).len();
    let (digits, suffix) = rest.split_at(end);
    let number: u32 = digits.parse().ok()?;
    let capability = ComputeCapability {
        major: number / 10,
        minor: number % 10,
    };
    matches!(suffix, "" | "a" | "f").then_some((capability, suffix))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fit(code: Code, arch: &str, device: &str) -> bool {
        fits(code, arch, ComputeCapability::parse(device).unwrap()).is_ok()
    }

    #[test]
    fn machine_code_stays_in_its_generation() {
        assert!(fit(Code::Machine, "sm_90", "9.0"));
        assert!(fit(Code::Machine, "sm_80", "8.6"));
        assert!(!fit(Code::Machine, "sm_86", "8.0"));
        assert!(!fit(Code::Machine, "sm_80", "9.0"));
        assert!(!fit(Code::Machine, "sm_90", "8.0"));
        assert!(fit(Code::Machine, "sm_100", "10.3"));
    }

    #[test]
    fn suffixes_bind() {
        assert!(fit(Code::Machine, "sm_90a", "9.0"));
        assert!(!fit(Code::Machine, "sm_100a", "10.3"));
        assert!(!fit(Code::Ptx, "compute_90a", "10.0"));
        assert!(fit(Code::Machine, "sm_100f", "10.3"));
        assert!(!fit(Code::Machine, "sm_103f", "10.0"));
        assert!(!fit(Code::Machine, "sm_100f", "10.1"));
        assert!(fit(Code::Machine, "sm_110f", "11.0"));
        assert!(fit(Code::Ptx, "sm_120f", "12.1"));
    }

    #[test]
    fn ptx_runs_on_what_came_later() {
        assert!(fit(Code::Ptx, "sm_80", "9.0"));
        assert!(fit(Code::Ptx, "compute_80", "12.0"));
        assert!(!fit(Code::Ptx, "compute_90", "8.9"));
    }

    #[test]
    fn reasons_name_both_sides() {
        let device = ComputeCapability::parse("8.0").unwrap();
        let says = |arch| fits(Code::Machine, arch, device).unwrap_err().to_string();
        assert_eq!(
            says("sm_90"),
            "machine code for sm_90 runs on GPUs 9.0 to 9.9, and this one is 8.0"
        );
        assert_eq!(
            says("sm_90a"),
            "sm_90a is for exactly 9.0, and this GPU is 8.0"
        );
        assert!(says("gfx90a").contains("'gfx90a'"));
        assert!(says("sm_90aa").contains("'sm_90aa'"));
    }

    #[test]
    fn the_newest_machine_code_is_taken() {
        let mut images = [
            (Code::Ptx, "sm_90"),
            (Code::Machine, "sm_86"),
            (Code::Machine, "sm_80"),
        ];
        images.sort_by_key(|(code, arch)| rank(*code, arch));
        assert_eq!(images.map(|(_, arch)| arch), ["sm_90", "sm_80", "sm_86"]);
    }
}
