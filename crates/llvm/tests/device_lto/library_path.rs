//! Which library is tested: the one that `OFFLINK_TEST_LLVM` names, else that of the rustc which cargo uses.

use std::env;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The path of the library under test.
pub fn library_path() -> PathBuf {
    if let Some(path) = env::var_os("OFFLINK_TEST_LLVM") {
        return path.into();
    }
    let rustc = env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let output = Command::new(rustc)
        .args(["--print", "sysroot"])
        .output()
        .expect("rustc runs");
    let sysroot = String::from_utf8(output.stdout).expect("the sysroot is UTF-8");
    std::fs::read_dir(Path::new(sysroot.trim()).join("lib"))
        .expect("the sysroot has libraries")
        .map(|entry| entry.expect("the directory can be read").path())
        .find(|path| {
            path.file_name()
                .and_then(|name| name.to_str())
                .is_some_and(|name| name.starts_with("libLLVM.so."))
        })
        .expect("rustc has its libLLVM; else name one in OFFLINK_TEST_LLVM")
}
