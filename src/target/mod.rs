//! What a device image is made for.

pub mod x86_64;

use offlink_hsaco::{TargetId, TargetIdError, triple as amd_triple};
use offlink_ptx::{Arch, ArchError};
use std::fmt;
use thiserror::Error;

/// One device target: a triple with an arch (NVIDIA), a target ID (AMD), a CPU
/// name (a CPU as OpenMP device) or nothing (SPIR-V).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Target {
    triple: String,
    device: Device,
}

/// The part of a target that depends on the vendor.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Device {
    /// An NVIDIA GPU.
    Nvptx(Arch),
    /// An AMD GPU.
    Amdgcn(TargetId),
    /// An x86-64 CPU; the name is `generic` or one that LLVM knows.
    X86_64(&'static str),
    /// A device whose driver compiles SPIR-V, whichever it is.
    SpirV,
}

/// A target that can't be linked for.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum TargetError {
    /// No device of this triple.
    #[error(
        "cannot link device code for triple '{0}'; supported are nvptx64-nvidia-cuda, \
         amdgcn-amd-amdhsa, x86_64-unknown-linux-gnu, spirv64-unknown-unknown and spirv64-intel"
    )]
    Triple(String),
    /// SPIR-V for one device only.
    #[error(
        "SPIR-V is for any device, but arch '{0}' asks for one; leave out the arch, as offlink does \
         not compile SPIR-V ahead of time"
    )]
    SpirVArch(String),
    /// A wrong name of an NVIDIA GPU.
    #[error(transparent)]
    Arch(#[from] ArchError),
    /// A wrong name of an AMD GPU.
    #[error(transparent)]
    TargetId(#[from] TargetIdError),
    /// A wrong name of a CPU.
    #[error(transparent)]
    Cpu(#[from] x86_64::UnknownCpu),
}

impl Target {
    /// Reads a triple and the arch that goes with it. What LLVM's main takes for
    /// one target is one here: AMD's GPUs in either spelling, and triples with
    /// and without an environment that is empty or unknown. All else in a triple
    /// is kept, so that `x86_64-pc-linux-gnu` is a target of its own.
    ///
    /// # Errors
    /// [`TargetError`], with the nearest valid names.
    pub fn parse(triple: &str, arch: &str) -> Result<Self, TargetError> {
        let device = match triple.split('-').next().unwrap_or_default() {
            "nvptx64" => Device::Nvptx(Arch::parse(arch)?),
            _ if amd_triple::is_amd(triple) => Device::Amdgcn(amd_triple::target(triple, arch)?),
            "x86_64" => Device::X86_64(x86_64::cpu(arch)?),
            "spirv64" if !matches!(arch, "" | "generic") => {
                return Err(TargetError::SpirVArch(arch.into()));
            }
            "spirv64" => Device::SpirV,
            _ => return Err(TargetError::Triple(triple.into())),
        };
        Ok(Self {
            triple: canonical_triple(triple),
            device,
        })
    }

    /// Whether an option for `triple` is meant for this target: one for AMD's
    /// GPUs may name a processor or its family.
    pub fn is_named_by(&self, triple: &str) -> bool {
        canonical_triple(triple) == self.triple
            && match self.device {
                Device::Amdgcn(id) => amd_triple::is_for(triple, id),
                _ => true,
            }
    }

    /// The triple, with AMD's GPUs called `amdgcn`, which all runtimes and
    /// versions of LLVM understand, and without an empty or unknown environment.
    pub fn triple(&self) -> &str {
        &self.triple
    }

    /// The arch, target ID or CPU name in its canonical spelling; empty for
    /// SPIR-V, as clang-linker-wrapper 22 registers it.
    pub fn arch(&self) -> String {
        match self.device {
            Device::Nvptx(arch) => arch.to_string(),
            Device::Amdgcn(id) => id.to_string(),
            Device::X86_64(cpu) => cpu.to_string(),
            Device::SpirV => String::new(),
        }
    }

    /// The vendor's part.
    pub fn device(&self) -> &Device {
        &self.device
    }

    /// What names of files about this target are made of: no colon, which
    /// make and some file systems don't take.
    pub fn file_stem(&self) -> String {
        self.to_string().replace([' ', ':'], "-")
    }
}

/// The spelling that stands for all equivalent ones.
pub fn canonical_triple(triple: &str) -> String {
    let without_environment = match triple.splitn(4, '-').collect::<Vec<_>>()[..] {
        [arch, vendor, system, "" | "unknown"] => format!("{arch}-{vendor}-{system}"),
        _ => triple.into(),
    };
    amd_triple::canonical(&without_environment)
}

/// `nvptx64-nvidia-cuda sm_90`; `spirv64-intel`.
impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{}",
            format!("{} {}", self.triple, self.arch()).trim_end()
        )
    }
}

/// By triple, then arch, both as text: the order of images in all outputs.
impl Ord for Target {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        (&self.triple, self.arch()).cmp(&(&other.triple, other.arch()))
    }
}

impl PartialOrd for Target {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn vendors_read_their_own_names() {
        let says = |triple, arch| Target::parse(triple, arch).map(|t| t.to_string());
        assert_eq!(
            says("nvptx64-nvidia-cuda", "sm_90a").unwrap(),
            "nvptx64-nvidia-cuda sm_90a"
        );
        assert_eq!(
            says("amdgcn-amd-amdhsa", "gfx90a:xnack+:sramecc-").unwrap(),
            "amdgcn-amd-amdhsa gfx90a:sramecc-:xnack+"
        );
        assert_eq!(
            says("x86_64-unknown-linux-gnu", "").unwrap(),
            "x86_64-unknown-linux-gnu generic"
        );
        assert_eq!(says("spirv64-intel", "generic").unwrap(), "spirv64-intel");
        let error = says("spirv64-intel", "pvc").unwrap_err().to_string();
        assert!(error.contains("arch 'pvc'"), "{error}");
        let error = says("riscv64-unknown-linux-gnu", "")
            .unwrap_err()
            .to_string();
        assert!(error.contains("supported are nvptx64"), "{error}");
    }

    #[test]
    fn equivalent_spellings_are_one_target() {
        let target = |triple, arch| Target::parse(triple, arch).unwrap();
        let mi200 = target("amdgcn-amd-amdhsa", "gfx90a");
        for (triple, arch) in [
            ("amdgpu-amd-amdhsa", "gfx90a"),
            ("amdgpu9.0a-amd-amdhsa", ""),
            ("amdgpu9.0a-amd-amdhsa-unknown", "gfx90a"),
            ("amdgcn-amd-amdhsa-", "gfx90a"),
        ] {
            assert_eq!(target(triple, arch), mi200, "{triple} {arch}");
            assert!(mi200.is_named_by(triple), "{triple}");
        }
        assert_eq!(mi200.triple(), "amdgcn-amd-amdhsa");
        let others = ["amdgpu9.08-amd-amdhsa", "amdgcn-amd-amdhsa-llvm"];
        assert!(!others.iter().any(|triple| mi200.is_named_by(triple)));
        let cpu = target("x86_64-unknown-linux-gnu", "");
        assert_ne!(target("x86_64-pc-linux-gnu", ""), cpu);
    }

    #[test]
    fn file_names_have_no_colon() {
        let target = Target::parse("amdgcn-amd-amdhsa", "gfx90a:xnack+").unwrap();
        assert_eq!(target.file_stem(), "amdgcn-amd-amdhsa-gfx90a-xnack+");
    }
}
