//! The example packages, built by cargo where they lie and run on the CPU image.

use std::path::PathBuf;
use std::process::Command;

use crate::workbench::{Run, Workbench, cuda, example, offlink};

/// cargo for an example, which knows offlink and NVIDIA's tools. The examples share
/// what cargo makes of their common dependencies.
fn cargo(bench: &Workbench, name: &str, target: &str) -> Command {
    let mut command = bench.command("cargo");
    command
        .args(["build", "--quiet", "--locked"])
        .current_dir(example(name))
        .env("CARGO_TARGET_DIR", bench.path(target))
        .env("OFFLINK", offlink())
        .env("CUDA_HOME", cuda());
    command
}

fn built(bench: &Workbench, name: &str) -> PathBuf {
    cargo(bench, name, "target").succeeds_silently();
    bench.path("target/debug").join(name)
}

/// A package with a build script and no linker setting; the same kernels in a library
/// that a program depends on; and kernels that are a package themselves.
#[test]
fn kernels_from_build_scripts_run() {
    let bench = Workbench::new();
    for (name, triples, answer) in [
        (
            "saxpy-build",
            3,
            "saxpy: y[3] = 7, 0 of 1048576 elements wrong",
        ),
        (
            "kernel-library",
            3,
            "kernel-library: y[3] = 7, 0 of 1048576 elements wrong",
        ),
        ("multi-vendor", 5, "multi-vendor: 0 elements wrong"),
    ] {
        let program = built(&bench, name);
        let printed = bench.program(&program).succeeds();
        assert!(printed.contains(answer), "{name}: {printed}");
        let listing = bench.offlink().arg("inspect").arg(&program).succeeds();
        assert!(listing.contains(&format!("{triples} images")), "{listing}");
        for triple in [
            "nvptx64-nvidia-cuda",
            "amdgcn-amd-amdhsa",
            "x86_64-unknown-linux-gnu",
        ] {
            assert!(listing.contains(triple), "{listing}");
        }
    }
}

/// Images as data: each device gets the one that fits.
#[test]
fn images_are_found_by_device() {
    let bench = Workbench::new();
    let program = built(&bench, "load-module");
    let mut command = bench.command(program);
    let printed = command
        .args(["9.0", "sm_86", "gfx90a:sramecc+:xnack-", "7.5"])
        .succeeds();
    let chosen: Vec<&str> = printed
        .lines()
        .map(|line| line.split(" (").next().unwrap_or_default())
        .collect();
    let expected = [
        "9.0: sm_90",
        "sm_86: sm_80",
        "gfx90a:sramecc+:xnack-: gfx90a",
        "7.5: no image",
    ];
    assert_eq!(chosen, expected);
}

/// `OFFLINK_ARCHS` in the environment of a build chooses the GPUs.
#[test]
fn the_environment_chooses_the_archs() {
    let bench = Workbench::new();
    cargo(&bench, "saxpy-build", "target")
        .env("OFFLINK_ARCHS", "sm_75,sm_86,gfx1100")
        .succeeds_silently();
    let program = bench.path("target/debug/saxpy-build");
    let listing = bench.offlink().arg("inspect").arg(&program).succeeds();
    for arch in ["sm_75", "sm_86", "gfx1100", "generic"] {
        assert!(listing.contains(arch), "{listing}");
    }
    assert!(!listing.contains("sm_90"), "{listing}");
}

/// Errors of kernels are errors of the package, with their place.
#[test]
fn mistakes_are_told_in_the_build_log() {
    let bench = Workbench::new();
    let package = bench.folder("mistake");
    std::fs::create_dir(package.join("src")).expect("a new folder");
    let manifest = |path: &str| {
        crate::workbench::repository()
            .join(path)
            .display()
            .to_string()
    };
    bench.write(
        "mistake/Cargo.toml",
        format!(
            "[workspace]\n[package]\nname = \"mistake\"\nedition = \"2024\"\n[dependencies]\n\
             offlink-rt = {{ path = {:?} }}\n[build-dependencies]\nofflink-build = {{ path = {:?} }}\n",
            manifest("crates/rt"),
            manifest("crates/build")
        ),
    );
    bench.write(
        "mistake/build.rs",
        "fn main() { offlink_build::Kernels::new().rust(\"kernel.rs\", [offlink_build::HOST])\
         .compile(\"kernels\"); }",
    );
    bench.write(
        "mistake/src/main.rs",
        "offlink_rt::kernel! { unsafe fn twice(x: &mut [f32]); }\nfn main() {}\n",
    );
    std::fs::copy(
        example("saxpy-build").join("Cargo.lock"),
        package.join("Cargo.lock"),
    )
    .unwrap();
    let kernel = |text: &str| {
        let head =
            "#![no_std]\n#[panic_handler] fn panic(_: &core::panic::PanicInfo) -> ! { loop {} }\n";
        bench.write("mistake/kernel.rs", format!("{head}{text}"));
        let mut command = bench.command("cargo");
        command
            .args(["build", "--offline"])
            .current_dir(&package)
            .env("OFFLINK", offlink())
            .env("CARGO_TARGET_DIR", bench.path("target"));
        command
    };

    let log = kernel("pub fn twice() { missing() }\n").fails_with(101);
    let error = "rustc could not compile 'kernel.rs' for x86_64-unknown-linux-gnu: kernel.rs:3:18: \
                 cannot find function `missing` in this scope";
    assert!(log.contains(error), "{log}");

    let log = kernel("#[unsafe(no_mangle)] pub extern \"C\" fn thrice() { let x = 1; }\n")
        .fails_with(101);
    assert!(
        log.contains("offlink-build has linked no kernel 'twice'"),
        "{log}"
    );
    assert!(
        log.contains("kernel.rs:3:55: unused variable: `x`"),
        "{log}"
    );

    let mut command = kernel("#[unsafe(no_mangle)] pub extern \"C\" fn twice() {}\n");
    let log = command.env("OFFLINK", "/no/offlink").fails_with(101);
    assert!(log.contains("can't run '/no/offlink'"), "{log}");
    kernel("#[unsafe(no_mangle)] pub extern \"C\" fn twice() {}\n").succeeds();
}
