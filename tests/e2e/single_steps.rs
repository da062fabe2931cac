//! extract, link, bundle, wrap and a host link, one by one, give the bytes of
//! the whole link.

use std::path::{Path, PathBuf};

use crate::device_code::{AMD, CPU, NVIDIA, RUNTIME, bitcode, launcher_with, saxpy_images};
use crate::workbench::{Run, Workbench, cuda};

/// The host object, and the object that registers its images, made step by
/// step.
fn objects(bench: &Workbench) -> (PathBuf, PathBuf) {
    let object = launcher_with(bench, &saxpy_images(bench));
    bench
        .offlink()
        .args(["extract", "--arguments", "-o", "inputs"])
        .arg(&object)
        .succeeds_silently();
    let images = [AMD, NVIDIA, CPU].map(|target| {
        let folder = format!("inputs/openmp-{}-{}", target.triple, target.arch);
        let image = bench.path(format!("{}.image", target.arch));
        bench
            .offlink()
            .arg("link")
            .args(target.arguments())
            .arg(format!("--params={folder}.link"))
            .arg("-o")
            .arg(&image)
            .arg(bench.path(folder).join("0000.bc"))
            .succeeds_silently();
        format!("--image={}", target.image(&image))
    });
    bench
        .offlink()
        .arg("bundle")
        .args(images)
        .args(["-o", "bundle"])
        .succeeds_silently();
    let registration = bench.path("offlink.registration.o");
    bench
        .offlink()
        .args(["wrap", "--params=inputs/openmp.wrap", "bundle", "-o"])
        .arg(&registration)
        .succeeds_silently();
    (object, registration)
}

fn read(path: &Path) -> Vec<u8> {
    std::fs::read(path).unwrap_or_else(|error| panic!("{path:?}: {error}"))
}

fn same_bytes(personality: &str, host_linker: &str, arguments: &[&str]) {
    let bench = Workbench::new();
    let (object, registration) = objects(&bench);
    let (whole, by_steps) = (bench.path("whole"), bench.path("by-steps"));
    bench
        .offlink()
        .arg(personality)
        .arg(&object)
        .args(arguments)
        .arg("-o")
        .arg(&whole)
        .succeeds_silently();
    bench
        .command(host_linker)
        .args([&registration, &object])
        .args(arguments)
        .arg("-o")
        .arg(&by_steps)
        .succeeds_silently();
    assert!(read(&whole) == read(&by_steps), "the outputs differ");
}

/// The dry run prints the steps as commands that a shell can run.
#[test]
fn as_the_dry_run_prints_them() {
    let bench = Workbench::new();
    let object = launcher_with(&bench, &saxpy_images(&bench));
    bench
        .command("ar")
        .args(["rcs", "liblaunch.a"])
        .arg(&object)
        .succeeds();
    let more = bitcode(&bench, "kernels", NVIDIA);
    let link = |output: &str, option: &[&str]| {
        bench
            .offlink()
            .args(["cc", "liblaunch.a", "-Wl,-u,main", RUNTIME, "-o", output])
            .arg(format!("--offlink-image={}", NVIDIA.image(&more)))
            .args(option)
            .succeeds_silently()
    };
    let commands = link("program", &["--offlink-dry-run"]);
    assert!(!bench.path("program").exists());
    bench
        .command("sh")
        .env("PATH", bench.path_with_offlink())
        .env("CUDA_HOME", cuda())
        .args(["-ec", &commands])
        .succeeds_silently();
    let by_steps = read(&bench.path("program"));
    link("program", &[]);
    assert!(
        by_steps == read(&bench.path("program")),
        "the outputs differ"
    );
}

#[test]
fn of_a_program_through_cc() {
    same_bytes("cc", "cc", &[RUNTIME]);
}

#[test]
fn of_a_library_through_ld() {
    same_bytes("ld", "ld", &["-shared", RUNTIME]);
}

/// What `extract` writes for the steps behind it is what the dry run tells them.
#[test]
fn arguments_for_the_steps() {
    let bench = Workbench::new();
    bench.write(
        "variable.c",
        "#pragma omp declare target\nint table[4];\n#pragma omp end declare target\n\
         int main(void) {\n#pragma omp target\n  table[0] = 1;\n}\n",
    );
    bench
        .command("clang-19")
        .args(["-fopenmp", "-fopenmp-targets=x86_64-pc-linux-gnu", "-c"])
        .arg("variable.c")
        .succeeds_silently();
    bench
        .offlink()
        .args(["extract", "--arguments", "-o", "inputs", "variable.o"])
        .succeeds_silently();
    let written: Vec<String> = ["openmp-x86_64-pc-linux-gnu-generic.link", "openmp.wrap"]
        .iter()
        .flat_map(|name| {
            let text = read(&bench.path("inputs").join(name));
            let text = String::from_utf8(text).expect("arguments");
            text.lines().map(str::to_owned).collect::<Vec<_>>()
        })
        .collect();
    let commands = bench
        .offlink()
        .args(["cc", "--offlink-dry-run", "-o", "program", "variable.o"])
        .succeeds_silently();
    let told: Vec<&str> = commands
        .split_whitespace()
        .filter(|word| word.starts_with("--export-symbol=") || word.starts_with("--entries-of"))
        .collect();
    assert_eq!(written, told);
    assert!(told.contains(&"--export-symbol=table"), "{told:?}");
    assert!(told.contains(&"--entries-of-llvm=19"), "{told:?}");
}

/// A build system that says which targets it links is told of others.
#[test]
fn targets_that_nobody_expects() {
    let bench = Workbench::new();
    let object = launcher_with(&bench, &saxpy_images(&bench));
    let extract = |targets: &[&str]| {
        let mut command = bench.offlink();
        command.args(["extract", "-o", "inputs"]).arg(&object);
        command.args(
            targets
                .iter()
                .map(|target| format!("--expect=openmp-{target}")),
        );
        command
    };
    let all = [
        "nvptx64-nvidia-cuda-sm_90",
        "amdgcn-amd-amdhsa-gfx90a",
        "x86_64-unknown-linux-gnu-generic",
    ];
    let surplus = extract(&all[..2]).fails_with(1);
    assert!(
        surplus.contains("device code for 'openmp-x86_64-unknown-linux-gnu-generic'"),
        "{surplus}"
    );
    let more = [&all[..], &["nvptx64-nvidia-cuda-sm_80"]].concat();
    let missing = extract(&more).fails_with(1);
    assert!(
        missing.contains("--expect names 'openmp-nvptx64-nvidia-cuda-sm_80'"),
        "{missing}"
    );
    assert!(!bench.path("inputs").exists(), "something was written");
    extract(&all).succeeds_silently();
}

/// CPU images are linked as a build system's compiler driver is told to.
#[test]
fn arguments_for_the_driver() {
    let bench = Workbench::new();
    let driver = bench.script("driver", "#!/bin/sh\necho \"$@\" >seen\nexec cc \"$@\"\n");
    let input = bitcode(&bench, "saxpy", CPU);
    bench
        .offlink()
        .arg("link")
        .args(CPU.arguments())
        .args(["--driver-arg=-fuse-ld=bfd", "-o", "image", "--host-linker"])
        .arg(driver)
        .arg(input)
        .succeeds_silently();
    let seen = read(&bench.path("seen"));
    assert!(seen.ends_with(b" -fuse-ld=bfd\n"), "{seen:?}");
}
