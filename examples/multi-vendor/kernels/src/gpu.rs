//! One element a thread.

use lang::*;

/// Threads a block; the host launches with the same number.
const BLOCK: i32 = 256;

union Scalar {
    bits: u64,
    float: f32,
}

/// `y = a * x + y`. Scalars come as 64-bit words, as libomptarget passes them.
#[unsafe(no_mangle)]
pub unsafe extern "gpu-kernel" fn saxpy(_dyn: *mut u8, x: *const f32, y: *mut f32, a: u64, n: i64) {
    let i = index();
    if (i as i64) < n {
        unsafe {
            let x = arith_offset(x, i as isize);
            let y = arith_offset(y as *const f32, i as isize) as *mut f32;
            *y = Scalar { bits: a }.float * *x + *y;
        }
    }
}

/// `data = factor * data`.
#[unsafe(no_mangle)]
pub unsafe extern "gpu-kernel" fn scale(_dyn: *mut u8, data: *mut f32, factor: u64, n: i64) {
    let i = index();
    if (i as i64) < n {
        unsafe {
            let data = arith_offset(data as *const f32, i as isize) as *mut f32;
            *data = Scalar { bits: factor }.float * *data;
        }
    }
}

fn index() -> i32 {
    block() * BLOCK + thread()
}

#[cfg(target_arch = "nvptx64")]
unsafe extern "unadjusted" {
    #[link_name = "llvm.nvvm.read.ptx.sreg.ctaid.x"]
    safe fn block() -> i32;
}

#[cfg(target_arch = "amdgpu")]
unsafe extern "unadjusted" {
    #[link_name = "llvm.amdgcn.workgroup.id.x"]
    safe fn block() -> i32;
}
