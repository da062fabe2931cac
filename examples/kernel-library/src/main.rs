//! Knows nothing of GPUs: the library does.

fn main() -> Result<(), vector::LaunchError> {
    let n = 1 << 20;
    let x: Vec<f32> = (0..n).map(|i| i as f32).collect();
    let mut y = vec![1.0; n];
    vector::saxpy(2.0, &x, &mut y)?;

    let wrong = (0..n).filter(|&i| y[i] != 2.0 * x[i] + 1.0).count();
    println!(
        "kernel-library: y[3] = {}, {wrong} of {n} elements wrong",
        y[3]
    );
    std::process::exit(i32::from(wrong != 0));
}
