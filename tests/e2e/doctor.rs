//! What `offlink doctor` says of tools, and of programs on machines with all
//! sorts of GPUs: those that nvidia-smi and the kernel's files tell of.

use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

use crate::device_code::{
    AMD, CPU, LAUNCHED, NVIDIA, RUNTIME, Target, bitcode, launcher, launcher_with, nvidia,
    saxpy_images,
};
use crate::workbench::{Run, Workbench, cuda_tool};

/// `offlink doctor` on a machine whose nvidia-smi prints `gpus` and that has no
/// other device than `root` says.
pub fn doctor(bench: &Workbench, gpus: &str) -> Command {
    let folder = bench.folder("bin");
    bench.script(
        "bin/nvidia-smi",
        format!("#!/bin/sh\nprintf '%s' '{gpus}'\n"),
    );
    let path = std::env::var("PATH").expect("a PATH");
    let mut doctor = bench.offlink();
    doctor
        .env("PATH", format!("{}:{path}", folder.display()))
        .arg("doctor")
        .arg(format!("--root={}", bench.folder("root").display()));
    doctor
}

/// A program with images of saxpy for these targets.
fn program(bench: &Workbench, targets: &[Target]) -> PathBuf {
    let program = bench.path("program");
    let mut link = bench.offlink();
    link.arg("cc").arg(launcher(bench, "saxpy"));
    for target in targets {
        // Bitcode is compiled for processors, which have no features in their names.
        let arch = target.arch.split(':').next().unwrap_or_default();
        let code = bitcode(bench, "saxpy", Target { arch, ..*target });
        link.arg(format!("--offlink-image={}", target.image(&code)));
    }
    link.arg("-o").arg(&program).succeeds_silently();
    program
}

/// Standard output of a doctor that finds the program unfit.
fn unfit(doctor: &mut Command) -> String {
    let output = doctor.output().expect("offlink starts");
    let printed = String::from_utf8_lossy(&output.stdout).into_owned();
    assert_eq!(output.status.code(), Some(1), "{printed}");
    assert!(output.stderr.is_empty(), "{output:?}");
    printed
}

#[track_caller]
fn says(printed: &str, lines: &[&str]) {
    for line in lines {
        assert!(printed.contains(line), "no {line:?} in:\n{printed}");
    }
}

const H200: &str = "9.0, NVIDIA H200\n";
const A100: &str = "8.0, NVIDIA A100\n";

#[test]
fn tools_and_why_they_are_taken() {
    let bench = Workbench::new();
    let text = doctor(&bench, H200).succeeds();
    let ptxas = cuda_tool("ptxas");
    says(
        &text,
        &[
            &format!("{} (CUDA_HOME): 13.0, for PTX up to 9.0\n", ptxas.display()),
            "(the Rust toolchain's): LLD ",
            "for AMDGPU, NVPTX, X86\n",
            "  nvptx64-nvidia-cuda       ready\n",
            "  OpenMP programs           ready\n",
            "  NVIDIA H200 (sm_90)\n",
        ],
    );
    let text = doctor(&bench, "").arg("--json").succeeds();
    let report: Value = serde_json::from_str(&text).expect("JSON");
    let tools = report["tools"].as_array().expect("a list");
    let omptarget = tools.iter().find(|tool| tool["name"] == "libomptarget");
    assert_eq!(omptarget.expect("a row")["version"], "22.1");
    assert_eq!(report["devices"][0]["vendor"], "cpu");
}

#[test]
fn a_named_tool_that_is_none() {
    let bench = Workbench::new();
    let text = unfit(doctor(&bench, "").env("OFFLINK_PTXAS", "/no/such/ptxas"));
    says(
        &text,
        &[
            "ptxas               missing: ptxas was not found; looked in '/no/such/ptxas', which \
             is named",
            "  nvptx64-nvidia-cuda       not without ptxas\n",
            "  amdgcn-amd-amdhsa         ready\n",
        ],
    );
    let text = unfit(doctor(&bench, "").arg("--offlink-omptarget=absent.so"));
    says(
        &text,
        &["OpenMP programs           not without libomptarget\n"],
    );
}

#[test]
fn images_for_gpus_where_there_is_none() {
    let bench = Workbench::new();
    let program = program(&bench, &[NVIDIA, AMD]);
    let text = unfit(doctor(&bench, "").arg(&program));
    says(
        &text,
        &[
            "program: 2 images, 1 entry\n",
            "  image 2: openmp nvptx64-nvidia-cuda sm_90 cubin\n",
            "  this CPU (x86_64), openmp: no image\n    no image is for CPUs like this one\n",
            "openmp: no image fits a device: the runtime runs the host's code, or fails with 'does \
             not have a matching target pointer' or 'failure of target construct while offloading \
             is mandatory'; add --offlink-image=file=…,triple=x86_64-unknown-linux-gnu,arch=generic",
        ],
    );
}

#[test]
fn the_cpu_is_a_device_too() {
    let bench = Workbench::new();
    let program = program(&bench, &[CPU, NVIDIA, AMD]);
    let text = doctor(&bench, "").arg(&program).succeeds();
    says(
        &text,
        &[
            "  this CPU (x86_64), openmp: image 3\n",
            "/libomptarget.so.22.1\n",
            "openmp: kernels run on this CPU (x86_64) by the generic x86-64 shared object (image 3)\n",
        ],
    );
    assert_eq!(bench.program(&program).succeeds(), LAUNCHED);
}

#[test]
fn the_image_of_the_gpus_generation() {
    let bench = Workbench::new();
    let program = program(&bench, &[nvidia("sm_80"), NVIDIA]);
    let verdict = "openmp: kernels run on NVIDIA H200 (sm_90) by the sm_90 cubin (image 2)\n";
    says(&doctor(&bench, H200).arg(&program).succeeds(), &[verdict]);
    let verdict = "openmp: kernels run on NVIDIA A100 (sm_80) by the sm_80 cubin (image 1)\n";
    says(&doctor(&bench, A100).arg(&program).succeeds(), &[verdict]);
    // libomptarget takes the first that runs.
    let verdict = "by the sm_80 cubin (image 1)\n";
    let text = doctor(&bench, "8.9, NVIDIA L4\n").arg(&program).succeeds();
    says(&text, &[verdict]);

    let text = doctor(&bench, H200)
        .args(["--json"])
        .arg(&program)
        .succeeds();
    let report: Value = serde_json::from_str(&text).expect("JSON");
    let device = &report[0]["kinds"][0]["devices"][0];
    assert_eq!(device["device"]["name"], "NVIDIA H200");
    assert_eq!(device["image"], 2);
}

#[test]
fn an_image_for_a_newer_gpu() {
    let bench = Workbench::new();
    let text = unfit(doctor(&bench, A100).arg(program(&bench, &[NVIDIA])));
    says(
        &text,
        &[
            "image 1: machine code for sm_90 runs on GPUs 9.0 to 9.9, and this one is 8.0\n",
            "add --offlink-image=file=…,triple=nvptx64-nvidia-cuda,arch=sm_80,kind=openmp\n",
        ],
    );
}

#[test]
fn target_ids_of_amd() {
    let bench = Workbench::new();
    let node = bench.folder("root/sys/class/kfd/kfd/topology/nodes/1");
    std::fs::write(
        node.join("properties"),
        "capability 67108864\ngfx_target_version 90010\n",
    )
    .expect("a new file");
    let xnack = Target {
        arch: "gfx90a:xnack+",
        ..AMD
    };
    let program = program(&bench, &[xnack]);
    let text = unfit(doctor(&bench, "").arg(&program));
    says(
        &text,
        &[
            "  AMD GPU (gfx90a:sramecc+:xnack-), openmp: no image\n",
            "image 1: code for gfx90a:xnack+ needs a GPU with xnack on, and it is off here",
            "kfd' can't be opened",
        ],
    );
    let text = doctor(&bench, "")
        .env("HSA_XNACK", "1")
        .arg(&program)
        .succeeds();
    says(
        &text,
        &["kernels run on AMD GPU (gfx90a:sramecc+:xnack+) by"],
    );
}

#[test]
fn entries_without_images_and_registration() {
    let bench = Workbench::new();
    let object = launcher_with(&bench, &saxpy_images(&bench));
    // A linker drops the device code of objects.
    let mut cc = bench.command("cc");
    cc.arg(object).args([RUNTIME, "-o", "program"]).succeeds();
    let text = unfit(doctor(&bench, "").arg("program"));
    says(
        &text,
        &[
            "program: 0 images, 1 entry\n",
            "problem: no code in it registers OpenMP's images",
            "openmp: there is no image: ",
        ],
    );
}

#[test]
fn an_image_without_the_kernel() {
    let bench = Workbench::new();
    let code = bitcode(&bench, "saxpy", CPU);
    let steps = [
        format!(
            "link --triple={} --arch= -o other.so {}",
            CPU.triple,
            code.display()
        ),
        format!(
            "bundle -o bundle --image={}",
            CPU.image(Path::new("other.so"))
        ),
        "wrap -o registration.o bundle".into(),
    ];
    for step in steps {
        bench.offlink().args(step.split(' ')).succeeds_silently();
    }
    let mut cc = bench.command("cc");
    cc.arg("registration.o").arg(launcher(&bench, "absent"));
    cc.args([RUNTIME, "-o", "program"]).succeeds();
    let text = unfit(doctor(&bench, "").arg("program"));
    says(
        &text,
        &["openmp: kernels are missing from the images: image 1: it lacks kernel 'absent'"],
    );
}

/// A library of the runtime's name that does nothing.
fn own_runtime(bench: &Workbench, file: &str, soname: &str) -> PathBuf {
    let source = "void __tgt_register_lib(void *it) {}\nvoid __tgt_unregister_lib(void *it) {}\n\
                  int __tgt_target_kernel(void) { return 0; }\n";
    let source = bench.write("runtime.c", source);
    let library = bench.folder("lib").join(file);
    bench
        .command("cc")
        .args(["-shared", "-fPIC", "-o"])
        .arg(&library)
        .arg(format!("-Wl,-soname,{soname}"))
        .arg(source)
        .succeeds();
    library
}

#[test]
fn a_runtime_that_is_missing_or_too_old() {
    let bench = Workbench::new();
    let code = CPU.image(&bitcode(&bench, "saxpy", CPU));
    let name = "libomptarget.so.99.0";
    let missing = own_runtime(&bench, name, name);
    bench
        .offlink()
        .args(["cc", "-o", "program", "-Wl,--unresolved-symbols=ignore-all"])
        .arg(launcher(&bench, "saxpy"))
        .arg(format!("--offlink-image={code}"))
        .arg(format!("-Wl,-rpath,{}", bench.path("lib").display()))
        .arg(&missing)
        .succeeds_silently();
    doctor(&bench, "").arg("program").succeeds();
    std::fs::remove_file(&missing).expect("a file to remove");
    let text = unfit(doctor(&bench, "").arg("program"));
    says(
        &text,
        &["problem: 'program' needs libomptarget.so.99.0, which the loader does not find"],
    );

    // What the loader finds under the name may be another version's.
    own_runtime(&bench, name, "libomptarget.so.19.1");
    let text = unfit(doctor(&bench, "").arg("program"));
    says(
        &text,
        &[
            "is of LLVM 19, which does not read the program's offload entries, those of clang 21 \
             or newer",
        ],
    );
}

#[test]
fn what_has_no_device_code() {
    let bench = Workbench::new();
    let text = unfit(doctor(&bench, "").arg("/bin/sh"));
    says(&text, &["it holds no device code and no offload entries"]);
    let stderr = doctor(&bench, "").arg("/etc/passwd").fails_with(2);
    says(&stderr, &["'/etc/passwd' is no program or shared library"]);
}
