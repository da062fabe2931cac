//! Runs the kernels on every device that the runtime has an image for.

use offlink_rt::Grid;

offlink_rt::kernel! {
    /// `y = a * x + y` for the first `n` elements.
    unsafe fn saxpy(x: &[f32], y: &mut [f32], a: f32, n: usize);
}
offlink_rt::kernel! {
    /// Multiplies the first `n` elements by `factor`.
    unsafe fn scale(data: &mut [f32], factor: f32, n: usize);
}

fn main() -> Result<(), offlink_rt::LaunchError> {
    let n = 1 << 16;
    let x: Vec<f32> = (0..n).map(|i| i as f32).collect();
    let mut wrong = 0;
    for device in 0..offlink_rt::devices() {
        let grid = Grid::covering(n, 256).on(device);
        let mut y = vec![1.0; n];
        // SAFETY: the slices have n elements, and the kernels write to y.
        unsafe {
            saxpy(grid, &x, &mut y, 2.0, n)?;
            scale(grid, &mut y, 0.5, n)?;
        }
        wrong += (0..n).filter(|&i| y[i] != x[i] + 0.5).count();
        println!("multi-vendor: device {device}: y[3] = {}", y[3]);
    }
    println!("multi-vendor: {wrong} elements wrong");
    std::process::exit(i32::from(wrong != 0 || offlink_rt::devices() == 0));
}
