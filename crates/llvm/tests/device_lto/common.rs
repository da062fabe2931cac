//! The library under test, opened, and the fixtures that it can read.

use std::fs;
use std::path::Path;
use std::sync::LazyLock;

use offlink_llvm::{Emit, Keep, Library, Module, OptLevel, Options};

use crate::library_path::library_path;

/// The library under test, opened.
pub fn library() -> &'static Library {
    static LIBRARY: LazyLock<&'static Library> =
        LazyLock::new(|| Library::open(&library_path()).expect("the library opens"));
    *LIBRARY
}

/// The newest set of fixtures that the library can read.
pub fn fixtures() -> &'static str {
    if library().version().major >= 22 {
        "llvm22"
    } else {
        "llvm19"
    }
}

/// A fixture by its path under `tests/data`.
pub fn module_at(path: &str) -> Module {
    let file = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/data")
        .join(path);
    Module {
        name: path.into(),
        bitcode: fs::read(&file).expect("the fixture is there").into(),
    }
}

/// A fixture of [`fixtures`] by name.
pub fn module(name: &str) -> Module {
    module_at(&format!("{}/{name}.bc", fixtures()))
}

/// PTX for sm_90 from all of an image.
pub fn nvptx() -> Options {
    Options {
        triple: "nvptx64-nvidia-cuda".into(),
        cpu: "sm_90".into(),
        features: "+ptx78".into(),
        opt_level: OptLevel::O3,
        passes: None,
        exports: Vec::new(),
        keep: Keep::Kernels,
        emit: Emit::Assembly,
    }
}
