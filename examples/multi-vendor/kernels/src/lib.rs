//! The kernels, for GPUs and for the CPU.
#![cfg_attr(
    any(target_arch = "nvptx64", target_arch = "amdgpu"),
    feature(abi_gpu_kernel, abi_unadjusted, link_llvm_intrinsics, no_core),
    allow(internal_features),
    no_core
)]
#![no_std]

#[cfg(any(target_arch = "nvptx64", target_arch = "amdgpu"))]
mod gpu;

#[cfg(not(any(target_arch = "nvptx64", target_arch = "amdgpu")))]
mod cpu;
