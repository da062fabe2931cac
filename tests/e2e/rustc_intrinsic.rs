//! rustc's own offload intrinsic, whose host code offlink links.

use crate::device_code::{CPU, RUNTIME, rust_kernel};
use crate::workbench::{Run, Workbench, fixture, offlink, toolchains};

fn links_and_runs(toolchain: Option<&str>) {
    let bench = Workbench::new();
    let kernel = rust_kernel(&bench, "double_cpu", toolchain);
    let program = bench.path("program");
    bench
        .rustc(toolchain)
        .arg("-O")
        // The options exist in stable compilers too, for those who insist.
        .env("RUSTC_BOOTSTRAP", "1")
        .args(["-Clto=fat", "-Zunstable-options", "-Zoffload=Test"])
        .arg(format!("-Clinker={}", offlink().display()))
        .arg(format!("-Clink-arg=--offlink-image={}", CPU.image(&kernel)))
        .arg(format!("-Clink-arg={RUNTIME}"))
        .arg("-o")
        .arg(&program)
        .arg(fixture("rust/intrinsic_host.rs"))
        .succeeds_silently();
    assert_eq!(bench.program(program).succeeds(), "double: right\n");
}

/// The intrinsic changes from nightly to nightly, and a nightly shows what the
/// linker prints: both toolchains count where both are installed.
#[test]
fn by_every_installed_toolchain() {
    for toolchain in toolchains() {
        links_and_runs(toolchain);
    }
}
