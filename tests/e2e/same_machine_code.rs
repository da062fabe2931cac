//! The images of offlink and of clang-linker-wrapper 22, made by the same LLVM
//! from the same bitcode, hold the same machine code.

use std::path::{Path, PathBuf};

use crate::device_code::{AMD, NVIDIA, Target, bitcode, launcher_with};
use crate::workbench::{Run, Workbench, cuda, cuda_tool, system_libllvm};

fn by_offlink(bench: &Workbench, target: Target, bitcode: &Path) -> PathBuf {
    let image = bench.path("by-offlink.image");
    bench
        .offlink()
        .arg("link")
        .args(target.arguments())
        .arg(format!(
            "--llvm={}",
            system_libllvm(bench, "libLLVM.so.22.1").display()
        ))
        .arg("-o")
        .arg(&image)
        .arg(bitcode)
        .succeeds_silently();
    image
}

fn by_clang_linker_wrapper(bench: &Workbench, target: Target, bitcode: &Path) -> PathBuf {
    let object = launcher_with(bench, &[target.image(bitcode)]);
    bench
        .command("clang-linker-wrapper-22")
        .arg("--host-triple=x86_64-unknown-linux-gnu")
        .arg(format!("--linker-path={}", bench.find("ld").display()))
        .arg(format!(
            "--device-compiler=nvptx64-nvidia-cuda=--cuda-path={}",
            cuda().display()
        ))
        .arg("--device-compiler=nvptx64-nvidia-cuda=-O3")
        .arg("--device-compiler=amdgcn-amd-amdhsa=-O3")
        .args(["-shared", "-o", "by-wrapper.so"])
        .arg(object)
        .succeeds();
    let image = bench.path("by-wrapper.image");
    bench
        .command("llvm-offload-binary-22")
        .arg("by-wrapper.so")
        .arg(format!("--image={}", target.image(&image)))
        .succeeds();
    image
}

/// Drops what differs from file to file: its name.
fn code(listing: String) -> Vec<String> {
    listing
        .lines()
        .filter(|line| !line.contains(".image"))
        .map(str::to_owned)
        .collect()
}

fn same(target: Target, disassemble: impl Fn(&Workbench, &Path) -> String) {
    let bench = Workbench::new();
    let bitcode = bitcode(&bench, "kernels", target);
    let ours = code(disassemble(&bench, &by_offlink(&bench, target, &bitcode)));
    let theirs = code(disassemble(
        &bench,
        &by_clang_linker_wrapper(&bench, target, &bitcode),
    ));
    assert!(
        ours.len() > 100,
        "a listing of {} lines holds no code",
        ours.len()
    );
    assert_eq!(ours, theirs);
}

#[test]
fn for_an_nvidia_gpu() {
    same(NVIDIA, |bench, cubin| {
        bench
            .command(cuda_tool("cuobjdump"))
            .arg("-sass")
            .arg(cubin)
            .succeeds()
    });
}

#[test]
fn for_an_amd_gpu() {
    same(AMD, |bench, image| {
        bench
            .command("llvm-objdump-22")
            .args(["-d", "--no-leading-addr", "--no-show-raw-insn"])
            .arg(image)
            .succeeds()
    });
}
