//! Telling a linker's line from a compiler driver's by its arguments. The
//! program's name says nothing, unless it is a linker's own: cargo calls whatever
//! `linker =` names.

use crate::cli::ld64_line;
use std::ffi::OsString;

/// Arguments that only a linker takes; a driver has them behind `-Wl,`.
const LD_ONLY: &[&str] = &[
    "-flavor",
    "-dynamic-linker",
    "--dynamic-linker",
    "--eh-frame-hdr",
    "--as-needed",
    "--gc-sections",
    "--whole-archive",
    "--start-group",
    "--hash-style=gnu",
    "-plugin",
    "-Bstatic",
    "-Bdynamic",
];

/// Whether the line is written for a linker.
pub fn is_ld_line(arguments: &[OsString]) -> bool {
    let text = |argument: &OsString| argument.to_string_lossy().into_owned();
    let mut ld_like = ld64_line::is_one(arguments);
    let mut previous = String::new();
    for argument in arguments.iter().map(text) {
        // A word behind -Xlinker is the driver's way to reach the linker.
        if argument.starts_with("-Wl,") || argument == "-Xlinker" {
            return false;
        }
        ld_like |= LD_ONLY.contains(&argument.as_str())
            || argument.starts_with("--version-script")
            || (previous == "-m" && argument.starts_with("elf"));
        previous = argument;
    }
    ld_like
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_ld(line: &str) -> bool {
        let arguments: Vec<OsString> = line.split_whitespace().map(OsString::from).collect();
        is_ld_line(&arguments)
    }

    #[test]
    fn both_kinds() {
        assert!(is_ld("-flavor gnu a.o"));
        assert!(is_ld("--eh-frame-hdr -m elf_x86_64 -o x a.o"));
        assert!(is_ld("-m elf_x86_64 a.o"));
        assert!(is_ld("-arch arm64 -platform_version macos 11.0 14.0 a.o"));
        assert!(!is_ld("--target=arm64-apple-macos11 -arch arm64 a.o"));
        assert!(is_ld("a.o --as-needed --gc-sections -o x"));
        assert!(!is_ld("-m64 a.o -Wl,--gc-sections -o x"));
        assert!(!is_ld("a.o -Xlinker --gc-sections"));
        assert!(!is_ld("a.o -o x"));
    }
}
