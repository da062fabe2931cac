//! How offlink ends, and what a build system learns from it.

use std::path::PathBuf;

use crate::device_code::{NVIDIA, bitcode, launcher_with, saxpy_images};
use crate::workbench::{Run, Workbench};

/// A program that prints its arguments and ends with the given code.
fn stand_in(bench: &Workbench, code: i32) -> PathBuf {
    let script = format!("#!/bin/sh\necho \"$@\"\nexit {code}\n");
    bench.script("stand-in", script)
}

/// A line without device code goes to the host linker as it is.
#[test]
fn host_linker_gets_the_line_unchanged() {
    let bench = Workbench::new();
    bench.write("a.o", "no object at all");
    let printed = bench
        .offlink()
        .env("OFFLINK_HOST_LINKER", stand_in(&bench, 0))
        .args(["cc", "-Wl,-z,relro,-z,now", "a.o", "-o", "a", "-lm"])
        .succeeds_silently();
    assert_eq!(printed, "-Wl,-z,relro,-z,now a.o -o a -lm\n");
}

#[test]
fn host_linker_decides_without_device_code() {
    let bench = Workbench::new();
    bench
        .offlink()
        .env("OFFLINK_HOST_LINKER", stand_in(&bench, 42))
        .args(["cc", "-o", "a"])
        .fails_with(42);
}

#[test]
fn host_linker_decides_with_device_code() {
    let bench = Workbench::new();
    let object = launcher_with(&bench, &saxpy_images(&bench)[1..]);
    bench
        .offlink()
        .env("OFFLINK_HOST_LINKER", stand_in(&bench, 42))
        .args(["cc", "-o", "a"])
        .arg(object)
        .fails_with(42);
}

#[test]
fn failed_tool_is_3() {
    let bench = Workbench::new();
    let stderr = bench
        .offlink()
        .env("OFFLINK_PTXAS", stand_in(&bench, 7))
        .arg("link")
        .args(NVIDIA.arguments())
        .args(["-o", "image"])
        .arg(bitcode(&bench, "saxpy", NVIDIA))
        .fails_with(3);
    assert!(stderr.contains("ptxas"), "{stderr}");
    assert!(!bench.path("image").exists(), "an image was left behind");
}

#[test]
fn wrong_usage_is_2() {
    let bench = Workbench::new();
    let stderr = bench
        .offlink()
        .args(["cc", "--offlink-nonsense", "a.o"])
        .fails_with(2);
    assert!(stderr.contains("--offlink-nonsense"), "{stderr}");
    bench
        .offlink()
        .args(["link", "--triple=nvptx64-nvidia-cuda"])
        .fails_with(2);
}
