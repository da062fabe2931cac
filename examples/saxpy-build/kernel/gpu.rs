//! `y = a * x + y` for NVIDIA and AMD GPUs, one element a thread.
#![feature(
    abi_gpu_kernel,
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

mod lang;
use lang::*;

/// Threads a block; the host launches with the same number.
const BLOCK: i32 = 256;

union Scalar {
    bits: u64,
    float: f32,
}

/// The kernel. Scalars come as 64-bit words, as libomptarget passes them: `a`
/// holds the bits of an `f32`, `n` the number of elements.
#[unsafe(no_mangle)]
pub unsafe extern "gpu-kernel" fn saxpy(_dyn: *mut u8, x: *const f32, y: *mut f32, a: u64, n: i64) {
    let i = block() * BLOCK + thread();
    if (i as i64) < n {
        unsafe {
            let x = arith_offset(x, i as isize);
            let y = arith_offset(y as *const f32, i as isize) as *mut f32;
            *y = Scalar { bits: a }.float * *x + *y;
        }
    }
}

#[cfg(target_arch = "nvptx64")]
unsafe extern "unadjusted" {
    #[link_name = "llvm.nvvm.read.ptx.sreg.ctaid.x"]
    safe fn block() -> i32;
    #[link_name = "llvm.nvvm.read.ptx.sreg.tid.x"]
    safe fn thread() -> i32;
}

#[cfg(target_arch = "amdgpu")]
unsafe extern "unadjusted" {
    #[link_name = "llvm.amdgcn.workgroup.id.x"]
    safe fn block() -> i32;
    #[link_name = "llvm.amdgcn.workitem.id.x"]
    safe fn thread() -> i32;
}
