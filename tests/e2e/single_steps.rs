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
        .args(["extract", "-o", "inputs"])
        .arg(&object)
        .succeeds_silently();
    let images = [AMD, NVIDIA, CPU].map(|target| {
        let folder = format!("inputs/openmp-{}-{}", target.triple, target.arch);
        let image = bench.path(format!("{}.image", target.arch));
        bench
            .offlink()
            .arg("link")
            .args(target.arguments())
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
        .args(["wrap", "bundle", "-o"])
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
