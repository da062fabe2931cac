//! AMD device targets: which processors exist, how a target ID is spelled and
//! turned into LLVM target features, which GPUs run its code, and the command line
//! of `lld`.
//!
//! Everything here is a pure function over values: no file is read and no
//! process is started, so a device link can be planned before it runs.
#![forbid(unsafe_code)]

pub mod device_libs;
pub mod fit;
pub mod lld;
pub mod processor;
pub mod target_id;
pub mod triple;

pub use processor::Processor;
pub use target_id::{Setting, TargetId, TargetIdError};

/// The triple that all AMD device code of offlink has; [`triple`] is about its other
/// spellings.
pub const TRIPLE: &str = "amdgcn-amd-amdhsa";
