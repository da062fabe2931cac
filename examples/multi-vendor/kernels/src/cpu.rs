//! libomptarget's CPU device calls a kernel once for a whole launch, so each goes
//! over all elements by itself.

use core::slice;

/// `y = a * x + y`, with the arguments of the GPU kernel.
///
/// # Safety
/// `x` and `y` point to `n` floats each.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn saxpy(_dyn: *mut u8, x: *const f32, y: *mut f32, a: u64, n: usize) {
    let a = f32::from_bits(a as u32);
    let (x, y) = unsafe { (slice::from_raw_parts(x, n), slice::from_raw_parts_mut(y, n)) };
    for (x, y) in x.iter().zip(y) {
        *y += a * x;
    }
}

/// `data = factor * data`, with the arguments of the GPU kernel.
///
/// # Safety
/// `data` points to `n` floats.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn scale(_dyn: *mut u8, data: *mut f32, factor: u64, n: usize) {
    let factor = f32::from_bits(factor as u32);
    for element in unsafe { slice::from_raw_parts_mut(data, n) } {
        *element *= factor;
    }
}

#[panic_handler]
fn panic(_: &core::panic::PanicInfo) -> ! {
    loop {}
}
