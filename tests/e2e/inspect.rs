//! What `offlink inspect` says of a linked program.

use serde_json::{Value, json};

use crate::device_code::{RUNTIME, launcher_with, saxpy_images};
use crate::workbench::{Run, Workbench};

#[test]
fn lists_images_kernels_and_entries() {
    let bench = Workbench::new();
    let object = launcher_with(&bench, &saxpy_images(&bench));
    bench
        .offlink()
        .arg("cc")
        .arg(object)
        .args([RUNTIME, "-o", "program"])
        .succeeds_silently();

    let text = bench
        .offlink()
        .args(["inspect", "--json", "program"])
        .succeeds();
    let report: Value = serde_json::from_str(&text).expect("JSON");
    let images = report[0]["images"].as_array().expect("a list of images");
    let seen: Vec<Value> = images
        .iter()
        .map(|image| {
            json!([
                image["kind"],
                image["triple"],
                image["arch"],
                image["kernels"]
            ])
        })
        .collect();
    assert_eq!(
        seen,
        [
            json!(["openmp", "amdgcn-amd-amdhsa", "gfx90a", ["saxpy"]]),
            json!(["openmp", "nvptx64-nvidia-cuda", "sm_90", ["saxpy"]]),
            json!(["openmp", "x86_64-unknown-linux-gnu", "generic", ["saxpy"]]),
        ]
    );
    assert_eq!(report[0]["entries"][0]["name"], "saxpy");

    let text = bench.offlink().args(["inspect", "program"]).succeeds();
    assert!(text.starts_with("program: 3 images, 1 entry\n"), "{text}");
}
