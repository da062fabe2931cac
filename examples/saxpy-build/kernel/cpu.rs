//! The same kernel as a CPU "device" image: libomptarget's host plugin calls it
//! once for a whole launch, so it goes over all elements by itself.
#![no_std]

/// `y = a * x + y`, with the arguments of the GPU kernel.
///
/// # Safety
/// `x` and `y` point to `n` floats each.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn saxpy(_dyn: *mut u8, x: *const f32, y: *mut f32, a: u64, n: i64) {
    let a = f32::from_bits(a as u32);
    for i in 0..n as usize {
        unsafe { *y.add(i) += a * *x.add(i) };
    }
}

#[panic_handler]
fn panic(_: &core::panic::PanicInfo) -> ! {
    loop {}
}
