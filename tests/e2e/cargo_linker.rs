//! offlink as the linker of a cargo workspace: for every type of crate, under
//! cargo's profiles, and with whichever linker makes the output.

use std::path::PathBuf;
use std::process::Command;

use crate::device_code::{CPU, RUNTIME, bitcode, rust_kernel};
use crate::workbench::{Run, Workbench, fixture, toolchains};

/// What `program` prints when its own kernel and its plugin's work.
const BOTH_RIGHT: &str = "saxpy: right\ndouble: right\n";

/// The workspace of `fixtures/`, its images, and the toolchain that builds it.
pub struct Workspace {
    pub bench: Workbench,
    saxpy: String,
    double: String,
    toolchain: Option<&'static str>,
}

impl Workspace {
    pub fn new(toolchain: Option<&'static str>) -> Workspace {
        let bench = Workbench::new();
        Workspace {
            saxpy: CPU.image(&bitcode(&bench, "saxpy", CPU)),
            double: CPU.image(&rust_kernel(&bench, "double_cpu", toolchain)),
            toolchain,
            bench,
        }
    }

    /// Its programs under this profile.
    pub fn built(&self, profile: &str, name: &str) -> PathBuf {
        self.bench.path("target").join(profile).join(name)
    }

    pub fn cargo(&self, rustflags: &str, arguments: &[&str]) -> Command {
        let mut cargo = self.bench.command("cargo");
        let (verb, rest) = arguments.split_first().expect("a verb");
        cargo
            .args([verb, "--quiet", "--locked", "--offline"])
            .args(rest)
            .current_dir(fixture("cargo-workspace"))
            .env("PATH", self.bench.path_with_offlink())
            .env("CARGO_TARGET_DIR", self.bench.path("target"))
            .env("OMP_TARGET_OFFLOAD", "MANDATORY")
            // What nightly does by default: each line of a linker is a warning.
            .env("RUSTFLAGS", format!("-Wlinker-messages {rustflags}"))
            .env("SAXPY_IMAGE", &self.saxpy)
            .env("DOUBLE_IMAGE", &self.double);
        if let Some(toolchain) = self.toolchain {
            cargo.env("RUSTUP_TOOLCHAIN", toolchain);
        }
        cargo
    }

    /// Two programs' worth of kernels in one process: the program's, whose entry
    /// lies in a library crate, and its plugin's.
    fn program_and_plugin_run(&self, profile: &str) {
        let printed = self
            .bench
            .program(self.built(profile, "program"))
            .arg(self.built(profile, "libplugin.so"))
            .succeeds();
        assert_eq!(printed, BOTH_RIGHT);
    }
}

/// Build scripts, a proc-macro, a program, a plugin, a static library, unit tests, an
/// integration test, an example.
#[test]
fn every_crate_type() {
    for toolchain in toolchains() {
        let workspace = Workspace::new(toolchain);
        let cargo = |arguments: &[&str]| workspace.cargo("", arguments).succeeds_silently();

        let tested = cargo(&["test"]);
        let passed = tested.matches("1 passed; 0 failed").count();
        assert_eq!(passed, 2, "{tested}");
        let example = cargo(&["run", "-p", "library", "--example", "example"]);
        assert_eq!(example, "example: right\n");

        cargo(&["build"]);
        workspace.program_and_plugin_run("debug");
        c_program_runs(&workspace);
    }
}

/// A C program with the static library, whose entry comes from a crate below it.
fn c_program_runs(workspace: &Workspace) {
    let bench = &workspace.bench;
    bench
        .offlink()
        .arg("cc")
        .arg(fixture("cargo-workspace/archive/main.c"))
        .arg(workspace.built("debug", "libarchive.a"))
        .arg(format!("--offlink-image={}", workspace.saxpy))
        .args([RUNTIME, "-o", "archive"])
        .succeeds_silently();
    let printed = bench.program(bench.path("archive")).succeeds();
    assert_eq!(printed, "archive: right\n");
}

#[test]
fn a_dylib() {
    let workspace = Workspace::new(None);
    let printed = workspace
        .cargo("-Cprefer-dynamic", &["run", "-p", "dynamic"])
        .succeeds_silently();
    assert_eq!(printed, "dynamic: right\n");
}

fn release_with_lto(lto: &str) {
    let workspace = Workspace::new(None);
    let profile = format!("profile.release.lto={lto:?}");
    let build = ["build", "--release", "-p", "program", "-p", "plugin"];
    workspace
        .cargo("", &[&build[..], &["--config", &profile]].concat())
        .succeeds_silently();
    workspace.program_and_plugin_run("release");
}

#[test]
fn release_without_lto() {
    release_with_lto("off");
}

#[test]
fn release_with_thin_lto() {
    release_with_lto("thin");
}

#[test]
fn release_with_fat_lto() {
    release_with_lto("fat");
}

/// `comment` is what the linker leaves in the section `.comment`, if anything.
fn by_linker(rustflags: &str, comment: Option<&str>) {
    let workspace = Workspace::new(None);
    let build = ["build", "-p", "program", "-p", "plugin"];
    workspace.cargo(rustflags, &build).succeeds_silently();
    let comments = workspace
        .bench
        .command("readelf")
        .args(["-p", ".comment"])
        .arg(workspace.built("debug", "program"))
        .succeeds();
    for linker in ["Linker: LLD", "mold"] {
        assert_eq!(
            comments.contains(linker),
            comment == Some(linker),
            "{comments}"
        );
    }
    workspace.program_and_plugin_run("debug");
}

#[test]
fn by_rustc_own_lld() {
    by_linker("", Some("Linker: LLD"));
}

#[test]
fn by_gnu_ld() {
    by_linker("-Clinker-features=-lld", None);
}

#[test]
fn by_mold() {
    by_linker("-Clink-arg=-fuse-ld=mold", Some("mold"));
}

/// Host code reaches the linker as bitcode.
#[test]
fn with_lto_in_the_linker() {
    by_linker("-Clinker-plugin-lto", Some("Linker: LLD"));
}
