//! clang-linker-wrapper's options that say what is made: containers and images
//! instead of a program, programs of finished images.

use std::path::{Path, PathBuf};

use crate::as_wrapper::{
    CUDA, HIP, calls, openmp_unit, openmp_unit_with, peer, program, unit, wrapper,
};
use crate::device_code::{AMD, NVIDIA, bitcode};
use crate::workbench::{Run, Workbench, cuda_tool};

#[test]
fn a_hip_bundle() {
    let bench = Workbench::new();
    unit(&bench, HIP, "hip", &["gfx90a"]);
    let line = ["--emit-fatbin-only", "hip.o", "-o"];
    // The host triple that clang 22 sends for a translation unit's bundle.
    let host = "--host-triple=amdgcn-amd-amdhsa";
    let ids = |name: &str| {
        bench
            .command("clang-offload-bundler-22")
            .args(["--list", "--type=o", &format!("--input={name}")])
            .succeeds()
    };
    wrapper(&bench)
        .arg(host)
        .args(line)
        .arg("ours.hipfb")
        .succeeds_silently();
    peer(&bench)
        .arg(host)
        .args(line)
        .arg("theirs.hipfb")
        .succeeds();
    assert_eq!(ids("ours.hipfb"), ids("theirs.hipfb"));
    wrapper(&bench)
        .args(["--compress", "--compression-level=9"])
        .args(line)
        .arg("small.hipfb")
        .succeeds_silently();
    let small = std::fs::read(bench.path("small.hipfb")).expect("a bundle");
    assert!(small.starts_with(b"CCOB"));
    assert_eq!(ids("small.hipfb"), ids("theirs.hipfb"));
}

#[test]
fn a_fatbin() {
    let bench = Workbench::new();
    unit(&bench, CUDA, "cuda", &["sm_80", "sm_90"]);
    wrapper(&bench)
        .args(["--emit-fatbin-only", "cuda.o", "-o", "cuda.fatbin"])
        .succeeds_silently();
    let listing = bench
        .command(cuda_tool("cuobjdump"))
        .args(["-lelf", "cuda.fatbin"])
        .succeeds();
    assert!(listing.contains("sm_80.cubin"), "{listing}");
    assert!(listing.contains("sm_90.cubin"), "{listing}");
}

#[test]
fn images_as_files() {
    let bench = Workbench::new();
    unit(&bench, HIP, "hip", &["gfx90a", "gfx1030"]);
    let only = "--emit-device-images-only";
    let output = |arch: &str| format!("--device-image-output={},{arch}", AMD.triple);
    wrapper(&bench)
        .args([
            only,
            &output("gfx90a"),
            "a.img",
            &output("gfx1030"),
            "b.img",
            "hip.o",
        ])
        .succeeds_silently();
    for image in ["a.img", "b.img"] {
        let symbols = bench
            .command("llvm-readelf-22")
            .args(["--dyn-syms", image])
            .succeeds();
        assert!(symbols.contains(".kd"), "{symbols}");
    }
    let one_file = wrapper(&bench)
        .args([only, "-o", "c.img", "hip.o"])
        .fails_with(1);
    assert!(one_file.contains("gfx1030"), "{one_file}");
    let one_left = wrapper(&bench)
        .args([only, &output("gfx90a"), "d.img", "hip.o"])
        .fails_with(1);
    assert!(one_left.contains("gfx1030"), "{one_left}");
    let none = wrapper(&bench)
        .args([only, &output("gfx906"), "d.img", "hip.o"])
        .fails_with(1);
    assert!(none.contains("gfx906"), "{none}");
    assert!(!bench.path("d.img").exists());
}

#[test]
fn one_image_as_the_output() {
    let bench = Workbench::new();
    openmp_unit(&bench, "openmp");
    wrapper(&bench)
        .args(["--emit-device-images-only", "openmp.o", "-o", "image.so"])
        .succeeds_silently();
    let image = std::fs::read(bench.path("image.so")).expect("an image");
    assert!(image.starts_with(b"\x7fELF"));
}

#[test]
fn nothing_to_emit_is_an_error() {
    let bench = Workbench::new();
    bench.write("empty.c", "int nothing;\n");
    bench.command("cc").args(["-c", "empty.c"]).succeeds();
    for option in ["--emit-fatbin-only", "--emit-device-images-only"] {
        let stderr = wrapper(&bench)
            .args([option, "-o", "out", "empty.o"])
            .fails_with(1);
        assert!(stderr.contains("no device code"), "{stderr}");
    }
}

/// The image of `unit`'s kernel, linked before.
fn image(bench: &Workbench, unit: &Path, name: &str) -> PathBuf {
    let image = bench.path(name);
    wrapper(bench)
        .args(["--emit-device-images-only", "-o"])
        .arg(&image)
        .arg(unit)
        .succeeds_silently();
    image
}

/// Finished images take the place of what the objects hold.
#[test]
fn finished_images() {
    let bench = Workbench::new();
    let cuda = unit(&bench, CUDA, "cuda", &["sm_90"]);
    let hip = unit(&bench, HIP, "hip", &["gfx90a"]);
    let cubin = image(&bench, &cuda, "one.cubin");
    let hsaco = image(&bench, &hip, "one.hsaco");
    program(&bench, &[&cuda, &hip], &["-o", "prog"])
        .arg(format!("--override-image=cuda={}", cubin.display()))
        .arg(format!("--override-image=hip={}", hsaco.display()))
        .succeeds_silently();
    assert_eq!(calls(&bench, bench.path("prog"), "cudaRegisterFunction"), 1);
    assert_eq!(calls(&bench, bench.path("prog"), "hipRegisterFunction"), 1);
    let listing = bench.offlink().args(["inspect", "prog"]).succeeds();
    assert!(listing.contains("amdgcn-amd-amdhsa gfx90a"), "{listing}");
}

/// A finished image that lacks the program's kernel is noticed.
#[test]
fn finished_image_of_other_code() {
    let bench = Workbench::new();
    let cuda = unit(&bench, CUDA, "cuda", &["sm_90"]);
    let other = unit(&bench, CUDA, "other", &["sm_90"]);
    let cubin = image(&bench, &other, "other.cubin");
    let stderr = program(&bench, &[&cuda], &["-o", "prog"])
        .arg(format!("--override-image=cuda={}", cubin.display()))
        .fails_with(1);
    assert!(stderr.contains("_Z4cudaPi"), "{stderr}");
    let text = bench.write("text", "no image");
    let stderr = wrapper(&bench)
        .arg(format!("--override-image=cuda={}", text.display()))
        .args(["-o", "prog"])
        .fails_with(1);
    assert!(stderr.contains("cannot take"), "{stderr}");
}

/// Bitcode for a runtime that compiles it: its kernels are checked as any.
#[test]
fn embedded_bitcode() {
    let bench = Workbench::new();
    for target in [NVIDIA, AMD] {
        let images = [target.image(&bitcode(&bench, "saxpy", target))];
        let object = openmp_unit_with(&bench, "openmp", &images, "saxpy");
        program(&bench, &[&object], &["--embed-bitcode", "-o", "prog"]).succeeds_silently();
        bench
            .command("llvm-offload-binary-22")
            .args([
                "prog",
                &format!("--image={}", target.image(Path::new("out.bc"))),
            ])
            .succeeds();
        let ir = bench
            .command("llvm-dis-22")
            .args(["-o", "-", "out.bc"])
            .succeeds();
        assert!(ir.contains("@saxpy("), "{ir}");
        let object = openmp_unit_with(&bench, "vanished", &images, "vanished");
        let stderr = program(&bench, &[&object], &["--embed-bitcode", "-o", "other"]).fails_with(1);
        assert!(stderr.contains("vanished"), "{stderr}");
    }
    let cuda = unit(&bench, CUDA, "cuda", &["sm_90"]);
    let stderr = program(&bench, &[&cuda], &["--embed-bitcode", "-o", "other"]).fails_with(1);
    assert!(stderr.contains("kind cuda"), "{stderr}");
}
