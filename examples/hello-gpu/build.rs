//! Compiles the kernel to bitcode for each device and tells offlink, through
//! the linker's arguments, to link it into an image of the program.

use std::env;
use std::path::Path;
use std::process::Command;

/// Another example's kernels.
const KERNELS: &str = "../saxpy-build/kernel";

/// Source, rustc's target, and the processor that the image is for.
const DEVICES: [(&str, &str, &str); 3] = [
    ("gpu.rs", "nvptx64-nvidia-cuda", "sm_90"),
    ("gpu.rs", "amdgcn-amd-amdhsa", "gfx90a"),
    ("cpu.rs", "x86_64-unknown-linux-gnu", "generic"),
];

fn main() {
    println!("cargo::rerun-if-changed={KERNELS}");
    for (source, triple, arch) in DEVICES {
        let bitcode = compile(&format!("{KERNELS}/{source}"), triple, arch);
        println!(
            "cargo::rustc-link-arg-bins=--offlink-image=file={bitcode},triple={triple},arch={arch},kind=openmp"
        );
    }
}

fn compile(source: &str, triple: &str, arch: &str) -> String {
    let out = env::var("OUT_DIR").expect("cargo sets OUT_DIR");
    let bitcode = Path::new(&out)
        .join(format!("{arch}.bc"))
        .display()
        .to_string();
    let mut rustc = Command::new(env::var_os("RUSTC").expect("cargo sets RUSTC"));
    rustc
        .args([
            "--edition=2024",
            "-O",
            "-Cpanic=abort",
            "--crate-name=kernel",
            "--crate-type=lib",
        ])
        .args([source, "--target", triple])
        .arg(format!("--emit=llvm-bc={bitcode}"));
    if arch != "generic" {
        // Kernels use features that stable Rust has not got yet; the program
        // that this script belongs to does not.
        rustc
            .env("RUSTC_BOOTSTRAP", "1")
            .arg(format!("-Ctarget-cpu={arch}"));
    }
    let status = rustc.status().expect("rustc starts");
    assert!(
        status.success(),
        "rustc could not compile {source} for {triple}"
    );
    bitcode
}
