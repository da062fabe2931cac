//! Kinds × architectures × device LTO × optimisation: what offlink makes of the
//! same objects as clang-linker-wrapper 22 holds the same images with the same
//! kernels, is registered by the same calls, and is read by the tools of LLVM
//! and NVIDIA.

use serde_json::Value;

use crate::gpu_kinds::{Language, Unit, calls, objects};
use crate::workbench::{Run, Workbench, cuda_tool};

/// Every image of a program as one line, sorted.
fn images(bench: &Workbench, program: &str) -> Vec<String> {
    let printed = bench
        .offlink()
        .args(["inspect", "--json", program])
        .succeeds();
    let reports: Value = serde_json::from_str(&printed).expect("JSON");
    let images = reports[0]["images"].as_array().expect("images");
    let mut lines: Vec<String> = images
        .iter()
        .map(|image| {
            let part = |key: &str| image[key].to_string();
            format!(
                "{} {} {} {}",
                part("kind"),
                part("triple"),
                part("arch"),
                part("kernels")
            )
        })
        .collect();
    lines.sort();
    lines
}

/// Links the same objects both ways and compares.
fn compare(language: Language, archs: &[&str], options: &[&str]) {
    let bench = Workbench::new();
    let archs: Vec<String> = archs
        .iter()
        .map(|arch| format!("--offload-arch={arch}"))
        .collect();
    let mut flags: Vec<&str> = archs.iter().map(String::as_str).collect();
    flags.extend(options);
    let objects = objects(&bench, language, &flags, &[Unit::First, Unit::Second]);
    let what = format!("{language:?} {flags:?}");
    let ours = calls(&bench, &objects, true, options);
    let theirs = calls(&bench, &objects, false, options);
    assert_eq!(ours, theirs, "{what}");
    let (mut ours, theirs) = (images(&bench, "ours"), images(&bench, "theirs"));
    if matches!(language, Language::Cuda) && options.contains(&LTO) {
        // The fixture's hidden kernel, which clang-linker-wrapper drops.
        for image in &mut ours {
            assert!(
                image.contains(HIDDEN),
                "{what}: no hidden kernel in {image}"
            );
            *image = image.replace(HIDDEN, "");
        }
    }
    assert_eq!(ours, theirs, "{what}");
    assert_eq!(ours.len(), archs.len(), "{what}");
    is_read_by_others(&bench, language, archs.len(), &what);
}

/// NVIDIA's cuobjdump lists our fatbin, LLVM's bundler our bundle.
fn is_read_by_others(bench: &Workbench, language: Language, images: usize, what: &str) {
    let listed = match language {
        Language::Cuda => {
            let listing = bench
                .command(cuda_tool("cuobjdump"))
                .args(["-lelf", "ours"])
                .succeeds();
            listing.matches("ELF file").count()
        }
        Language::Hip => {
            bench
                .command("llvm-objcopy-22")
                .args(["--dump-section=.hip_fatbin=bundle", "ours", "copy"])
                .succeeds();
            let listing = bench
                .command("clang-offload-bundler-22")
                .args(["-type=o", "-list", "-input=bundle"])
                .succeeds();
            listing
                .lines()
                .filter(|line| line.starts_with("hip-"))
                .count()
        }
    };
    assert_eq!(listed, images, "{what}");
}

const HIDDEN: &str = "\"_Z6unseenv\",";
const LTO: &str = "-foffload-lto";

#[test]
fn cuda() {
    for archs in [&["sm_80"][..], &["sm_80", "sm_90"]] {
        for options in [&["-O0"][..], &["-O2"], &["-O1", LTO], &["-O3", LTO]] {
            compare(Language::Cuda, archs, options);
        }
    }
}

#[test]
fn hip() {
    for archs in [
        &["gfx90a"][..],
        &["gfx90a:xnack+", "gfx90a:xnack-", "gfx1030"],
    ] {
        for options in [&["-O0"][..], &["-O2"], &["-O3", "-foffload-lto=thin"]] {
            compare(Language::Hip, archs, options);
        }
    }
}
