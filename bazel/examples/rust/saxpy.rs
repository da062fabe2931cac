//! Launches a Rust kernel on whatever device the program finds.

use offlink_rt::Grid;

offlink_rt::kernel! {
    /// `y = a * x + y` for the first `n` elements.
    unsafe fn saxpy(x: &[f32], y: &mut [f32], a: f32, n: usize);
}

/// How many elements are wrong; negative if the kernel can't be launched.
#[unsafe(no_mangle)]
pub extern "C" fn wrong_elements() -> i32 {
    let n = 1 << 16;
    let x: Vec<f32> = (0..n).map(|i| i as f32).collect();
    let mut y = vec![1.0; n];
    // SAFETY: both slices have n elements, and the kernel writes to y.
    if let Err(error) = unsafe { saxpy(Grid::covering(n, 256), &x, &mut y, 2.0, n) } {
        eprintln!("rust: {error}");
        return -1;
    }
    let wrong = (0..n).filter(|&i| y[i] != 2.0 * x[i] + 1.0).count();
    i32::try_from(wrong).unwrap_or(i32::MAX)
}
