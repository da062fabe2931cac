//! Which libLLVM links the bitcode.

use std::path::Path;

use crate::device_code::{AMD, CPU, NVIDIA, Target, bitcode, bitcode_by};
use crate::workbench::{Run, Workbench, fixture, system_libllvm};

#[test]
fn bitcode_newer_than_every_llvm_is_refused() {
    let bench = Workbench::new();
    let bitcode = bench.path("future.bc");
    bench
        .command("clang-22")
        .env("LLVM_OVERRIDE_PRODUCER", "LLVM99.1.0")
        .args(["-O2", "-fPIC", "-emit-llvm", "-c", "-o"])
        .arg(&bitcode)
        .arg(fixture("c/saxpy.c"))
        .succeeds();
    let stderr = bench
        .offlink()
        .arg("link")
        .args(CPU.arguments())
        .args(["-o", "image"])
        .arg(bitcode)
        .fails_with(1);
    for part in ["future.bc", "LLVM99.1.0", "-llvm=PATH"] {
        assert!(stderr.contains(part), "no {part} in: {stderr}");
    }
}

fn links_with(bench: &Workbench, llvm: &Path, target: Target, bitcode: &Path) {
    let image = bench.path(format!("{}.image", target.arch));
    bench
        .offlink()
        .arg("link")
        .args(target.arguments())
        .arg(format!("--llvm={}", llvm.display()))
        .arg("-o")
        .arg(&image)
        .arg(bitcode)
        .succeeds_silently();
    assert!(image.exists());
}

#[test]
fn bitcode_of_llvm_19_by_llvm_19() {
    let bench = Workbench::new();
    let llvm = system_libllvm(&bench, "libLLVM.so.19.1");
    for target in [NVIDIA, AMD, CPU] {
        let bitcode = bitcode_by("clang-19", &bench, "saxpy", target);
        links_with(&bench, &llvm, target, &bitcode);
    }
}

#[test]
fn bitcode_of_llvm_19_by_llvm_22() {
    let bench = Workbench::new();
    let llvm = system_libllvm(&bench, "libLLVM.so.22.1");
    for target in [NVIDIA, AMD, CPU] {
        let bitcode = bitcode_by("clang-19", &bench, "saxpy", target);
        links_with(&bench, &llvm, target, &bitcode);
    }
}

/// The named library is older than the bitcode: no other is tried.
#[test]
fn named_llvm_that_is_too_old_is_refused() {
    let bench = Workbench::new();
    let llvm = system_libllvm(&bench, "libLLVM.so.19.1");
    let stderr = bench
        .offlink()
        .arg("link")
        .args(CPU.arguments())
        .arg(format!("--llvm={}", llvm.display()))
        .args(["-o", "image"])
        .arg(bitcode(&bench, "saxpy", CPU))
        .fails_with(1);
    for part in ["LLVM22.1", "19.1"] {
        assert!(stderr.contains(part), "no {part} in: {stderr}");
    }
}
