//! Which LLVM's runtimes load SPIR-V images.

use std::str::FromStr;

/// The LLVM whose runtimes load SPIR-V images: those for SYCL and for Intel's
/// OpenMP read other forms from one to the next.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SpirvRuntime {
    /// LLVM 22.
    #[default]
    Llvm22,
    /// LLVM 24, as it was in the autumn of 2026.
    Llvm24,
}

impl FromStr for SpirvRuntime {
    type Err = &'static str;

    /// Reads the major version; the error says which there are.
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text {
            "22" => Ok(Self::Llvm22),
            "24" => Ok(Self::Llvm24),
            _ => Err("it is 22 or 24"),
        }
    }
}
