//! rustc's own offload intrinsic, whose host code offlink links.

use crate::device_code::{CPU, RUNTIME};
use crate::workbench::{Run, Workbench, fixture, offlink};

fn links_and_runs(toolchain: Option<&str>) {
    let bench = Workbench::new();
    let rustc = || {
        let mut rustc = bench.command("rustc");
        rustc.args(["--edition=2024", "-O"]);
        if let Some(toolchain) = toolchain {
            rustc.env("RUSTUP_TOOLCHAIN", toolchain);
        }
        rustc
    };

    let kernel = bench.path("double.bc");
    rustc()
        .arg("-Cpanic=abort")
        .arg(format!("--emit=llvm-bc={}", kernel.display()))
        .arg(fixture("rust/double_cpu.rs"))
        .succeeds_silently();

    let program = bench.path("program");
    rustc()
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
    links_and_runs(None);
    let bench = Workbench::new();
    let installed = bench
        .command("rustup")
        .args(["toolchain", "list"])
        .succeeds();
    if installed.contains("nightly") {
        links_and_runs(Some("nightly"));
    }
}
