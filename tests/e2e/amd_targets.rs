//! AMD's targets as clang 22 and as LLVM's main spell them, and targets of which one
//! says more than the other, in one link.

use std::path::PathBuf;

use crate::archives::archive;
use crate::as_wrapper::{HIP, program, unit};
use crate::device_code::{AMD, RUNTIME, Target, bitcode, launcher, pack};
use crate::workbench::{Run, Workbench};

/// What LLVM's main calls gfx90a.
const SUBARCH: Target = Target {
    triple: "amdgpu9.0a-amd-amdhsa",
    arch: "",
};

/// The bitcode of clang 22 with the triple that LLVM's main would write into it.
fn bitcode_of_main(bench: &Workbench, source: &str) -> PathBuf {
    let module = bitcode(bench, source, AMD);
    let text = bench
        .command("llvm-dis-22")
        .arg(module)
        .args(["-o", "-"])
        .succeeds();
    let old = format!("target triple = \"{}\"", AMD.triple);
    assert!(text.contains(&old));
    let text = text.replace(&old, &format!("target triple = \"{}\"", SUBARCH.triple));
    let text = bench.write(&format!("{source}-main.ll"), text);
    let output = bench.path(format!("{source}-main.bc"));
    bench
        .command("llvm-as-22")
        .arg(text)
        .arg("-o")
        .arg(&output)
        .succeeds();
    output
}

/// The program has one image, for `amdgcn-amd-amdhsa` and this target ID.
fn has_one_image(bench: &Workbench, arch: &str) {
    let listing = bench.offlink().args(["inspect", "program"]).succeeds();
    assert!(
        listing.starts_with("program: 1 image, 1 entry\n"),
        "{listing}"
    );
    assert!(
        listing.contains(&format!("amdgcn-amd-amdhsa {arch} ")),
        "{listing}"
    );
}

#[test]
fn code_of_both_is_linked_together() {
    let bench = Workbench::new();
    let host = launcher(&bench, "caller");
    let old = bitcode(&bench, "caller", AMD);
    let new = bitcode_of_main(&bench, "helper");
    let alias = Target {
        triple: "amdgpu-amd-amdhsa",
        ..AMD
    };
    // The kernel's helper is in the other piece of code, whichever comes first.
    for images in [
        [AMD.image(&old), SUBARCH.image(&new)],
        [SUBARCH.image(&new), AMD.image(&old)],
        [alias.image(&old), AMD.image(&new)],
    ] {
        bench
            .offlink()
            .arg("cc")
            .arg(&host)
            .args(images.map(|image| format!("--offlink-image={image}")))
            .args([RUNTIME, "-o", "program"])
            .succeeds_silently();
        has_one_image(&bench, AMD.arch);
    }
}

#[test]
fn libraries_of_main_serve_code_of_clang_22() {
    let bench = Workbench::new();
    let host = launcher(&bench, "caller");
    let kernel = AMD.image(&bitcode(&bench, "caller", AMD));
    let bare = bitcode_of_main(&bench, "helper");
    let packed = pack(&bench, &[SUBARCH.image(&bare)], "helper.bin");
    for member in [bare, packed] {
        archive(&bench, "helper", &[&member]);
        bench
            .offlink()
            .arg("cc")
            .arg(&host)
            .arg(format!("--offlink-image={kernel}"))
            .args(["libhelper.a", RUNTIME, "-o", "program"])
            .succeeds_silently();
        has_one_image(&bench, AMD.arch);
    }
}

/// A library for all of a family, or for any mode, has no image of its own beside
/// one that says more, which a runtime would prefer.
#[test]
fn libraries_serve_targets_that_say_more() {
    let amd = |arch| Target { arch, ..AMD };
    let (family, mode) = (amd("gfx9-generic"), amd("gfx90a:xnack+"));
    for (target, library) in [(amd("gfx906"), family), (mode, AMD)] {
        let bench = Workbench::new();
        let host = launcher(&bench, "caller");
        let kernel = target.image(&bitcode(&bench, "caller", target));
        let bare = bitcode(&bench, "helper", library);
        let packed = pack(&bench, &[library.image(&bare)], "helper.bin");
        archive(&bench, "helper", &[&packed]);
        bench
            .offlink()
            .arg("cc")
            .arg(&host)
            .arg(format!("--offlink-image={kernel}"))
            .args(["libhelper.a", RUNTIME, "-o", "program"])
            .succeeds_silently();
        has_one_image(&bench, target.arch);
    }
}

/// The same with kernels: the host needs the member, whose object names gfx90a.
#[test]
fn kernels_of_libraries_join_images_that_say_more() {
    let bench = Workbench::new();
    let member = unit(&bench, HIP, "member", &["gfx90a"]);
    let object = unit(&bench, HIP, "object", &["gfx90a:xnack+"]);
    archive(&bench, "member", &[&member]);
    let library = bench.path("libmember.a");
    let objects = [object.as_path(), &library];
    program(
        &bench,
        &objects,
        &["-u", "_Z21__device_stub__memberPi", "-o", "program"],
    )
    .succeeds_silently();
    let listing = bench.offlink().args(["inspect", "program"]).succeeds();
    assert!(
        listing.starts_with("program: 1 image, 2 entries\n"),
        "{listing}"
    );
    assert!(listing.contains("gfx90a:xnack+"), "{listing}");
    for kernel in ["_Z6memberPi", "_Z6objectPi"] {
        assert!(listing.contains(kernel), "{listing}");
    }
}

#[test]
fn a_triple_and_an_arch_that_differ() {
    let bench = Workbench::new();
    let kernel = bitcode(&bench, "caller", AMD);
    let odd = Target {
        arch: "gfx908",
        ..SUBARCH
    };
    let stderr = bench
        .offlink()
        .arg("cc")
        .arg(launcher(&bench, "caller"))
        .arg(format!("--offlink-image={}", odd.image(&kernel)))
        .args([RUNTIME, "-o", "program"])
        .fails_with(1);
    assert!(
        stderr.contains("amdgpu9.0a is gfx90a, not gfx908"),
        "{stderr}"
    );
    assert!(!bench.path("program").exists());
}
