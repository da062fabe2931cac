//! Opening libraries: this file's process ends up with the one under test.

#[path = "device_lto/library_path.rs"]
mod library_path;

use std::path::Path;

use library_path::library_path;
use offlink_llvm::{Library, LoadError};

#[test]
fn wrong_files_are_named_errors_and_one_library_serves_the_process() {
    let missing = Path::new("/nonexistent/libLLVM.so");
    let error = Library::open(missing).expect_err("nothing there");
    assert!(matches!(error, LoadError::Open { .. }), "{error}");
    assert!(
        error.to_string().contains("/nonexistent/libLLVM.so"),
        "{error}"
    );

    let text = Path::new(env!("CARGO_MANIFEST_DIR")).join("Cargo.toml");
    assert!(matches!(Library::open(&text), Err(LoadError::Open { .. })));

    let error = Library::open(Path::new("libc.so.6")).expect_err("not LLVM");
    assert!(matches!(error, LoadError::NotLlvm { .. }), "{error}");

    let library = Library::open(&library_path()).expect("the library under test opens");
    assert!(library.version().major >= 19, "{}", library.version());
    assert!(library.targets().contains(&"NVPTX"));
    let again = Library::open(&library_path()).expect("and again");
    assert!(std::ptr::eq(library, again));
    let error = Library::open(missing).expect_err("a second library");
    assert!(matches!(error, LoadError::Another { .. }), "{error}");
}
