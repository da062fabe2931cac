//! NVIDIA device targets: which architectures exist, which PTX version each
//! needs, what PTX text says about itself, which GPUs run what, and the command
//! lines of `ptxas` and `nvlink`.
//!
//! Everything here is a pure function over values: no file is read and no
//! process is started, so a device link can be planned before it runs.
#![forbid(unsafe_code)]

pub mod arch;
pub mod fit;
pub mod nvlink;
pub mod ptxas;
pub mod text;
pub mod tokens;
pub mod version;

pub use arch::{Arch, ArchError};
pub use version::PtxVersion;

/// The triple that all NVIDIA device code of offlink has.
pub const TRIPLE: &str = "nvptx64-nvidia-cuda";
