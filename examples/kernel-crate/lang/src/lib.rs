//! What the compiler needs to know of `core` for the arithmetic of the kernels:
//! neither GPU target ships a precompiled `core`.
#![feature(
    abi_unadjusted,
    auto_traits,
    intrinsics,
    lang_items,
    link_llvm_intrinsics,
    no_core,
    rustc_attrs
)]
#![allow(internal_features)]
#![no_core]

#[path = "../../../saxpy-build/kernel/lang.rs"]
mod items;
pub use items::*;

/// `a * x + y`, in this crate's object: the kernel's link has to find it there.
#[inline(never)]
pub fn multiply_add(a: f32, x: f32, y: f32) -> f32 {
    a * x + y
}

/// The number of the thread in its block.
#[inline(never)]
pub fn thread() -> i32 {
    raw_thread()
}

#[cfg(target_arch = "nvptx64")]
unsafe extern "unadjusted" {
    #[link_name = "llvm.nvvm.read.ptx.sreg.tid.x"]
    safe fn raw_thread() -> i32;
}

#[cfg(target_arch = "amdgpu")]
unsafe extern "unadjusted" {
    #[link_name = "llvm.amdgcn.workitem.id.x"]
    safe fn raw_thread() -> i32;
}
