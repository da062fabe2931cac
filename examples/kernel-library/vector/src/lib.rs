//! Arithmetic on vectors, on a GPU if there is one.

use offlink_rt::Grid;
pub use offlink_rt::LaunchError;

mod kernels {
    offlink_rt::kernel! {
        /// `y = a * x + y` for the first `n` elements.
        pub unsafe fn saxpy(x: &[f32], y: &mut [f32], a: f32, n: usize);
    }
}

/// `y = a * x + y`, for as many elements as both have.
///
/// # Errors
/// [`LaunchError`] when no device has run the kernel.
pub fn saxpy(a: f32, x: &[f32], y: &mut [f32]) -> Result<(), LaunchError> {
    let n = x.len().min(y.len());
    // SAFETY: both slices have n elements, and the kernel writes to y.
    unsafe { kernels::saxpy(Grid::covering(n, 256), x, y, a, n) }
}
