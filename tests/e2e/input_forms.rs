//! The forms in which device code and arguments reach a link.

use crate::device_code::{LAUNCHED, RUNTIME, embed, launcher, launcher_with, saxpy_images};
use crate::workbench::{Run, Workbench};

fn links_and_runs(bench: &Workbench, arguments: &[&str]) {
    bench
        .offlink()
        .arg("cc")
        .args(arguments)
        .args([RUNTIME, "-o", "program"])
        .succeeds_silently();
    assert_eq!(bench.program(bench.path("program")).succeeds(), LAUNCHED);
}

#[test]
fn offload_binary_file_beside_the_objects() {
    let bench = Workbench::new();
    launcher_with(&bench, &saxpy_images(&bench));
    launcher(&bench, "saxpy");
    links_and_runs(&bench, &["launch-saxpy.o", "images.bin"]);
}

/// LLVM 22 reads and writes version 1 alone.
fn newer_version(version: u8) {
    let bench = Workbench::new();
    let packed = bench.path("images.bin");
    bench
        .offlink()
        .args(["bundle", &format!("--version={version}"), "-o"])
        .arg(&packed)
        .args(
            saxpy_images(&bench)
                .iter()
                .map(|image| format!("--image={image}")),
        )
        .succeeds_silently();
    embed(&bench, &packed, &[], "host.o");
    links_and_runs(&bench, &["host.o"]);
}

#[test]
fn version_2_in_an_object() {
    newer_version(2);
}

#[test]
fn version_3_in_an_object() {
    newer_version(3);
}

#[test]
fn response_file() {
    let bench = Workbench::new();
    launcher_with(&bench, &saxpy_images(&bench));
    bench.write("arguments", "launch-with-images.o\n");
    links_and_runs(&bench, &["@arguments"]);
}

/// offlink, given no verb, sees by itself what kind of line it is.
#[test]
fn no_verb() {
    let bench = Workbench::new();
    launcher_with(&bench, &saxpy_images(&bench));
    bench
        .offlink()
        .args([
            "launch-with-images.o",
            "-Wl,--gc-sections",
            RUNTIME,
            "-o",
            "program",
        ])
        .succeeds_silently();
    assert_eq!(bench.program(bench.path("program")).succeeds(), LAUNCHED);
}
