//! A host program that registers a kernel which no image defines.

use crate::device_code::{CPU, RUNTIME, bitcode, launcher};
use crate::workbench::{Run, Workbench};

#[test]
fn is_refused_with_the_kernels_name() {
    let bench = Workbench::new();
    let image = CPU.image(&bitcode(&bench, "saxpy", CPU));
    let program = bench.path("program");
    let stderr = bench
        .offlink()
        .arg("cc")
        .arg(launcher(&bench, "vanished_kernel"))
        .arg(format!("--offlink-image={image}"))
        .args([RUNTIME, "-o"])
        .arg(&program)
        .fails_with(1);
    assert!(stderr.starts_with("offlink: error: "), "{stderr}");
    assert!(stderr.contains("vanished_kernel"), "{stderr}");
    assert!(!program.exists(), "the program was left behind");
}
