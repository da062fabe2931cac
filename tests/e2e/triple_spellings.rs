//! AMD's triples as clang 22 and as LLVM's main spell them, in one link.

use std::path::PathBuf;

use crate::archives::archive;
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

/// The program has one image, for `amdgcn-amd-amdhsa` and gfx90a.
fn has_one_image(bench: &Workbench) {
    let listing = bench.offlink().args(["inspect", "program"]).succeeds();
    assert!(
        listing.starts_with("program: 1 image, 1 entry\n"),
        "{listing}"
    );
    assert!(listing.contains("amdgcn-amd-amdhsa gfx90a "), "{listing}");
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
        has_one_image(&bench);
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
        has_one_image(&bench);
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
