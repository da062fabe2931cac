//! Device targets, and the fixtures compiled for them.

use std::path::{Path, PathBuf};

use crate::workbench::{Run, Workbench, cuda, cuda_tool, example, fixture};

#[derive(Clone, Copy)]
pub struct Target<'a> {
    pub triple: &'a str,
    pub arch: &'a str,
}

pub const NVIDIA: Target = nvidia("sm_90");
pub const AMD: Target = Target {
    triple: "amdgcn-amd-amdhsa",
    arch: "gfx90a",
};
pub const CPU: Target = Target {
    triple: "x86_64-unknown-linux-gnu",
    arch: "generic",
};

pub const fn nvidia(arch: &str) -> Target<'_> {
    Target {
        triple: "nvptx64-nvidia-cuda",
        arch,
    }
}

impl Target<'_> {
    /// The value of `--offlink-image=` and of the packagers' `--image=`.
    pub fn image(&self, file: &Path) -> String {
        let Target { triple, arch } = self;
        format!(
            "file={},triple={triple},arch={arch},kind=openmp",
            file.display()
        )
    }

    /// The two arguments that name the target to `offlink link`.
    pub fn arguments(&self) -> [String; 2] {
        [
            format!("--triple={}", self.triple),
            format!("--arch={}", self.arch),
        ]
    }

    fn clang_arguments(&self) -> Vec<String> {
        let mut arguments = vec![format!("--target={}", self.triple)];
        match self.arch {
            "generic" => arguments.push("-fPIC".into()),
            arch if arch.starts_with("sm_") => {
                arguments.push(format!("-march={arch}"));
                arguments.push(format!("--cuda-path={}", cuda().display()));
            }
            arch => arguments.push(format!("-mcpu={arch}")),
        }
        arguments
    }
}

/// `<source>.c` as bitcode by the given clang.
pub fn bitcode_by(clang: &str, bench: &Workbench, source: &str, target: Target) -> PathBuf {
    compile(clang, bench, source, target, &["-emit-llvm", "-c"], "bc")
}

/// `<source>.c` as bitcode.
pub fn bitcode(bench: &Workbench, source: &str, target: Target) -> PathBuf {
    bitcode_by("clang-22", bench, source, target)
}

/// `fixtures/rust/<source>.rs` as bitcode for the CPU, by the rustc of the given
/// toolchain.
pub fn rust_kernel(bench: &Workbench, source: &str, toolchain: Option<&str>) -> PathBuf {
    let output = bench.path(format!("{source}.bc"));
    bench
        .rustc(toolchain)
        .args(["-O", "-Cpanic=abort"])
        .arg(format!("--emit=llvm-bc={}", output.display()))
        .arg(fixture("rust").join(format!("{source}.rs")))
        .succeeds_silently();
    output
}

/// The machine code of a cubin.
pub fn sass(bench: &Workbench, cubin: &Path) -> String {
    bench
        .command(cuda_tool("cuobjdump"))
        .arg("-sass")
        .arg(cubin)
        .succeeds()
}

/// `<source>.c` as assembly: PTX for an NVIDIA target.
pub fn assembly(bench: &Workbench, source: &str, target: Target) -> PathBuf {
    compile("clang-22", bench, source, target, &["-S"], "s")
}

/// `<source>.c` as an object.
pub fn object(bench: &Workbench, source: &str, target: Target) -> PathBuf {
    compile("clang-22", bench, source, target, &["-c"], "o")
}

/// The C file of that name among examples and fixtures.
pub fn c_source(name: &str) -> PathBuf {
    let file = format!("{name}.c");
    let shown = example("c-make").join(&file);
    if shown.exists() {
        shown
    } else {
        fixture("c").join(file)
    }
}

fn compile(
    clang: &str,
    bench: &Workbench,
    source: &str,
    target: Target,
    output_kind: &[&str],
    extension: &str,
) -> PathBuf {
    let output = bench.path(format!("{source}-{}-{clang}.{extension}", target.arch));
    bench
        .command(clang)
        .args(target.clang_arguments())
        .args([
            "-O2",
            "-nogpulib",
            "-nogpuinc",
            "-Wno-unused-command-line-argument",
        ])
        .args(output_kind)
        .arg("-o")
        .arg(&output)
        .arg(c_source(source))
        .succeeds();
    output
}

/// The C host program that launches `kernel`, compiled, without device code.
pub fn launcher(bench: &Workbench, kernel: &str) -> PathBuf {
    let output = bench.path(format!("launch-{kernel}.o"));
    bench
        .command("clang-22")
        .args(["-O2", "-c", &format!("-DKERNEL=\"{kernel}\""), "-o"])
        .arg(&output)
        .arg(c_source("launch"))
        .succeeds();
    output
}

/// The same with device code in it, as compilers put it there.
pub fn launcher_with(bench: &Workbench, images: &[String]) -> PathBuf {
    let packed = pack(bench, images, "images.bin");
    embed(bench, &packed, &[], "launch-with-images.o")
}

/// Image arguments as an offload binary, by LLVM's own packager.
pub fn pack(bench: &Workbench, images: &[String], name: &str) -> PathBuf {
    let packed = bench.path(name);
    bench
        .command("llvm-offload-binary-22")
        .arg("-o")
        .arg(&packed)
        .args(images.iter().map(|image| format!("--image={image}")))
        .succeeds();
    packed
}

/// The C host program with the contents of `packed` as its offload section.
pub fn embed(bench: &Workbench, packed: &Path, arguments: &[&str], name: &str) -> PathBuf {
    let output = bench.path(name);
    bench
        .command("clang-22")
        .args(["-O2", "-fPIC", "-c", "-Xclang"])
        .arg(format!("-fembed-offload-object={}", packed.display()))
        .args(arguments)
        .arg("-o")
        .arg(&output)
        .arg(c_source("launch"))
        .succeeds();
    output
}

/// saxpy for the three kinds of device, as image arguments.
pub fn saxpy_images(bench: &Workbench) -> Vec<String> {
    [CPU, NVIDIA, AMD]
        .map(|target| target.image(&bitcode(bench, "saxpy", target)))
        .into()
}

/// Names the offload runtime to a host link. Its development package, which
/// has the plain name, is not needed.
pub const RUNTIME: &str = "-l:libomptarget.so.22.1";

/// What the C host program prints when the device computed the right result.
pub const LAUNCHED: &str = "saxpy: code 0, 0 of 65536 wrong\n";
