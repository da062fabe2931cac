//! Device code for NVIDIA GPUs that is not bitcode.

use std::path::{Path, PathBuf};

use crate::device_code::{NVIDIA, assembly, bitcode, sass};
use crate::workbench::{Run, Workbench, cuda_tool};

fn link(bench: &Workbench, inputs: &[&Path]) -> PathBuf {
    let image = bench.path("image.cubin");
    bench
        .offlink()
        .arg("link")
        .args(NVIDIA.arguments())
        .arg("-o")
        .arg(&image)
        .args(inputs)
        .succeeds_silently();
    image
}

fn ptxas(bench: &Workbench, ptx: &Path, arguments: &[&str], name: &str) -> PathBuf {
    let output = bench.path(name);
    bench
        .command(cuda_tool("ptxas"))
        .args(["-arch=sm_90", "-o"])
        .arg(&output)
        .args(arguments)
        .arg(ptx)
        .succeeds();
    output
}

#[test]
fn ptx() {
    let bench = Workbench::new();
    let image = link(&bench, &[&assembly(&bench, "saxpy", NVIDIA)]);
    assert!(sass(&bench, &image).contains("Function : saxpy"));
}

#[test]
fn relocatable_cubin_with_its_helper_in_bitcode() {
    let bench = Workbench::new();
    let caller = ptxas(
        &bench,
        &assembly(&bench, "caller", NVIDIA),
        &["-c"],
        "caller.o",
    );
    let helper = bitcode(&bench, "helper", NVIDIA);
    let image = link(&bench, &[&caller, &helper]);
    let code = sass(&bench, &image);
    assert!(code.contains("Function : caller"), "{code}");
    assert!(code.contains("Function : helper"), "{code}");
}

#[test]
fn relocatable_cubin_without_its_helper_is_refused() {
    let bench = Workbench::new();
    let caller = ptxas(
        &bench,
        &assembly(&bench, "caller", NVIDIA),
        &["-c"],
        "caller.o",
    );
    let stderr = bench
        .offlink()
        .arg("link")
        .args(NVIDIA.arguments())
        .args(["-o", "image"])
        .arg(caller)
        .fails_with(1);
    assert!(stderr.contains("helper"), "{stderr}");
    assert!(!bench.path("image").exists(), "an image was left behind");
}

#[test]
fn final_cubin_stays_as_it_is() {
    let bench = Workbench::new();
    let cubin = ptxas(
        &bench,
        &assembly(&bench, "saxpy", NVIDIA),
        &[],
        "final.cubin",
    );
    let image = link(&bench, &[&cubin]);
    let read = |path| std::fs::read(path).expect("a cubin");
    assert_eq!(read(image), read(cubin));
}
