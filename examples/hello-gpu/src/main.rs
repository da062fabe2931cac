//! Runs a Rust kernel on whatever device the program finds: the kernel is in
//! `kernel/`, its machine code for each device was put into this program by
//! offlink at link time.

mod offload;

use offload::{Arg, Kernel};

offload::kernel!(static SAXPY = c"saxpy");

/// Threads a block; the kernel counts with the same number.
const BLOCK: usize = 256;

fn main() {
    let n = 1 << 20;
    let a = 2.0f32;
    let mut x: Vec<f32> = (0..n).map(|i| i as f32).collect();
    let mut y = vec![1.0f32; n];

    let blocks = n.div_ceil(BLOCK) as u32;
    let args = [
        Arg::input(&mut x),
        Arg::in_out(&mut y),
        Arg::word(a.to_bits().into()),
        Arg::word(n as u64),
    ];
    if let Err(code) = SAXPY.launch(blocks, BLOCK as u32, args) {
        eprintln!("hello-gpu: the launch failed with code {code}");
        std::process::exit(1);
    }

    let wrong = (0..n).filter(|&i| y[i] != a * i as f32 + 1.0).count();
    println!("hello-gpu: y[3] = {}, {wrong} of {n} elements wrong", y[3]);
    std::process::exit(i32::from(wrong != 0));
}
