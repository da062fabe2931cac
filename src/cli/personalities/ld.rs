//! A linker's line, as compiler drivers and `linker-flavor = ld` send it.

use super::cc::is_lld;
use crate::cli::tokens::Token;
use crate::cli::{UsageError, ld_line, ld64_line, own_options};
use crate::options::Options;
use crate::request::{Request, Style};
use crate::wrapper_request::WrapperRequest;
use std::ffi::OsString;
use std::path::Path;

/// Reads an ld line, response files already replaced. `-flavor gnu` up front,
/// which rustc gives to a linker called `lld`, says that lld's generic driver
/// is meant. Lines for macOS have other options; they are known by those, or by
/// the flavor `darwin`.
///
/// # Errors
/// [`UsageError`] when one of offlink's own options makes no sense.
pub fn parse(arguments: Vec<OsString>, mut options: Options) -> Result<Request, UsageError> {
    let mut arguments = own_options::take_out(arguments, &mut options)?;
    let named = options.host_triple.as_deref();
    let is_for_macos = named.is_some_and(ld64_line::is_macos) || ld64_line::is_one(&arguments);
    let style = match arguments.first() {
        Some(first) if first == "-flavor" => Style::LldFlavor,
        _ if is_for_macos => Style::Ld64,
        _ => Style::Ld,
    };
    if is_for_macos {
        arguments = ld64_line::expand_file_lists(arguments);
    }
    let skipped = if style == Style::LldFlavor { 2 } else { 0 };
    let host_triple = ld64_line::host_triple(&arguments).filter(|_| is_for_macos);
    let words = arguments.iter().enumerate().skip(skipped);
    let words = words.map(|(position, word)| Token::alone(word, position));
    let mut line = if is_for_macos {
        ld64_line::interpret(words)
    } else {
        ld_line::interpret(words)
    };
    line.names_lld = style == Style::LldFlavor
        || options
            .device
            .tools
            .host_linker
            .as_deref()
            .is_some_and(is_lld);
    Ok(Request {
        style,
        arguments,
        line,
        options,
        host_triple,
        wrapper: WrapperRequest::default(),
    })
}

/// As [`parse`], for a program called `name`. For a linker called `ld.lld` rustc
/// names no flavor, and only lld will do unless another linker is named.
///
/// # Errors
/// As [`parse`].
pub fn parse_as(
    name: &str,
    mut arguments: Vec<OsString>,
    options: Options,
) -> Result<Request, UsageError> {
    let has_flavor = arguments.first().is_some_and(|first| first == "-flavor");
    if is_lld(Path::new(name)) && !has_flavor && options.device.tools.host_linker.is_none() {
        arguments.splice(0..0, ["-flavor", "gnu"].map(OsString::from));
    }
    parse(arguments, options)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(line: &str) -> Request {
        let arguments = line.split_whitespace().map(OsString::from).collect();
        parse(arguments, Options::default()).unwrap()
    }

    #[test]
    fn flavor_is_no_input() {
        let request = read("-flavor gnu a.o -o x");
        assert_eq!(request.style, Style::LldFlavor);
        assert_eq!(request.line.inputs.len(), 1);
        assert_eq!(request.line.inputs[0].arguments, 2..3);
        assert!(request.line.names_lld);
        assert_eq!(request.arguments.len(), 5);
    }

    #[test]
    fn the_name_of_lld_is_a_flavor() {
        let read = |name, options: &Options| {
            parse_as(name, vec!["a.o".into()], options.clone())
                .unwrap()
                .arguments
        };
        let mut options = Options::default();
        assert_eq!(read("ld.lld-22", &options), ["-flavor", "gnu", "a.o"]);
        assert_eq!(read("ld", &options), ["a.o"]);
        options.device.tools.host_linker = Some("ld.bfd".into());
        assert_eq!(read("ld.lld", &options), ["a.o"]);
    }

    #[test]
    fn a_named_lld_is_noticed() {
        let request = read("--offlink-host-linker=/usr/bin/ld.lld-22 a.o");
        assert_eq!(request.style, Style::Ld);
        assert!(request.line.names_lld);
        assert_eq!(request.arguments, ["a.o"]);
    }
}
