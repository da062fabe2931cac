//! offlink as the linker of a cargo package, with rustc's default flags.

use crate::device_code::{CPU, bitcode};
use crate::workbench::{Run, Workbench, fixture};

/// A stable-Rust program; its package has a build script and a proc-macro,
/// which offlink links too.
#[test]
fn package_builds_without_a_warning_and_runs() {
    let bench = Workbench::new();
    let image = CPU.image(&bitcode(&bench, "saxpy", CPU));
    let target = bench.path("target");
    bench
        .command("cargo")
        .args(["build", "--quiet", "--locked", "--offline"])
        .current_dir(fixture("cargo-host"))
        .env("PATH", bench.path_with_offlink())
        .env("CARGO_TARGET_DIR", &target)
        // What nightly does by default: each line of a linker is a warning.
        .env("RUSTFLAGS", "-Wlinker-messages")
        .env("SAXPY_IMAGE", image)
        .succeeds_silently();

    let printed = bench.program(target.join("debug/cargo-host")).succeeds();
    assert_eq!(printed, "saxpy: right\n");
}
