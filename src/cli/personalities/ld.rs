//! A linker's line, as compiler drivers and `linker-flavor = ld` send it.

use super::cc::is_lld;
use crate::cli::tokens::Token;
use crate::cli::{UsageError, ld_line, own_options};
use crate::options::Options;
use crate::request::{Request, Style};
use crate::wrapper_request::WrapperRequest;
use std::ffi::OsString;

/// Reads an ld line, response files already replaced. `-flavor gnu` up front,
/// which rustc gives to a linker called `lld`, says that lld's generic driver
/// is meant.
///
/// # Errors
/// [`UsageError`] when one of offlink's own options makes no sense.
pub fn parse(arguments: Vec<OsString>, mut options: Options) -> Result<Request, UsageError> {
    let arguments = own_options::take_out(arguments, &mut options)?;
    let style = match arguments.first() {
        Some(first) if first == "-flavor" => Style::LldFlavor,
        _ => Style::Ld,
    };
    let skipped = if style == Style::LldFlavor { 2 } else { 0 };
    let words = arguments.iter().enumerate().skip(skipped);
    let mut line = ld_line::interpret(words.map(|(position, word)| Token::alone(word, position)));
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
        host_triple: None,
        wrapper: WrapperRequest::default(),
    })
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
    fn a_named_lld_is_noticed() {
        let request = read("--offlink-host-linker=/usr/bin/ld.lld-22 a.o");
        assert_eq!(request.style, Style::Ld);
        assert!(request.line.names_lld);
        assert_eq!(request.arguments, ["a.o"]);
    }
}
