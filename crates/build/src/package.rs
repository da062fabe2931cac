//! Kernels that are a cargo package of their own.

use crate::archs::Target;
use crate::diagnostics::Diagnostics;
use crate::program::{self, Offlink};
use crate::source::baseline;
use crate::{Error, cargo_lines};
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Settings of the package that the script belongs to; the kernels' have another
/// target and other flags.
const NOT_FOR_KERNELS: [&str; 6] = [
    "CARGO_BUILD_TARGET",
    "CARGO_ENCODED_RUSTFLAGS",
    "RUSTFLAGS",
    "CARGO_TARGET_DIR",
    "CARGO_BUILD_TARGET_DIR",
    "CARGO_BUILD_BUILD_DIR",
];

/// Has cargo build the package in `folder` for the targets' triple: for a GPU, bitcode
/// of the library and all that it depends on, with offlink as the linker; for a CPU, a
/// shared library, which is an image as it is.
///
/// # Errors
/// [`Error::Compile`] if cargo fails, [`Error::NoLibrary`] if it links nothing.
pub fn build(
    folder: &Path,
    targets: &[Target],
    stem: &Path,
    offlink: &Offlink,
) -> Result<PathBuf, Error> {
    let target = baseline(targets)?;
    let mut cargo = Command::new(cargo_lines::variable("CARGO")?);
    for name in NOT_FOR_KERNELS {
        cargo.env_remove(name);
    }
    cargo
        .args(["rustc", "--release", "--lib", "--crate-type=cdylib"])
        .args(["--message-format=json", "--quiet"])
        .args(["--target", &target.triple])
        .arg("--manifest-path")
        .arg(folder.join("Cargo.toml"))
        .arg("--target-dir")
        .arg(stem)
        // No kernel can unwind.
        .env("CARGO_PROFILE_RELEASE_PANIC", "abort");
    if target.is_gpu() {
        for_device(&mut cargo, target, offlink)?;
    }
    let output = program::output(&mut cargo, "cargo")?;
    let (mut diagnostics, mut library) = (Diagnostics::default(), None);
    for line in output.stdout.split(|byte| *byte == b'\n') {
        let Ok(message) = serde_json::from_slice::<Value>(line) else {
            continue;
        };
        match message["reason"].as_str() {
            Some("compiler-message") => diagnostics.read(&message["message"]),
            Some("compiler-artifact") => library = shared_library(&message).or(library),
            _ => {}
        }
    }
    if !output.status.success() {
        cargo_lines::rerun_if_changed(folder);
        eprint!("{}", String::from_utf8_lossy(&output.stderr));
        return Err(diagnostics.into_error("cargo", folder, &target.triple));
    }
    let library = library.ok_or_else(|| Error::NoLibrary {
        folder: folder.into(),
        triple: target.triple.clone(),
    })?;
    cargo_lines::rerun_if_sources_change(&library.with_extension("d"))?;
    cargo_lines::rerun_if_changed(&folder.join("Cargo.toml"));
    Ok(library)
}

/// Has cargo make bitcode for a GPU, with what kernels need of a compiler.
fn for_device(cargo: &mut Command, target: &Target, offlink: &Offlink) -> Result<(), Error> {
    let variable = |setting: &str| {
        let triple = target.triple.to_uppercase().replace(['-', '.'], "_");
        format!("CARGO_TARGET_{triple}_{setting}")
    };
    let flags = format!("-Ctarget-cpu={} -Clinker-plugin-lto", target.processor());
    cargo
        .env("RUSTC_BOOTSTRAP", "1")
        .env("OFFLINK_ARCHS", target.processor())
        .env("OFFLINK_EMIT", "bc")
        .env(variable("LINKER"), offlink.path())
        .env(variable("RUSTFLAGS"), flags);
    if needs_core(&target.triple)? {
        cargo.arg("-Zbuild-std=core");
    }
    Ok(())
}

/// Whether the toolchain has the sources of `core`, but not `core` for this triple. A
/// toolchain with neither can build kernels that do without (`no_core`).
fn needs_core(triple: &str) -> Result<bool, Error> {
    let mut rustc = Command::new(cargo_lines::variable("RUSTC")?);
    let output = program::output(rustc.args(["--print", "sysroot"]), "rustc")?;
    let sysroot = String::from_utf8_lossy(&output.stdout);
    let rustlib = Path::new(sysroot.trim()).join("lib/rustlib");
    Ok(rustlib.join("src/rust/library").is_dir() && !rustlib.join(triple).join("lib").is_dir())
}

/// The file of a shared library that cargo has linked.
fn shared_library(message: &Value) -> Option<PathBuf> {
    let kinds = message["target"]["crate_types"].as_array()?;
    let mut files = message["filenames"].as_array()?.iter();
    kinds
        .iter()
        .any(|kind| kind == "cdylib")
        .then(|| files.next()?.as_str().map(PathBuf::from))?
}
