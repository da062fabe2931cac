//! Response files: `@FILE` stands for the arguments in FILE.

use crate::files;
use crate::mapped_file::{self, ReadError};
use crate::options::strip_prefix;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::Path;

/// How deep response files may name others; deeper ones are most likely a
/// file that names itself.
const MAX_DEPTH: usize = 16;

/// Replaces every `@FILE` whose file can be read by the arguments in it, also
/// inside such files. One that can't be read stays as it is, as in GNU tools
/// and LLVM.
pub fn expand(arguments: Vec<OsString>) -> Vec<OsString> {
    let mut expanded = Vec::with_capacity(arguments.len());
    for argument in arguments {
        expand_one(argument, 0, &mut expanded);
    }
    expanded
}

/// Replaces every `--params=FILE` by the lines of that file, each an argument as it
/// is: what Bazel writes in its format `multiline`.
///
/// # Errors
/// [`ReadError`] when a file can't be read: nothing else has this option.
pub fn expand_lines(arguments: Vec<OsString>) -> Result<Vec<OsString>, ReadError> {
    let mut expanded = Vec::with_capacity(arguments.len());
    for argument in arguments {
        let Some(name) = strip_prefix(&argument, "--params=") else {
            expanded.push(argument);
            continue;
        };
        let text = mapped_file::map(Path::new(name))?;
        let lines = text.strip_suffix(b"\n").unwrap_or(&text);
        if !text.is_empty() {
            let lines = lines.split(|byte| *byte == b'\n');
            expanded.extend(lines.map(|line| OsStr::from_bytes(line).to_owned()));
        }
    }
    Ok(expanded)
}

fn expand_one(argument: OsString, depth: usize, expanded: &mut Vec<OsString>) {
    let contents = match argument.as_bytes() {
        [b'@', name @ ..] if depth < MAX_DEPTH => {
            let path = Path::new(OsStr::from_bytes(name));
            let text = std::fs::read(path).ok();
            text.map(|text| {
                files::read(path);
                split(path, &text)
            })
        }
        _ => None,
    };
    match contents {
        None => expanded.push(argument),
        Some(arguments) => {
            for argument in arguments {
                expand_one(argument, depth + 1, expanded);
            }
        }
    }
}

/// rustc names its file `linker-arguments` and writes one argument a line with
/// backslash and space escaped, quotes as they are (seen with rustc 1.95).
fn split(path: &Path, text: &[u8]) -> Vec<OsString> {
    if path.file_name() == Some(OsStr::new("linker-arguments")) {
        split_lines(text)
    } else {
        split_gnu(text)
    }
}

fn split_lines(text: &[u8]) -> Vec<OsString> {
    text.split(|byte| *byte == b'\n')
        .filter(|line| !line.is_empty())
        .map(|line| {
            let mut argument = Vec::with_capacity(line.len());
            let mut bytes = line.iter();
            while let Some(byte) = bytes.next() {
                let byte = if *byte == b'\\' {
                    bytes.next().unwrap_or(byte)
                } else {
                    byte
                };
                argument.push(*byte);
            }
            OsString::from_vec(argument)
        })
        .collect()
}

/// GNU quoting: white space separates, a backslash takes the next byte as it
/// is, also within single or double quotes.
fn split_gnu(text: &[u8]) -> Vec<OsString> {
    let mut arguments = Vec::new();
    let mut current: Option<Vec<u8>> = None;
    let mut quote: Option<u8> = None;
    let mut bytes = text.iter().copied();
    while let Some(byte) = bytes.next() {
        match byte {
            b'\\' => {
                if let Some(next) = bytes.next() {
                    current.get_or_insert_default().push(next);
                }
            }
            _ if Some(byte) == quote => quote = None,
            b'\'' | b'"' if quote.is_none() => {
                quote = Some(byte);
                current.get_or_insert_default();
            }
            _ if quote.is_none() && byte.is_ascii_whitespace() => {
                arguments.extend(current.take().map(OsString::from_vec));
            }
            _ => current.get_or_insert_default().push(byte),
        }
    }
    arguments.extend(current.map(OsString::from_vec));
    arguments
}

/// The arguments as the text of a response file that GNU ld, lld, gcc and
/// clang read back unchanged.
pub fn quote(arguments: &[OsString]) -> Vec<u8> {
    let mut text = Vec::new();
    for argument in arguments {
        if argument.is_empty() {
            text.extend_from_slice(b"\"\"");
        }
        for byte in argument.as_bytes() {
            if byte.is_ascii_whitespace() || matches!(byte, b'\\' | b'\'' | b'"') {
                text.push(b'\\');
            }
            text.push(*byte);
        }
        text.push(b'\n');
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gnu_quoting() {
        let text = b"a 'b c'  \"d\\\"e\"\nf\\ g '' h'i'";
        assert_eq!(split_gnu(text), ["a", "b c", "d\"e", "f g", "", "hi"]);
    }

    #[test]
    fn lines_are_taken_as_they_are() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("params");
        std::fs::write(&file, "-o\na b\\'\n\nlast\n").unwrap();
        let option = format!("--params={}", file.display());
        let expanded = expand_lines(vec!["link".into(), option.into()]).unwrap();
        assert_eq!(expanded, ["link", "-o", "a b\\'", "", "last"]);
        let missing = expand_lines(vec!["--params=/no/such".into()]).unwrap_err();
        assert!(missing.to_string().contains("/no/such"));
    }

    #[test]
    fn rustc_lines_keep_quotes() {
        assert_eq!(
            split_lines(b"-o\na\\ b\nit's\n\\\\x\n"),
            ["-o", "a b", "it's", "\\x"]
        );
    }

    #[test]
    fn quoting_comes_back() {
        let arguments: Vec<OsString> = ["plain", "a b", "q\"'s", "back\\slash", "", "line\nbreak"]
            .map(OsString::from)
            .into();
        assert_eq!(split_gnu(&quote(&arguments)), arguments);
    }

    #[test]
    fn files_nest_and_missing_ones_stay() {
        let dir = tempfile::tempdir().unwrap();
        let inner = dir.path().join("inner.rsp");
        let outer = dir.path().join("linker-arguments");
        std::fs::write(&inner, "x 'y z'").unwrap();
        std::fs::write(&outer, format!("-o\n@{}\n", inner.display())).unwrap();
        let at = |path: &Path| OsString::from(format!("@{}", path.display()));
        let expanded = expand(vec![at(&outer), "@/no/such/file".into()]);
        assert_eq!(expanded, ["-o", "x", "y z", "@/no/such/file"]);
    }

    #[test]
    fn a_file_that_names_itself_ends() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("loop.rsp");
        let at = OsString::from(format!("@{}", file.display()));
        std::fs::write(&file, at.as_bytes()).unwrap();
        assert_eq!(expand(vec![at.clone()]), [at]);
    }
}
