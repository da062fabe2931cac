//! The formats around device images, without LLVM and without processes.
//!
//! - [`offload_binary`]: the container in which compilers embed device code
//!   in host objects, versions 1 to 3.
//! - [`entry`]: the offload entries, by which host code names the kernels and
//!   variables that it expects to find in a device image.
//! - [`image`]: what a device image is and which symbols it defines.
//! - [`fatbin`]: NVIDIA's container of cubins and PTX.
//! - [`hip_bundle`]: the container of HIP's device images, compressed or not.
//! - [`sycl_symbols`]: the names of kernels beside a SYCL image.
//! - [`host_object`]: the relocatable object that carries device images into a
//!   host program and registers them with the offload runtime.
//! - [`mach_o`]: what linkers for macOS need to keep entries.
//! - [`seal`]: what makes the result of a relocatable link keep its images and
//!   entries together.

#![forbid(unsafe_code)]

mod elf;
pub mod entry;
pub mod fatbin;
pub mod hip_bundle;
pub mod host_object;
pub mod image;
pub mod mach_o;
pub mod offload_binary;
pub mod seal;
pub mod sycl_symbols;
mod zstd_frame;

pub use elf::ElfError;
