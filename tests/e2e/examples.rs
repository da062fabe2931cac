//! The example packages, built by cargo where they lie and run on the CPU image.

use std::path::PathBuf;
use std::process::Command;

use crate::workbench::{Run, Workbench, cuda, example, offlink, repository};

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

/// Kernels that another compiler has made into textual IR, linked with one in Rust into
/// one image.
#[test]
fn kernels_of_other_compilers_join() {
    let bench = Workbench::new();
    bench.folder("mixed/src");
    let (rt, build) = (
        repository().join("crates/rt"),
        repository().join("crates/build"),
    );
    bench.write(
        "mixed/Cargo.toml",
        format!(
            "[workspace]\n[package]\nname = \"mixed\"\nedition = \"2024\"\n\
             [dependencies]\nofflink-rt = {{ path = {rt:?} }}\n\
             [build-dependencies]\nofflink-build = {{ path = {build:?} }}\n"
        ),
    );
    bench.write(
        "mixed/build.rs",
        format!(
            "fn main() {{ offlink_build::Kernels::new().bitcode(\"c.ll\", [\"host\"])\
             .rust({:?}, [\"host\"]).compile(\"kernels\"); }}",
            example("saxpy-build").join("kernel/cpu.rs")
        ),
    );
    bench.write(
        "mixed/src/main.rs",
        "offlink_rt::kernel! { unsafe fn saxpy(x: &[f32], y: &mut [f32], a: f32, n: u64); }\n\
         offlink_rt::kernel! { unsafe fn negate(y: &mut [f32], n: u64); }\n\
         fn main() { let grid = offlink_rt::Grid::covering(3, 32); let mut y = [1.0; 3];\n\
         unsafe { saxpy(grid, &[1.0, 2.0, 3.0], &mut y, 2.0, 3).unwrap();\n\
         negate(grid, &mut y, 3).unwrap(); } println!(\"{y:?}\"); }\n",
    );
    let source = bench.write(
        "negate.c",
        "void negate(void *dyn, float *y, long n) { for (long i = 0; i < n; i++) y[i] = -y[i]; }\n",
    );
    bench
        .command("clang-22")
        .args(["-O2", "-fPIC", "-S", "-emit-llvm", "-o", "mixed/c.ll"])
        .arg(source)
        .succeeds();
    bench
        .command("cargo")
        .args(["build", "--quiet", "--offline"])
        .current_dir(bench.path("mixed"))
        .env("OFFLINK", offlink())
        .env("CARGO_TARGET_DIR", bench.path("target"))
        .succeeds_silently();
    let program = bench.path("target/debug/mixed");
    let printed = bench.program(&program).succeeds();
    assert_eq!(printed, "[-3.0, -5.0, -7.0]\n");
    let listing = bench.offlink().arg("inspect").arg(&program).succeeds();
    assert!(listing.contains("1 image, 2 entries"), "{listing}");
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
