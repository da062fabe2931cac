//! Host linkers that drop what nothing refers to keep the entries and images.

use crate::device_code::{LAUNCHED, RUNTIME, launcher_with, saxpy_images};
use crate::workbench::{Run, Workbench};

fn links_and_runs(arguments: &[&str]) {
    let bench = Workbench::new();
    let object = launcher_with(&bench, &saxpy_images(&bench));
    let program = bench.path("program");
    // clang knows where its lld is, whatever name that has on PATH.
    bench
        .offlink()
        .env("OFFLINK_HOST_LINKER", "clang-22")
        .arg("cc")
        .arg(object)
        .args(arguments)
        .args([RUNTIME, "-o"])
        .arg(&program)
        .succeeds_silently();
    assert_eq!(bench.program(program).succeeds(), LAUNCHED);
}

#[test]
fn gnu_ld() {
    links_and_runs(&["-fuse-ld=bfd"]);
}

#[test]
fn gnu_ld_with_gc_sections() {
    links_and_runs(&["-fuse-ld=bfd", "-Wl,--gc-sections"]);
}

#[test]
fn lld() {
    links_and_runs(&["-fuse-ld=lld"]);
}

#[test]
fn lld_with_gc_sections() {
    links_and_runs(&["-fuse-ld=lld", "-Wl,--gc-sections"]);
}

#[test]
fn lld_with_gc_sections_and_a_fixed_load_address() {
    links_and_runs(&["-fuse-ld=lld", "-Wl,--gc-sections", "-no-pie"]);
}

/// A driver that does not say which linker it uses: what that drops is noticed
/// in the output, which does not stay.
#[test]
fn entries_that_a_linker_dropped_are_missed() {
    let bench = Workbench::new();
    let object = launcher_with(&bench, &saxpy_images(&bench));
    let driver = bench.script(
        "driver",
        "#!/bin/sh\nexec clang-22 -fuse-ld=lld -Wl,--gc-sections \"$@\"\n",
    );
    let stderr = bench
        .offlink()
        .env("OFFLINK_HOST_LINKER", driver)
        .arg("cc")
        .arg(object)
        .args([RUNTIME, "-o", "program"])
        .fails_with(1);
    assert!(stderr.contains("kept 0 of 56 bytes"), "{stderr}");
    assert!(stderr.contains("-z nostart-stop-gc"), "{stderr}");
    assert!(
        !bench.path("program").exists(),
        "the program was left behind"
    );
}
