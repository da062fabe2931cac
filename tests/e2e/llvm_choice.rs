//! Which libLLVM links the bitcode.

use std::path::Path;
use std::process::Command;

use crate::device_code::{AMD, CPU, NVIDIA, Target, bitcode, bitcode_by};
use crate::static_build::static_offlink;
use crate::workbench::{Run, Workbench, system_libllvm};

/// Bitcode spells the name of its producer in six bits a character, the first
/// in the lowest bits.
fn six_bits_each(text: &str) -> Vec<bool> {
    const ALPHABET: &str = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._";
    text.chars()
        .map(|letter| ALPHABET.find(letter).expect("a letter of the alphabet"))
        .flat_map(|code| (0..6).map(move |bit| code >> bit & 1 == 1))
        .collect()
}

/// The bitcode with another producer of the same length.
fn with_producer(bitcode: &[u8], producer: &str, replacement: &str) -> Vec<u8> {
    let mut bits: Vec<bool> = bitcode
        .iter()
        .flat_map(|byte| (0..8).map(move |bit| byte >> bit & 1 == 1))
        .collect();
    let spelled = six_bits_each(producer);
    let place = bits
        .windows(spelled.len())
        .position(|window| window == spelled)
        .unwrap_or_else(|| panic!("{producer} did not write this bitcode"));
    bits[place..place + spelled.len()].copy_from_slice(&six_bits_each(replacement));
    bits.chunks(8)
        .map(|byte| {
            byte.iter()
                .rev()
                .fold(0, |value, bit| value << 1 | u8::from(*bit))
        })
        .collect()
}

#[test]
fn bitcode_newer_than_every_llvm_is_refused() {
    let bench = Workbench::new();
    let present = std::fs::read(bitcode(&bench, "saxpy", CPU)).expect("bitcode");
    let future = bench.write(
        "future.bc",
        with_producer(&present, "LLVM22.1.8", "LLVM99.1.0"),
    );
    let refusal = |mut command: Command| {
        command
            .arg("link")
            .args(CPU.arguments())
            .args(["-o", "image"])
            .arg(&future)
            .fails_with(1)
    };
    let opened = refusal(bench.offlink());
    assert!(opened.contains("-llvm=PATH"), "{opened}");
    let built_in = refusal(bench.command(static_offlink()));
    assert!(built_in.contains("LLVM 22.1.8 in this"), "{built_in}");
    for stderr in [opened, built_in] {
        for part in ["future.bc", "LLVM99.1.0"] {
            assert!(stderr.contains(part), "no {part} in: {stderr}");
        }
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

/// LLVM 22 reads text by another function.
#[test]
fn text_by_llvm_19() {
    let bench = Workbench::new();
    let llvm = system_libllvm(&bench, "libLLVM.so.19.1");
    let bitcode = bitcode_by("clang-19", &bench, "saxpy", NVIDIA);
    let text = bench.path("saxpy.ll");
    bench
        .command("llvm-dis-19")
        .arg("-o")
        .arg(&text)
        .arg(bitcode)
        .succeeds_silently();
    links_with(&bench, &llvm, NVIDIA, &text);
    bench.write("wrong.ll", "define void @f() { ret i32 }");
    let stderr = bench
        .offlink()
        .args(["link", "-o", "image", "wrong.ll"])
        .args(NVIDIA.arguments())
        .arg(format!("--llvm={}", llvm.display()))
        .fails_with(1);
    assert!(stderr.contains("LLVM 19.1.7"), "{stderr}");
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
