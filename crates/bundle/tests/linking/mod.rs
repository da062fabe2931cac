//! The compilers and linkers that tests make programs with.

use std::path::{Path, PathBuf};
use std::process::Command;

/// The path of a fixture.
pub fn data(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/data")
        .join(name)
}

/// Runs a program in `folder`, which must succeed; returns what it prints.
pub fn run<S: AsRef<std::ffi::OsStr>>(folder: &Path, program: &str, arguments: &[S]) -> String {
    let program = if program == "./program" {
        folder.join("program")
    } else {
        program.into()
    };
    let output = Command::new(&program)
        .args(arguments)
        .current_dir(folder)
        .output()
        .unwrap_or_else(|error| panic!("cannot run {}: {error}", program.display()));
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{}: {errors}", program.display());
    String::from_utf8(output.stdout).unwrap()
}

/// GNU ld and lld, each by the driver that finds it.
pub const LINKERS: [&[&str]; 2] = [&["cc", "-fuse-ld=bfd"], &["clang-22", "-fuse-ld=lld"]];

/// The ways to link a program.
pub const MODES: [&[&str]; 3] = [&["-pie", "-fPIE"], &["-no-pie", "-fno-pie"], &["-static"]];
