//! clang-linker-wrapper's options that change how device code is linked, and
//! those by which a link is watched.

use crate::as_wrapper::{CUDA, HIP, unit, unit_of, wrapper};
use crate::times::PHASES;
use crate::workbench::{Run, Workbench, cuda_tool};

/// A kernel whose code depends on the optimiser.
const SUM: &str = "__global__ void sum(float *out, float a, float b) { *out += a * b; }\n";

fn cubin(bench: &Workbench, name: &str, arguments: &[&str]) -> String {
    wrapper(bench)
        .args(["--emit-device-images-only", "sum.o", "-o", name])
        .args(arguments)
        .succeeds_silently();
    bench
        .command(cuda_tool("cuobjdump"))
        .args(["-sass", name])
        .succeeds()
}

#[test]
fn options_reach_llvm() {
    let bench = Workbench::new();
    let quotient = "__global__ void sum(float *out, float a, float b) { *out = a / b; }\n";
    unit_of(&bench, CUDA, "sum", quotient, &["--offload-arch=sm_90"]);
    let exact = cubin(&bench, "exact.cubin", &[]);
    let by_each_way = [
        &["-mllvm", "-nvptx-prec-divf32=0"][..],
        &["--offload-opt=-nvptx-prec-divf32=0"],
        &[
            "--device-compiler=-mllvm",
            "--device-compiler=-nvptx-prec-divf32=0",
        ],
        &["--device-linker=-mllvm=-nvptx-prec-divf32=0"],
        &["--device-linker=-plugin-opt=-nvptx-prec-divf32=0"],
        // clang 22 may send an option twice.
        &[
            "-mllvm",
            "-nvptx-prec-divf32=0",
            "--offload-opt=-nvptx-prec-divf32=0",
        ],
    ];
    let approximate = cubin(&bench, "approximate.cubin", by_each_way[0]);
    assert_ne!(exact, approximate);
    for way in by_each_way {
        assert_eq!(cubin(&bench, "again.cubin", way), approximate, "{way:?}");
    }
    for unknown in ["-no-such-option-of-llvm", "threshold"] {
        let stderr = wrapper(&bench)
            .args([
                "-mllvm",
                unknown,
                "--emit-device-images-only",
                "sum.o",
                "-o",
                "x",
            ])
            .fails_with(1);
        assert!(stderr.contains(unknown), "{stderr}");
    }
}

#[test]
fn arguments_reach_the_device_tools() {
    let bench = Workbench::new();
    unit_of(&bench, CUDA, "sum", SUM, &["--offload-arch=sm_90"]);
    unit(&bench, HIP, "hip", &["gfx90a"]);
    let line = ["--emit-device-images-only", "-o", "x"];
    let ptxas = [
        "--device-compiler=-Xcuda-ptxas",
        "--device-compiler=-no-such-option",
    ];
    let stderr = wrapper(&bench)
        .args(line)
        .arg("sum.o")
        .args(ptxas)
        .fails_with(3);
    assert!(stderr.contains("ptxas"), "{stderr}");
    let verbose = ["--device-compiler=-Xcuda-ptxas", "--device-compiler=-v"];
    let printed = wrapper(&bench)
        .args(line)
        .arg("sum.o")
        .args(verbose)
        .warns();
    assert!(printed.contains("registers"), "{printed}");
    let nvidia = "--device-linker=nvptx64-nvidia-cuda=--no-such-option";
    let stderr = wrapper(&bench)
        .args(line)
        .args(["sum.o", nvidia])
        .fails_with(3);
    assert!(stderr.contains("nvlink"), "{stderr}");
    let amd = "--device-linker=amdgcn-amd-amdhsa=--no-such-option";
    let stderr = wrapper(&bench)
        .args(line)
        .args(["hip.o", amd])
        .fails_with(3);
    assert!(stderr.contains("lld"), "{stderr}");
    // What is for another triple is for nobody here.
    wrapper(&bench)
        .args(line)
        .args(["sum.o", amd])
        .succeeds_silently();
    let stderr = wrapper(&bench)
        .args(line)
        .args(["sum.o", "--device-compiler=-march=sm_70"])
        .fails_with(2);
    assert!(stderr.contains("-march=sm_70"), "{stderr}");
}

#[test]
fn the_level_holds_for_its_triple() {
    let bench = Workbench::new();
    unit_of(&bench, CUDA, "sum", SUM, &["--offload-arch=sm_90"]);
    let usual = cubin(&bench, "a.cubin", &[]);
    let other = cubin(
        &bench,
        "b.cubin",
        &["--device-compiler=amdgcn-amd-amdhsa=-O0"],
    );
    let none = cubin(
        &bench,
        "c.cubin",
        &["--device-compiler=nvptx64-nvidia-cuda=-O0"],
    );
    assert_eq!(usual, other);
    assert_ne!(usual, none);
}

#[test]
fn time_trace() {
    let bench = Workbench::new();
    unit(&bench, HIP, "hip", &["gfx90a"]);
    wrapper(&bench)
        .args([
            "--wrapper-time-trace=trace.json",
            "--wrapper-time-trace-granularity=0",
        ])
        .args(["-shared", "-o", "hip.so", "hip.o"])
        .succeeds_silently();
    let trace = std::fs::read(bench.path("trace.json")).expect("a trace");
    let trace: serde_json::Value = serde_json::from_slice(&trace).expect("JSON");
    let events = trace["traceEvents"].as_array().expect("events");
    // The first track; the device links have others.
    let phases_only = events.iter().filter(|e| e["ph"] == "X" && e["tid"] == 1);
    let names: Vec<&str> = phases_only.filter_map(|e| e["name"].as_str()).collect();
    assert_eq!(names, [&PHASES[..], &["link"]].concat());
}

#[test]
fn jobs() {
    let bench = Workbench::new();
    unit(&bench, HIP, "hip", &["gfx90a", "gfx1030"]);
    for value in ["1", "8", "jobserver"] {
        wrapper(&bench)
            .arg(format!("--wrapper-jobs={value}"))
            .args(["--emit-fatbin-only", "-o", value, "hip.o"])
            .succeeds_silently();
    }
    let read = |name: &str| std::fs::read(bench.path(name)).expect("a bundle");
    assert!(read("1") == read("8") && read("1") == read("jobserver"));
    let stderr = wrapper(&bench).arg("--wrapper-jobs=0").fails_with(2);
    assert!(stderr.contains("--wrapper-jobs"), "{stderr}");
}

/// The steps of such a link, run by hand, give the same image.
#[test]
fn settings_stand_in_the_steps_of_the_link() {
    let bench = Workbench::new();
    let quotient = "__global__ void sum(float *out, float a, float b) { *out = a / b; }\n";
    unit_of(&bench, CUDA, "sum", quotient, &["--offload-arch=sm_90"]);
    let settings = [
        "-mllvm",
        "-nvptx-prec-divf32=0",
        "--device-compiler=-Xcuda-ptxas",
        "--device-compiler=-lineinfo",
        "--device-linker=--verbose",
    ];
    let line = ["--save-temps", "-shared", "-o", "sum.so", "sum.o"];
    wrapper(&bench).args(settings).args(line).succeeds();
    let steps = wrapper(&bench)
        .args(settings)
        .args(line)
        .arg("--offlink-dry-run")
        .succeeds_silently();
    bench
        .command("sh")
        .env("PATH", bench.path_with_offlink())
        .env("CUDA_HOME", crate::workbench::cuda())
        .args(["-e", "-c", &steps])
        .succeeds();
    let read = |name: &str| std::fs::read(bench.path(name)).expect("an image");
    let whole = read("sum.so.nvptx64.sm_90.img");
    assert!(
        whole == read("0-nvptx64-nvidia-cuda-sm_90.image"),
        "{steps}"
    );
}
