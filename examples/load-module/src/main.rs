//! Picks the image for the GPU that is there, loads it with cudarc and launches the
//! kernel. Given the names of devices, it only says which image each would get.

use cudarc::driver::{CudaContext, LaunchConfig, PushKernelArg};
use cudarc::nvrtc::Ptx;

static KERNELS: offlink_rt::Images = offlink_rt::images!("kernels");

fn main() {
    let devices: Vec<String> = std::env::args().skip(1).collect();
    for device in &devices {
        match KERNELS.for_device(device) {
            Some(image) => println!("{device}: {} ({} bytes)", image.arch, image.bytes.len()),
            None => println!("{device}: no image"),
        }
    }
    if devices.is_empty() {
        match saxpy() {
            Ok(()) => {}
            Err(error) => {
                eprintln!("load-module: {error}");
                std::process::exit(1);
            }
        }
    }
}

fn saxpy() -> Result<(), Box<dyn std::error::Error>> {
    let n = 1 << 20;
    let context = CudaContext::new(0)?;
    let (major, minor) = context.compute_capability()?;
    let capability = format!("{major}.{minor}");
    let image = KERNELS
        .for_device(&capability)
        .ok_or_else(|| format!("no image for compute capability {capability}"))?;
    let module = context.load_module(Ptx::from_binary(image.bytes.to_vec()))?;
    let kernel = module.load_function("saxpy")?;

    let stream = context.default_stream();
    let x: Vec<f32> = (0..n).map(|i| i as f32).collect();
    let x_there = stream.clone_htod(&x)?;
    let mut y_there = stream.clone_htod(&vec![1.0f32; n])?;
    // The kernel's first parameter is for an offload runtime.
    let (nothing, a, count) = (0u64, u64::from(2.0f32.to_bits()), n as i64);
    let mut launch = stream.launch_builder(&kernel);
    launch
        .arg(&nothing)
        .arg(&x_there)
        .arg(&mut y_there)
        .arg(&a)
        .arg(&count);
    let config = LaunchConfig {
        grid_dim: (n.div_ceil(256) as u32, 1, 1),
        block_dim: (256, 1, 1),
        shared_mem_bytes: 0,
    };
    // SAFETY: the kernel takes these arguments, and both buffers have n elements.
    unsafe { launch.launch(config)? };
    let y = stream.clone_dtoh(&y_there)?;

    let wrong = (0..n).filter(|&i| y[i] != 2.0 * x[i] + 1.0).count();
    println!(
        "load-module: {} on {capability}: {wrong} of {n} elements wrong",
        image.arch
    );
    std::process::exit(i32::from(wrong != 0));
}
