//! offlink and LLVM's own program as clang-linker-wrapper, called as clang calls
//! them, and small translation units of each language for them to link.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::device_code::{CPU, bitcode, pack};
use crate::workbench::{Run, Workbench, cuda, offlink, repository};

pub const CUDA: &[&str] = &["-xcuda", "-nocudainc", "-nocudalib", "-foffload-lto"];
pub const HIP: &[&str] = &["-xhip", "-nogpuinc", "-nogpulib"];

/// What runtimes of CUDA and HIP declare, and a stand-in for them.
fn registration(file: &str) -> PathBuf {
    repository()
        .join("crates/bundle/tests/data/registration")
        .join(file)
}

/// An object `<name>.o` with this source, for these architectures.
pub fn unit_of(
    bench: &Workbench,
    language: &[&str],
    name: &str,
    source: &str,
    arguments: &[&str],
) -> PathBuf {
    let file = bench.write(
        &format!("{}.cu", name.replace('/', "-")),
        format!("#include \"declarations.h\"\n{source}"),
    );
    let object = bench.path(format!("{name}.o"));
    bench
        .command("clang++-22")
        .args(language)
        .args(arguments)
        .args(["--offload-new-driver", "-fgpu-rdc", "-O1", "-fPIC"])
        .args([
            "-Wno-unknown-cuda-version",
            "-Wno-unused-command-line-argument",
        ])
        .arg(format!("--cuda-path={}", cuda().display()))
        .arg("-I")
        .arg(registration("."))
        .args(["-c", "-o"])
        .arg(&object)
        .arg(file)
        .succeeds_silently();
    object
}

/// An object with one kernel of the unit's name.
pub fn unit(bench: &Workbench, language: &[&str], name: &str, archs: &[&str]) -> PathBuf {
    let kernel = name.replace('/', "_");
    let source = format!("__global__ void {kernel}(int *out) {{ *out = 1; }}\n");
    let archs: Vec<String> = archs
        .iter()
        .map(|a| format!("--offload-arch={a}"))
        .collect();
    let archs: Vec<&str> = archs.iter().map(String::as_str).collect();
    unit_of(bench, language, name, &source, &archs)
}

/// An object with OpenMP code for the CPU, and an entry for its kernel.
pub fn openmp_unit(bench: &Workbench, name: &str) -> PathBuf {
    let image = CPU.image(&bitcode(bench, "saxpy", CPU));
    openmp_unit_with(bench, name, &[image], "saxpy")
}

/// An object with these images of OpenMP, and an entry for one kernel.
pub fn openmp_unit_with(bench: &Workbench, name: &str, images: &[String], kernel: &str) -> PathBuf {
    let packed = pack(bench, images, &format!("{name}.bin"));
    let source = format!(
        "static struct {{ unsigned long reserved; unsigned short version, kind; unsigned flags; \
         const void *address; const char *name; unsigned long size, data; void *auxiliary; }} \
         entry __attribute__((section(\"llvm_offload_entries\"), used, aligned(8))) = \
         {{0, 1, 1, 0, &entry, \"{kernel}\"}};\n"
    );
    let object = bench.path(format!("{name}.o"));
    bench
        .command("clang-22")
        .arg("-Xclang")
        .arg(format!("-fembed-offload-object={}", packed.display()))
        .args(["-fPIC", "-c", "-o"])
        .arg(&object)
        .arg(bench.write(&format!("{name}.c"), source))
        .succeeds_silently();
    object
}

/// The stand-in for the runtimes, which prints the calls it gets, and `main`.
pub fn runtime(bench: &Workbench) -> PathBuf {
    let object = bench.path("runtime.o");
    bench
        .command("cc")
        .args(["-fPIC", "-c", "-o"])
        .arg(&object)
        .arg(registration("runtime.c"))
        .succeeds_silently();
    object
}

/// offlink under the wrapper's name, with the arguments that clang always has.
pub fn wrapper(bench: &Workbench) -> Command {
    let program = bench.path("as/clang-linker-wrapper");
    if !program.exists() {
        bench.folder("as");
        bench.link("as/clang-linker-wrapper", offlink());
    }
    with_usual_arguments(bench, &program)
}

/// LLVM's own wrapper with the same arguments.
pub fn peer(bench: &Workbench) -> Command {
    with_usual_arguments(bench, Path::new("clang-linker-wrapper-22"))
}

fn with_usual_arguments(bench: &Workbench, program: &Path) -> Command {
    let mut command = bench.command(program);
    command
        .arg("--host-triple=x86_64-pc-linux-gnu")
        .arg(format!("--cuda-path={}", cuda().display()))
        .arg(format!("--linker-path={}", bench.find("ld").display()));
    command
}

/// Links a program of these objects and the stand-in by `cc`'s start files.
pub fn program(bench: &Workbench, objects: &[&Path], arguments: &[&str]) -> Command {
    let mut command = wrapper(bench);
    let file = |name: &str| {
        let printed = bench
            .command("cc")
            .arg(format!("-print-file-name={name}"))
            .succeeds();
        printed.trim().to_owned()
    };
    command
        .args(["-pie", "-dynamic-linker", "/lib64/ld-linux-x86-64.so.2"])
        .args(arguments)
        .args(["Scrt1.o", "crti.o", "crtbeginS.o"].map(file))
        .args(objects)
        .arg(runtime(bench))
        .args(["-L/usr/lib/x86_64-linux-gnu", "-lc"])
        .args(["crtendS.o", "crtn.o"].map(file));
    command
}

/// How often the program calls this function of a runtime when it starts.
pub fn calls(bench: &Workbench, program: impl AsRef<Path>, function: &str) -> usize {
    let printed = bench.command(program).succeeds();
    printed
        .lines()
        .filter(|line| line.split(' ').next() == Some(function))
        .count()
}
