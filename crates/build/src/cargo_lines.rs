//! What a build script is told by cargo, and tells it.

use crate::Error;
use crate::program::OffloadRuntime;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::{env, fs};

/// A variable that cargo sets for build scripts.
///
/// # Errors
/// [`Error::NotInBuildScript`] if it is not set.
pub fn variable(name: &'static str) -> Result<String, Error> {
    env::var(name).map_err(|_| Error::NotInBuildScript(name))
}

/// Where the script may write.
///
/// # Errors
/// [`Error::NotInBuildScript`] if cargo does not say.
pub fn out_dir() -> Result<PathBuf, Error> {
    variable("OUT_DIR").map(PathBuf::from)
}

/// Runs the script again when this file or folder changes.
pub fn rerun_if_changed(file: &Path) {
    println!("cargo::rerun-if-changed={}", file.display());
}

/// Runs the script again when a file changes that a dependency file names, as rustc
/// and cargo write them: `output: input input`, with blanks in names escaped.
///
/// # Errors
/// [`Error::File`] if it can't be read.
pub fn rerun_if_sources_change(dependency_file: &Path) -> Result<(), Error> {
    let text = fs::read_to_string(dependency_file)
        .map_err(|source| Error::file(dependency_file, source))?;
    for source in sources(&text) {
        rerun_if_changed(Path::new(&source));
    }
    Ok(())
}

/// The inputs of the first rule.
fn sources(text: &str) -> Vec<String> {
    let rule = text.lines().next().unwrap_or_default();
    let inputs = rule.split_once(": ").map_or("", |(_, inputs)| inputs);
    let escaped = inputs.replace("\\ ", "\0");
    let names = escaped.split(' ').filter(|name| !name.is_empty());
    names.map(|name| name.replace('\0', " ")).collect()
}

/// Links the library `name` in `folder` whole: nothing refers to what is in it.
/// It stays outside of the package's rlib, which keeps it as it is.
pub fn library(name: &str, folder: &Path) {
    println!("cargo::rustc-link-search=native={}", folder.display());
    println!("cargo::rustc-link-lib=static:+whole-archive,-bundle={name}");
}

/// Links the offload runtime. Where the loader does not look for it by itself, the
/// programs of this package are told where it is. Cargo hands no such setting on to
/// programs of other packages.
pub fn offload_runtime(runtime: &OffloadRuntime) {
    if let Some(folder) = runtime.library.parent() {
        println!("cargo::rustc-link-search=native={}", folder.display());
    }
    if let Some(name) = runtime.library.file_name() {
        println!("cargo::rustc-link-lib=dylib:+verbatim={}", name.display());
    }
    if let Some(folder) = &runtime.run_path {
        println!("cargo::rustc-link-arg=-Wl,-rpath,{}", folder.display());
    }
}

/// Tells `offlink_rt::kernel!` which kernels there are: these, and those of the sets
/// that this script has built before.
pub fn kernels(names: Vec<String>) {
    static ALL: Mutex<BTreeSet<String>> = Mutex::new(BTreeSet::new());
    let mut all = ALL.lock().unwrap_or_else(PoisonError::into_inner);
    all.extend(names);
    let list: Vec<&str> = all.iter().map(String::as_str).collect();
    println!("cargo::rustc-env=OFFLINK_KERNELS={}", list.join(","));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sources_of_a_dependency_file() {
        let text = "/out/k.bc: kernel/gpu.rs my\\ kernels/lang.rs\n\nkernel/gpu.rs:\n";
        assert_eq!(sources(text), ["kernel/gpu.rs", "my kernels/lang.rs"]);
        assert!(sources("").is_empty());
    }
}
