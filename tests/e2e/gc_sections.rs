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
