//! offlink and clang-linker-wrapper 22 make the same machine code of the same
//! bitcode with the same LLVM.

use std::path::{Path, PathBuf};

use crate::device_code::{AMD, NVIDIA, Target, bitcode, launcher_with, sass};
use crate::workbench::{Run, Workbench, cuda, cuda_tool, system_libllvm};

fn by_offlink(bench: &Workbench, target: Target, bitcode: &Path, emit: &str) -> PathBuf {
    let output = bench.path(format!("by-offlink.{emit}"));
    bench
        .offlink()
        .arg("link")
        .args(target.arguments())
        .arg(format!("--emit={emit}"))
        .arg(format!(
            "--llvm={}",
            system_libllvm(bench, "libLLVM.so.22.1").display()
        ))
        .arg("-o")
        .arg(&output)
        .arg(bitcode)
        .succeeds_silently();
    output
}

fn by_clang_linker_wrapper(bench: &Workbench, target: Target, bitcode: &Path) -> PathBuf {
    let object = launcher_with(bench, &[target.image(bitcode)]);
    bench
        .command("clang-linker-wrapper-22")
        .arg("--host-triple=x86_64-unknown-linux-gnu")
        .arg(format!("--linker-path={}", bench.find("ld").display()))
        .arg(format!(
            "--device-compiler={}=--cuda-path={}",
            NVIDIA.triple,
            cuda().display()
        ))
        .arg(format!("--device-compiler={}=-O3", target.triple))
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

/// The wrapper has ptxas make relocatable code and nvlink make the image of it.
fn assembled_as_by_the_wrapper(bench: &Workbench, ptx: &Path) -> PathBuf {
    bench
        .command(cuda_tool("ptxas"))
        .args(["-c", "-O3", "-arch=sm_90", "-o", "relocatable.o"])
        .arg(ptx)
        .succeeds();
    let image = bench.path("assembled.image");
    bench
        .command(cuda_tool("nvlink"))
        .args(["-arch=sm_90", "relocatable.o", "-o"])
        .arg(&image)
        .succeeds();
    image
}

/// ptxas knows more of a program that is not relocatable, and allots registers
/// and cycles otherwise in it. So what offlink hands to ptxas is compared by
/// what comes of it on the wrapper's way.
#[test]
fn for_an_nvidia_gpu() {
    let bench = Workbench::new();
    let bitcode = bitcode(&bench, "kernels", NVIDIA);
    let ptx = by_offlink(&bench, NVIDIA, &bitcode, "ptx");
    let ours = sass(&bench, &assembled_as_by_the_wrapper(&bench, &ptx));
    let theirs = sass(&bench, &by_clang_linker_wrapper(&bench, NVIDIA, &bitcode));
    assert!(ours.contains("Function : mandelbrot"), "{ours}");
    assert_eq!(ours, theirs);
}

#[test]
fn the_same_kernels_for_an_nvidia_gpu() {
    let bench = Workbench::new();
    let bitcode = bitcode(&bench, "kernels", NVIDIA);
    let kernels = |image: PathBuf| -> Vec<String> {
        let listing = sass(&bench, &image);
        let functions = listing
            .lines()
            .filter_map(|line| line.trim().strip_prefix("Function : "));
        // ptxas's own functions begin with underscores.
        let mut kernels: Vec<String> = functions
            .filter(|name| !name.starts_with('_'))
            .map(str::to_owned)
            .collect();
        kernels.sort();
        kernels
    };
    let ours = kernels(by_offlink(&bench, NVIDIA, &bitcode, "cubin"));
    assert_eq!(ours, ["block_sum", "convolve", "mandelbrot"]);
    assert_eq!(
        ours,
        kernels(by_clang_linker_wrapper(&bench, NVIDIA, &bitcode))
    );
}

/// Each line of code with its address and bytes, less the padding behind a
/// function: the wrapper's functions are sections of their own, between which
/// lld pads with zeros and not with `s_nop`.
fn amd_code(bench: &Workbench, image: &Path) -> Vec<String> {
    let listing = bench
        .command("llvm-objdump-22")
        .arg("-d")
        .arg(image)
        .succeeds();
    listing
        .lines()
        .filter(|line| line.contains(" <") || line.starts_with('\t'))
        .filter(|line| !line.contains("s_nop 0 ") && !line.contains("..."))
        .map(str::to_owned)
        .collect()
}

#[test]
fn for_an_amd_gpu() {
    let bench = Workbench::new();
    let bitcode = bitcode(&bench, "kernels", AMD);
    let ours = amd_code(&bench, &by_offlink(&bench, AMD, &bitcode, "image"));
    let theirs = amd_code(&bench, &by_clang_linker_wrapper(&bench, AMD, &bitcode));
    assert!(
        ours.iter().any(|line| line.contains("<mandelbrot>")),
        "{ours:#?}"
    );
    assert_eq!(ours, theirs);
}
