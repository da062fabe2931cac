//! extract, link, bundle, wrap and a host link, one by one, give the bytes of
//! the whole link.

use std::path::{Path, PathBuf};

use crate::device_code::{AMD, CPU, NVIDIA, RUNTIME, launcher_with, saxpy_images};
use crate::workbench::{Run, Workbench};

fn read(path: impl AsRef<Path>) -> Vec<u8> {
    std::fs::read(path.as_ref()).unwrap_or_else(|error| panic!("{:?}: {error}", path.as_ref()))
}

/// The files of a folder, by name.
fn files(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).unwrap_or_else(|error| panic!("{folder:?}: {error}"));
    let mut files: Vec<PathBuf> = entries
        .map(|entry| entry.expect("an entry").path())
        .collect();
    files.sort();
    files
}

#[test]
fn same_bytes_as_the_whole_link() {
    let bench = Workbench::new();
    let object = launcher_with(&bench, &saxpy_images(&bench));
    bench
        .offlink()
        .arg("cc")
        .arg(&object)
        .args([RUNTIME, "-o", "whole"])
        .succeeds_silently();

    bench
        .offlink()
        .args(["extract", "-o", "inputs"])
        .arg(&object)
        .succeeds_silently();
    let mut images = Vec::new();
    for target in [AMD, NVIDIA, CPU] {
        let folder = bench.path(format!("inputs/openmp-{}-{}", target.triple, target.arch));
        let inputs = files(&folder);
        assert_eq!(inputs, [folder.join("0000.bc")]);
        let image = bench.path(format!("{}.image", target.arch));
        bench
            .offlink()
            .arg("link")
            .args(target.arguments())
            .arg("-o")
            .arg(&image)
            .args(inputs)
            .succeeds_silently();
        images.push(format!("--image={}", target.image(&image)));
    }
    bench
        .offlink()
        .arg("bundle")
        .args(images)
        .args(["-o", "bundle"])
        .succeeds_silently();
    bench
        .offlink()
        .args(["wrap", "-o", "registration.o", "bundle"])
        .succeeds_silently();
    bench
        .command("cc")
        .arg("registration.o")
        .arg(&object)
        .args([RUNTIME, "-o", "by-steps"])
        .succeeds_silently();

    assert!(
        read(bench.path("whole")) == read(bench.path("by-steps")),
        "the programs differ"
    );
}
