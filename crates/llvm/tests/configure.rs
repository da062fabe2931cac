//! Options of LLVM itself, in a process of their own: they can't be taken back.

#[path = "device_lto/library_path.rs"]
mod library_path;

use offlink_llvm::{ConfigureError, Library};

#[test]
fn options_are_taken_once() {
    let library = Library::open(&library_path::library_path()).unwrap();
    let configure = |option: &str| library.configure(&[option.to_owned()]);
    for unknown in ["-no-such-option-of-llvm", "inline-threshold=1", "-", ""] {
        let error = configure(unknown).unwrap_err();
        assert!(matches!(error, ConfigureError::Unknown { .. }), "{error}");
    }
    for ending in ["--help", "-help-hidden", "--version"] {
        let error = configure(ending).unwrap_err();
        assert!(matches!(error, ConfigureError::Ends(_)), "{error}");
    }
    let nul = configure("-inline-threshold=\0").unwrap_err();
    assert!(matches!(nul, ConfigureError::Nul(_)), "{nul}");
    configure("-inline-threshold=10").unwrap();
    configure("-inline-threshold=10").unwrap();
    let again = configure("-inline-threshold=11").unwrap_err();
    assert!(matches!(again, ConfigureError::Again), "{again}");
}
