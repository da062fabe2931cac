//! What the words of an ld line mean for a device link.

use super::tokens::Token;
use crate::options::{split_once, strip_prefix};
use crate::request::{Input, InputName, LinkLine, OutputKind};
use std::ffi::{OsStr, OsString};
use std::ops::Range;

/// Options of GNU ld and lld whose value is the next word and none of whose
/// values is an input. Without `=`, after one or two dashes. A value that is
/// taken for an input by mistake does no harm unless it is an object.
const WITH_VALUE: &[&str] = &[
    "A",
    "F",
    "G",
    "I",
    "Map",
    "R",
    "T",
    "Tbss",
    "Tdata",
    "Ttext",
    "Y",
    "a",
    "assert",
    "b",
    "c",
    "defsym",
    "dynamic-linker",
    "dynamic-list",
    "export-dynamic-symbol",
    "f",
    "fini",
    "format",
    "h",
    "hash-style",
    "init",
    "just-symbols",
    "m",
    "mllvm",
    "oformat",
    "plugin",
    "plugin-opt",
    "retain-symbols-file",
    "rpath",
    "rpath-link",
    "script",
    "section-start",
    "soname",
    "sort-section",
    "version-script",
    "wrap",
    "y",
    "z",
];

/// What holds at a place of the line.
#[derive(Clone, Copy, Default)]
struct State {
    whole_archive: bool,
    prefer_static: bool,
}

/// Reads the words in order.
pub fn interpret(tokens: impl IntoIterator<Item = Token>) -> LinkLine {
    let mut line = LinkLine::default();
    let mut state = State::default();
    let mut saved = Vec::new();
    let mut tokens = tokens.into_iter().peekable();
    while let Some(token) = tokens.next() {
        let Some(option) = option_name(&token.text) else {
            line.inputs.push(input(
                InputName::File(token.text.into()),
                state,
                token.arguments,
            ));
            continue;
        };
        let (name, joined) = match split_once(option, b'=') {
            // `-L=dir`: the sign belongs to the value of a one-letter option.
            (letter, Some(_)) if letter.len() == 1 => (option, None),
            split => split,
        };
        let own = token.arguments.clone();
        let mut value = || match (joined, tokens.next_if(|_| joined.is_none())) {
            (Some(value), _) => (value.to_owned(), own.clone()),
            (None, Some(next)) => (next.text, together(&own, &next.arguments)),
            (None, None) => (OsString::new(), own.clone()),
        };
        match name.to_str().unwrap_or_default() {
            "whole-archive" => state.whole_archive = true,
            "no-whole-archive" => state.whole_archive = false,
            "Bstatic" | "dn" | "non_shared" | "static" | "static-pie" => state.prefer_static = true,
            "Bdynamic" | "dy" | "call_shared" => state.prefer_static = false,
            "push-state" => saved.push(state),
            "pop-state" => state = saved.pop().unwrap_or_default(),
            "shared" | "Bshareable" => line.output_kind = OutputKind::SharedLibrary,
            "r" | "i" | "Ur" | "relocatable" => line.output_kind = OutputKind::Relocatable,
            "sysroot" => line.sysroot = Some(value().0.into()),
            "o" | "output" => line.output = value().0.into(),
            "L" | "library-path" => line.search_dirs.push(value().0.into()),
            "l" | "library" => {
                let (library, arguments) = value();
                line.inputs
                    .push(input(InputName::Library(library), state, arguments));
            }
            "u" | "undefined" | "require-defined" | "e" | "entry" => {
                line.required_symbols
                    .push(value().0.to_string_lossy().into_owned());
            }
            name if joined.is_none() && WITH_VALUE.contains(&name) => {
                tokens.next();
            }
            _ => joined_value(&token, state, &mut line),
        }
    }
    line
}

/// One-letter options whose value follows at once: `-lfoo`, `-L/dir`, `-oout`,
/// `-usym`. Whatever is left means nothing here.
fn joined_value(token: &Token, state: State, line: &mut LinkLine) {
    let text = token.text.as_os_str();
    if text.as_encoded_bytes().starts_with(b"--") {
        return;
    }
    let value = |prefix| strip_prefix(text, prefix).map(OsStr::to_owned);
    if let Some(library) = value("-l") {
        let arguments = token.arguments.clone();
        line.inputs
            .push(input(InputName::Library(library), state, arguments));
    } else if let Some(dir) = value("-L") {
        line.search_dirs.push(dir.into());
    } else if let Some(output) = value("-o") {
        line.output = output.into();
    } else if let Some(symbol) = value("-u") {
        line.required_symbols
            .push(symbol.to_string_lossy().into_owned());
    }
}

/// The arguments of an option and its value, if both are arguments.
fn together(option: &Range<usize>, value: &Range<usize>) -> Range<usize> {
    if option.is_empty() || value.is_empty() {
        return 0..0;
    }
    option.start..value.end
}

fn input(name: InputName, state: State, arguments: Range<usize>) -> Input {
    Input {
        name,
        whole_archive: state.whole_archive,
        prefer_static: state.prefer_static,
        arguments,
    }
}

/// The word without its one or two dashes; `None` for a file, also for `-`.
fn option_name(text: &OsString) -> Option<&OsStr> {
    let name = strip_prefix(text, "--").or_else(|| strip_prefix(text, "-"))?;
    (!name.is_empty()).then_some(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(line: &str) -> LinkLine {
        interpret(
            line.split_whitespace()
                .enumerate()
                .map(|(i, word)| Token::alone(&word.into(), i)),
        )
    }

    #[test]
    fn spellings_of_one_meaning() {
        for spelling in ["-o x", "-ox", "--output x", "--output=x"] {
            assert_eq!(read(spelling).output.to_str(), Some("x"), "{spelling}");
        }
        for spelling in ["-l m", "-lm", "--library m", "--library=m"] {
            let line = read(spelling);
            assert_eq!(
                line.inputs[0].name,
                InputName::Library("m".into()),
                "{spelling}"
            );
        }
        for spelling in ["-L d", "-Ld", "--library-path d", "-library-path=d"] {
            assert_eq!(
                read(spelling).search_dirs[0].to_str(),
                Some("d"),
                "{spelling}"
            );
        }
        for (spelling, dir) in [("-L=/d", "=/d"), ("--library-path==/d", "=/d")] {
            assert_eq!(
                read(spelling).search_dirs[0].to_str(),
                Some(dir),
                "{spelling}"
            );
        }
        for spelling in ["-u s", "-us", "--undefined=s", "-e s"] {
            assert_eq!(read(spelling).required_symbols, ["s"], "{spelling}");
        }
    }

    #[test]
    fn state_holds_where_it_stands() {
        let line = read("a.a --push-state --whole-archive -Bstatic b.a --pop-state c.a");
        let states: Vec<_> = line
            .inputs
            .iter()
            .map(|i| (i.whole_archive, i.prefer_static))
            .collect();
        assert_eq!(states, [(false, false), (true, true), (false, false)]);
    }

    #[test]
    fn values_are_no_inputs() {
        let line =
            read("-m elf_x86_64 -dynamic-linker /lib64/ld.so -z now -plugin p.so a.o -rpath /x");
        assert_eq!(line.inputs.len(), 1);
        assert_eq!(line.inputs[0].arguments, 8..9);
    }

    #[test]
    fn libraries_know_their_arguments() {
        let line = read("-lx -l y --library z --library=w");
        let arguments: Vec<_> = line.inputs.iter().map(|i| i.arguments.clone()).collect();
        assert_eq!(arguments, [0..1, 1..3, 3..5, 5..6]);
    }

    #[test]
    fn kinds_of_output() {
        assert_eq!(read("a.o").output_kind, OutputKind::Executable);
        assert_eq!(read("-shared a.o").output_kind, OutputKind::SharedLibrary);
        assert_eq!(read("-r a.o").output_kind, OutputKind::Relocatable);
        assert_eq!(read("a.o").output.to_str(), Some("a.out"));
    }
}
