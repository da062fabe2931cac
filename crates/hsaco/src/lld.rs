//! The command line of `lld` (`ld.lld`, or `rust-lld` of a Rust toolchain).

use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// The arguments, without the program's name, that link relocatable objects
/// into an hsaco. They are those that clang 22 gives `ld.lld` for amdgcn, less
/// the LTO options, since no input is bitcode any more.
///
/// `generic_driver` says that the program is lld's generic driver (`lld`,
/// `rust-lld`), which wants to be told which linker to be.
pub fn arguments(generic_driver: bool, inputs: &[PathBuf], output: &Path) -> Vec<OsString> {
    let mut arguments: Vec<OsString> = Vec::with_capacity(inputs.len() + 6);
    if generic_driver {
        arguments.extend(["-flavor".into(), "gnu".into()]);
    }
    arguments.extend([
        "--no-undefined".into(),
        "-shared".into(),
        "-o".into(),
        output.into(),
    ]);
    arguments.extend(inputs.iter().map(OsString::from));
    arguments
}

/// Whether the program of this path is the generic driver, by its file name.
/// `ld.lld` in a Rust toolchain's `gcc-ld` folder is not: it is a wrapper that
/// adds `-flavor gnu` itself.
pub fn is_generic_driver(program: &Path) -> bool {
    let name = program
        .file_stem()
        .map(|name| name.to_string_lossy().into_owned())
        .unwrap_or_default();
    name == "rust-lld" || name == "lld" || name.starts_with("lld-")
}

/// The symbols that lld's stderr calls undefined, in its order and without
/// repeats. The wording is that of lld 22.1.
pub fn undefined_symbols(stderr: &str) -> Vec<String> {
    let mut symbols: Vec<String> = Vec::new();
    for line in stderr.lines() {
        let Some((_, complaint)) = line.split_once("undefined ") else {
            continue;
        };
        // The symbol's visibility may stand between.
        let Some((_, symbol)) = complaint.split_once("symbol: ") else {
            continue;
        };
        if !symbols.iter().any(|known| known == symbol) {
            symbols.push(symbol.to_owned());
        }
    }
    symbols
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn generic_drivers_get_a_flavor() {
        let inputs = [PathBuf::from("a.o")];
        let generic = arguments(true, &inputs, Path::new("a.hsaco"));
        assert_eq!(generic[..2], ["-flavor", "gnu"]);
        let plain = arguments(false, &inputs, Path::new("a.hsaco"));
        assert_eq!(plain, ["--no-undefined", "-shared", "-o", "a.hsaco", "a.o"]);
    }

    #[test]
    fn driver_is_told_by_name() {
        for (program, generic) in [
            ("/x/bin/rust-lld", true),
            ("lld-22", true),
            ("lld", true),
            ("/usr/bin/ld.lld-22", false),
            ("/x/gcc-ld/ld.lld", false),
            ("", false),
        ] {
            assert_eq!(is_generic_driver(Path::new(program)), generic, "{program}");
        }
    }

    #[test]
    fn undefined_symbols_are_found_once() {
        let stderr = "ld.lld: error: undefined symbol: ext\n>>> referenced by a.o\nld.lld: error: undefined symbol: ext\n";
        assert_eq!(undefined_symbols(stderr), ["ext"]);
        let hidden = "rust-lld: error: undefined protected symbol: far_away\n";
        assert_eq!(undefined_symbols(hidden), ["far_away"]);
    }
}
