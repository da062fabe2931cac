//! offlink under the name of clang's own wrapper, found through `clang -B`.

use std::path::PathBuf;

use crate::device_code::{LAUNCHED, RUNTIME, launcher_with, saxpy_images};
use crate::workbench::{Run, Workbench, cuda, example, offlink};

/// A folder with nothing in it but offlink as `clang-linker-wrapper`.
pub fn wrapper_folder(bench: &Workbench) -> PathBuf {
    let folder = bench.folder("wrapper");
    if !folder.join("clang-linker-wrapper").exists() {
        bench.link("wrapper/clang-linker-wrapper", offlink());
    }
    folder
}

#[test]
fn openmp_target_region() {
    let bench = Workbench::new();
    let program = bench.path("program");
    bench
        .command("clang-22")
        .arg("-B")
        .arg(wrapper_folder(&bench))
        .args([
            "-O2",
            "-fopenmp",
            "-fopenmp-targets=x86_64-unknown-linux-gnu",
            "-o",
        ])
        .arg(&program)
        .arg(example("openmp/target_region.c"))
        .succeeds_silently();
    let printed = bench.program(program).succeeds();
    assert_eq!(printed, "target region: sum 499500, on the device\n");
}

/// The line of clang 19 has options that later ones don't have.
#[test]
fn clang_19() {
    let bench = Workbench::new();
    let object = launcher_with(&bench, &saxpy_images(&bench));
    let program = bench.path("program");
    bench
        .command("clang-19")
        .arg("-B")
        .arg(wrapper_folder(&bench))
        // It does not hand --cuda-path on.
        .env("CUDA_HOME", cuda())
        .args([
            "--offload-link",
            "-O2",
            "-g",
            "-mllvm",
            "-inline-threshold=9",
        ])
        .arg(object)
        .args([RUNTIME, "-o"])
        .arg(&program)
        .succeeds_silently();
    assert_eq!(bench.program(program).succeeds(), LAUNCHED);
}

/// clang's own wrapper fails here: it does not look for ptxas in the CUDA
/// folder that it is given, and links no bitcode for the CPU.
#[test]
fn link_only_step_with_packed_images() {
    let bench = Workbench::new();
    let object = launcher_with(&bench, &saxpy_images(&bench));
    let program = bench.path("program");
    bench
        .command("clang-22")
        .arg("-B")
        .arg(wrapper_folder(&bench))
        .arg(format!("--cuda-path={}", cuda().display()))
        .arg("--offload-link")
        .arg(object)
        .args([RUNTIME, "-o"])
        .arg(&program)
        .succeeds_silently();
    assert_eq!(bench.program(program).succeeds(), LAUNCHED);
}
