//! Kernels for NVIDIA and AMD GPUs, one element a thread.
#![feature(abi_gpu_kernel, no_core)]
#![no_core]

use lang::*;

/// `y = a * x + y`.
///
/// # Safety
/// `x` and `y` point to as many floats as the block has threads.
#[unsafe(no_mangle)]
pub unsafe extern "gpu-kernel" fn saxpy(a: f32, x: *const f32, y: *mut f32) {
    unsafe {
        let i = thread() as isize;
        let y = arith_offset(y as *const f32, i) as *mut f32;
        *y = multiply_add(a, *arith_offset(x, i), *y);
    }
}

/// A plain function that other device code may call.
#[unsafe(no_mangle)]
pub extern "C" fn twice(x: f32) -> f32 {
    x + x
}
