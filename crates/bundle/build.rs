//! Compiles the registration code in `runtime/` for the crate's own target.
//!
//! The objects are embedded as bytes and become part of the host objects that
//! the crate writes; nothing of them is linked into the crate.

use std::path::{Path, PathBuf};
use std::{env, fs, io};

#[path = "src/host_object/flags.rs"]
mod flags;

fn main() -> io::Result<()> {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-changed=runtime");
    println!("cargo::rerun-if-changed=src/host_object/flags.rs");
    let folder = PathBuf::from(env::var_os("OUT_DIR").unwrap_or_default());
    for (kind, object, entries) in TEMPLATES {
        let template = folder.join(object);
        if is_x86_64_linux() {
            compile(&format!("runtime/{kind}.c"), entries, &template)?;
        } else {
            // An empty template: `HostTarget::supported` leaves its host out.
            fs::write(template, [])?;
        }
    }
    Ok(())
}

/// The code, the object that becomes of it, and which entries it walks
/// (`runtime/entry.h`).
#[rustfmt::skip]
const TEMPLATES: [(&str, &str, &[&str]); 9] = [
    ("openmp", "openmp.o", &[]),
    ("cuda", "cuda.o", &[]),
    ("cuda", "cuda-20.o", &["-DENTRIES=cuda_offloading_entries", "-DENTRIES_OF_LLVM=20"]),
    ("cuda", "cuda-19.o", &["-DENTRIES=cuda_offloading_entries", "-DENTRIES_OF_LLVM=19"]),
    ("hip", "hip.o", &[]),
    ("hip", "hip-20.o", &["-DENTRIES=hip_offloading_entries", "-DENTRIES_OF_LLVM=20"]),
    ("hip", "hip-19.o", &["-DENTRIES=hip_offloading_entries", "-DENTRIES_OF_LLVM=19"]),
    ("sycl_descriptor", "sycl_descriptor.o", &[]),
    ("sycl_binary", "sycl_binary.o", &[]),
];

fn compile(source: &str, entries: &[&str], object: &Path) -> io::Result<()> {
    let compiler = cc::Build::new()
        .try_get_compiler()
        .map_err(io::Error::other)?;
    let mut command = compiler.to_command();
    command.args(["-Wall", "-Werror"]);
    // SYCL registers before all else, with a priority that compilers warn of;
    // which of them know that warning differs.
    command.args(["-Wno-unknown-warning-option", "-Wno-prio-ctor-dtor"]);
    command.args(flags::FLAGS);
    command.args(flags::ELF_FLAGS).args(flags::X86_64_FLAGS);
    command.args(entries).arg(source).arg("-o").arg(object);
    let status = command.status()?;
    if status.success() {
        Ok(())
    } else {
        Err(io::Error::other(format!("{command:?}: {status}")))
    }
}

fn is_x86_64_linux() -> bool {
    let target = |key: &str| env::var(key).unwrap_or_default();
    target("CARGO_CFG_TARGET_ARCH") == "x86_64"
        && target("CARGO_CFG_TARGET_OS") == "linux"
        && target("CARGO_CFG_TARGET_POINTER_WIDTH") == "64"
}
