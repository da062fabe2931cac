//! A machine without NVIDIA's assembler.

use std::process::Command;

use crate::device_code::{CPU, LAUNCHED, NVIDIA, RUNTIME, bitcode, launcher};
use crate::workbench::{Run, Workbench};

/// offlink with a PATH that leads to a C compiler and a linker at most.
fn offlink_without_cuda(bench: &Workbench) -> Command {
    let tools = bench.folder("tools");
    for tool in ["cc", "ld", "rustc"] {
        bench.link(&format!("tools/{tool}"), bench.find(tool));
    }
    let mut command = bench.offlink();
    // NVIDIA's wheels may lie below the user's home.
    command
        .env_remove("CUDA_HOME")
        .env("PATH", tools)
        .env("HOME", bench.folder("home"));
    command
}

#[test]
fn error_says_where_it_looked_and_what_goes_on() {
    let bench = Workbench::new();
    let kernel = bitcode(&bench, "saxpy", NVIDIA);
    let stderr = offlink_without_cuda(&bench)
        .arg("link")
        .args(NVIDIA.arguments())
        .args(["-o", "image"])
        .arg(kernel)
        .fails_with(1);
    for hint in [
        "ptxas",
        "looked in",
        "PATH",
        "OFFLINK_PTXAS",
        "--offlink-emit=ptx",
    ] {
        assert!(stderr.contains(hint), "no {hint} in: {stderr}");
    }
}

#[test]
fn ptx_image_needs_none() {
    let bench = Workbench::new();
    let ptx = NVIDIA.image(&bitcode(&bench, "saxpy", NVIDIA));
    let cpu = CPU.image(&bitcode(&bench, "saxpy", CPU));
    let host = launcher(&bench, "saxpy");
    let program = bench.path("program");
    let warning = offlink_without_cuda(&bench)
        .arg("cc")
        .arg(host)
        .arg("--offlink-emit=ptx")
        .args([ptx, cpu].map(|image| format!("--offlink-image={image}")))
        .args([RUNTIME, "-o"])
        .arg(&program)
        .warns();
    assert!(
        warning.contains("is PTX, which LLVM 22's OpenMP runtime does not load"),
        "{warning}"
    );
    let listing = bench.offlink().arg("inspect").arg(&program).succeeds();
    assert!(listing.contains("ptx"), "{listing}");
    assert_eq!(bench.program(program).succeeds(), LAUNCHED);
}
