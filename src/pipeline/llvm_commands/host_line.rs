//! The host linker's line as clang-linker-wrapper prints it.

use crate::options::{split_once, strip_prefix};
use std::ffi::{OsStr, OsString};

/// The arguments in the spelling of LLVM 22.1.8's wrapper, which reads the line
/// as options and writes those that it knows in their own way: `-lm` becomes
/// `-l m`, `--output=x` becomes `-o x`, `-r` becomes `--relocatable`. The
/// meaning is the same.
pub(super) fn spelled(arguments: &[OsString]) -> Vec<OsString> {
    let mut spelled = Vec::with_capacity(arguments.len());
    let mut rest = arguments.iter();
    while let Some(argument) = rest.next() {
        let text = argument.to_str().unwrap_or_default();
        let dashless = text.strip_prefix('-').unwrap_or_default();
        let name = dashless.strip_prefix('-').unwrap_or(dashless);
        let (name, joined) = name.split_once('=').unzip();
        let name = name.unwrap_or(dashless.trim_start_matches('-'));
        let mut with_value = |option: &str| {
            let value = joined
                .map(OsString::from)
                .or_else(|| rest.next().cloned())
                .unwrap_or_default();
            spelled.extend([option.into(), value]);
        };
        match name {
            "output" if is_option(text) => with_value("-o"),
            "library-path" if is_option(text) => with_value("-L"),
            // LLVM's wrapper takes this for -L.
            "library" if is_option(text) => with_value("-l"),
            "rpath" if joined.is_some() => with_value("--rpath"),
            "r" | "relocatable" if is_option(text) && joined.is_none() => {
                spelled.push("--relocatable".into());
            }
            _ => match one_letter(argument) {
                Some((option, value)) => spelled.extend([option.into(), value.to_owned()]),
                None => spelled.push(argument.clone()),
            },
        }
    }
    spelled
}

fn is_option(text: &str) -> bool {
    text.starts_with('-')
}

/// `-l`, `-L` and `-o` with their value joined.
fn one_letter(argument: &OsStr) -> Option<(&'static str, &OsStr)> {
    ["-l", "-L", "-o"].into_iter().find_map(|option| {
        let value = strip_prefix(argument, option).filter(|value| !value.is_empty())?;
        Some((option, value))
    })
}

/// What LLVM's wrapper hands on to the link of an image for a CPU: libraries,
/// where they are looked for, and `--whole-archive`; archives and shared
/// libraries that the line names.
pub(super) fn for_cpu_images(arguments: &[OsString]) -> Vec<OsString> {
    let spelled = spelled(arguments);
    let mut kept = Vec::new();
    let mut rest = spelled.iter();
    while let Some(argument) = rest.next() {
        match argument.to_str().unwrap_or_default() {
            "-l" | "-L" | "-rpath" | "--rpath" => {
                kept.push(argument.clone());
                kept.extend(rest.next().cloned());
            }
            "-o" | "-m" | "-z" | "-dynamic-linker" | "-soname" | "-u" | "-e" | "-T" => {
                rest.next();
            }
            toggle @ ("--whole-archive" | "--no-whole-archive") => {
                kept.push(format!("-Wl,{toggle}").into());
            }
            text if !is_option(text) && is_library(text) => kept.push(argument.clone()),
            _ => {}
        }
    }
    kept
}

fn is_library(file: &str) -> bool {
    let extension = split_once(file.rsplit('/').next().unwrap_or_default().as_ref(), b'.').1;
    extension
        .and_then(OsStr::to_str)
        .is_some_and(|text| text == "a" || text.split('.').any(|part| part == "so"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(line: &str) -> Vec<OsString> {
        line.split_whitespace().map(OsString::from).collect()
    }

    #[test]
    fn the_spelling_of_the_wrapper() {
        // What clang-linker-wrapper 22.1.8 --dry-run makes of these words, but
        // for --library.
        for (given, printed) in [
            ("-lc -Lx", "-l c -L x"),
            ("--output=foo --library-path=x", "-o foo -L x"),
            ("--output foo -oabc -o x", "-o foo -o abc -o x"),
            (
                "-rpath=/x --rpath /y -rpath /z",
                "--rpath /x --rpath /y -rpath /z",
            ),
            (
                "-r --sysroot=/ -u sym a.o",
                "--relocatable --sysroot=/ -u sym a.o",
            ),
            ("--library foo -l bar", "-l foo -l bar"),
            ("--relocatablex -z now", "--relocatablex -z now"),
        ] {
            assert_eq!(spelled(&words(given)), words(printed), "{given}");
        }
    }

    #[test]
    fn what_concerns_images_for_cpus() {
        let line = "-m elf_x86_64 -o p a.o -lm -L/x libq.a s.so.1 -rpath /y --whole-archive";
        let kept = for_cpu_images(&words(line));
        let expected = words("-l m -L /x libq.a s.so.1 -rpath /y -Wl,--whole-archive");
        assert_eq!(kept, expected);
    }
}
