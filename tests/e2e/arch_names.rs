//! Processors that do not exist.

use crate::device_code::{AMD, NVIDIA, Target, bitcode};
use crate::workbench::{Run, Workbench};

fn refusal(target: Target, arch: &str) -> String {
    let bench = Workbench::new();
    let kernel = bitcode(&bench, "saxpy", target);
    let output = bench.path("image");
    let stderr = bench
        .offlink()
        .arg("link")
        .args(Target { arch, ..target }.arguments())
        .arg("-o")
        .arg(&output)
        .arg(kernel)
        .fails_with(1);
    assert!(stderr.contains(arch), "{stderr}");
    assert!(!output.exists(), "an image was left behind");
    stderr
}

#[test]
fn unknown_nvidia_gpu() {
    let stderr = refusal(NVIDIA, "sm_91");
    assert!(stderr.contains("sm_90"), "{stderr}");
}

#[test]
fn unknown_amd_gpu() {
    let stderr = refusal(AMD, "gfx90z");
    assert!(stderr.contains("gfx90a"), "{stderr}");
}
