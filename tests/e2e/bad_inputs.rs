//! Inputs that are not what they look like: one line, exit status 1, no crash.

use std::path::Path;

use crate::device_code::{CPU, NVIDIA, RUNTIME, bitcode, embed, launcher, launcher_with};
use crate::workbench::{Run, Workbench};

fn refused(bench: &Workbench, input: &Path) {
    let program = bench.path("program");
    let stderr = bench
        .offlink()
        .env("RUST_BACKTRACE", "1")
        .arg("cc")
        .arg(input)
        .args([RUNTIME, "-o"])
        .arg(&program)
        .fails_with(1);
    let name = input
        .file_name()
        .expect("a file")
        .to_str()
        .expect("a plain name");
    assert!(stderr.starts_with("offlink: error: "), "{stderr}");
    assert!(stderr.contains(name), "{stderr}");
    assert_eq!(stderr.lines().count(), 1, "{stderr}");
    assert!(!program.exists(), "a program was left behind");
}

fn object_with(bench: &Workbench, section: &[u8]) -> std::path::PathBuf {
    let packed = bench.write("section", section);
    embed(bench, &packed, &[], "bad.o")
}

#[test]
fn garbage_in_the_offload_section() {
    let bench = Workbench::new();
    refused(&bench, &object_with(&bench, b"no offload binary at all"));
}

#[test]
fn truncated_offload_binary() {
    let bench = Workbench::new();
    launcher_with(&bench, &[CPU.image(&bitcode(&bench, "saxpy", CPU))]);
    let whole = std::fs::read(bench.path("images.bin")).expect("an offload binary");
    refused(&bench, &object_with(&bench, &whole[..whole.len() / 2]));
}

#[test]
fn truncated_archive() {
    let bench = Workbench::new();
    let object = launcher_with(&bench, &[CPU.image(&bitcode(&bench, "saxpy", CPU))]);
    bench
        .command("llvm-ar-22")
        .args(["rc", "whole.a"])
        .arg(object)
        .succeeds();
    let whole = std::fs::read(bench.path("whole.a")).expect("an archive");
    let cut = bench.write("cut.a", &whole[..whole.len() - 100]);
    refused(&bench, &cut);
}

/// Without its section table an object shows no device code: it is the host
/// linker that refuses it.
#[test]
fn truncated_object() {
    let bench = Workbench::new();
    let object = launcher_with(&bench, &[CPU.image(&bitcode(&bench, "saxpy", CPU))]);
    let whole = std::fs::read(object).expect("an object");
    let cut = bench.write("cut.o", &whole[..whole.len() / 2]);
    let stderr = bench
        .offlink()
        .arg("cc")
        .arg(cut)
        .args([RUNTIME, "-o", "program"])
        .fails_with(1);
    assert!(stderr.contains("cut.o"), "{stderr}");
    assert!(!bench.path("program").exists(), "a program was left behind");
}

#[test]
fn damaged_bitcode() {
    let bench = Workbench::new();
    let mut damaged = std::fs::read(bitcode(&bench, "saxpy", NVIDIA)).expect("bitcode");
    let end = damaged.len() - 300;
    damaged[300..end].fill(0x5a);
    let damaged = bench.write("damaged.bc", damaged);
    let stderr = bench
        .offlink()
        .arg("cc")
        .arg(launcher(&bench, "saxpy"))
        .arg(format!("--offlink-image={}", NVIDIA.image(&damaged)))
        .args([RUNTIME, "-o", "program"])
        .fails_with(1);
    assert!(stderr.contains("damaged.bc"), "{stderr}");
    assert_eq!(stderr.lines().count(), 1, "{stderr}");
}
