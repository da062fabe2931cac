//! Runs a Rust kernel on whatever device the program finds: its machine code for
//! each device was put into this program by offlink at link time.

use offlink_rt::Grid;

offlink_rt::kernel! {
    /// `y = a * x + y` for the first `n` elements.
    unsafe fn saxpy(x: &[f32], y: &mut [f32], a: f32, n: usize);
}

/// Threads a block; the kernel counts with the same number.
const BLOCK: u32 = 256;

fn main() -> Result<(), offlink_rt::LaunchError> {
    let n = 1 << 20;
    let x: Vec<f32> = (0..n).map(|i| i as f32).collect();
    let mut y = vec![1.0; n];
    // SAFETY: both slices have n elements, and the kernel writes to y.
    unsafe { saxpy(Grid::covering(n, BLOCK), &x, &mut y, 2.0, n)? };

    let wrong = (0..n).filter(|&i| y[i] != 2.0 * x[i] + 1.0).count();
    println!("hello-gpu: y[3] = {}, {wrong} of {n} elements wrong", y[3]);
    std::process::exit(i32::from(wrong != 0));
}
