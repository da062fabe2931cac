//! Text files that stand for libraries, as `libc.so` does: `INPUT` and `GROUP`
//! name what is linked in their place (GNU ld manual, "Commands Dealing with
//! Files").

use crate::options::strip_prefix;
use crate::request::InputName;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;

/// Commands that such files begin with. A text that begins otherwise is taken
/// for something else, a source file for instance.
const FIRST: &[&[u8]] = &[
    b"GROUP",
    b"INPUT",
    b"OUTPUT_ARCH",
    b"OUTPUT_FORMAT",
    b"SEARCH_DIR",
    b"TARGET",
];

/// The inputs that a linker script names, in order; `None` for what is no
/// linker script. Whether a library is only linked as needed makes no
/// difference to its device code.
pub fn inputs(text: &[u8]) -> Option<Vec<InputName>> {
    let mut words = Words(text).peekable();
    if !words.peek().is_some_and(|word| FIRST.contains(word)) {
        return None;
    }
    let mut inputs = Vec::new();
    while let Some(word) = words.next() {
        if !matches!(word, b"GROUP" | b"INPUT") || words.next_if_eq(&&b"("[..]).is_none() {
            continue;
        }
        let mut depth = 1;
        while depth > 0
            && let Some(word) = words.next()
        {
            match word {
                b"(" => depth += 1,
                b")" => depth -= 1,
                b"" | b"," | b"AS_NEEDED" => {}
                name => inputs.push(input(OsStr::from_bytes(name))),
            }
        }
    }
    Some(inputs)
}

fn input(name: &OsStr) -> InputName {
    match strip_prefix(name, "-l") {
        Some(library) => InputName::Library(library.to_owned()),
        None => InputName::File(name.into()),
    }
}

/// The words and signs of a script, without comments and quotes.
struct Words<'a>(&'a [u8]);

impl<'a> Iterator for Words<'a> {
    type Item = &'a [u8];

    fn next(&mut self) -> Option<&'a [u8]> {
        loop {
            self.0 = self.0.trim_ascii_start();
            let Some(rest) = self.0.strip_prefix(b"/*") else {
                break;
            };
            let end = memchr::memmem::find(rest, b"*/").map(|end| end + 2);
            self.0 = &rest[end.unwrap_or(rest.len())..];
        }
        if let Some(rest) = self.0.strip_prefix(b"\"") {
            let end = memchr::memchr(b'"', rest).unwrap_or(rest.len());
            self.0 = rest.get(end + 1..).unwrap_or_default();
            return Some(&rest[..end]);
        }
        let is_sign = |byte: &u8| b"(),;".contains(byte);
        let length = match self.0.first()? {
            sign if is_sign(sign) => 1,
            _ => {
                let ends = |byte: &u8| byte.is_ascii_whitespace() || is_sign(byte);
                self.0.iter().position(ends).unwrap_or(self.0.len())
            }
        };
        let (word, rest) = self.0.split_at(length);
        self.0 = rest;
        Some(word)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(text: &str) -> Option<Vec<String>> {
        let name = |input: InputName| match input {
            InputName::File(path) => path.display().to_string(),
            InputName::Library(name) => format!("-l{}", name.display()),
        };
        Some(inputs(text.as_bytes())?.into_iter().map(name).collect())
    }

    #[test]
    fn the_c_library_of_debian() {
        let script = "/* GNU ld script\n   Use the shared library. */\n\
             OUTPUT_FORMAT(elf64-x86-64)\n\
             GROUP ( /lib/libc.so.6 /usr/lib/libc_nonshared.a  AS_NEEDED ( /lib64/ld.so.2 ) )\n";
        let files = [
            "/lib/libc.so.6",
            "/usr/lib/libc_nonshared.a",
            "/lib64/ld.so.2",
        ];
        assert_eq!(named(script).unwrap(), files);
    }

    #[test]
    fn spellings() {
        let script = "INPUT(-lx,\"a b.a\" y.o)\nSEARCH_DIR(z) INPUT(AS_NEEDED(=w.a))";
        assert_eq!(named(script).unwrap(), ["-lx", "a b.a", "y.o", "=w.a"]);
    }

    #[test]
    fn other_texts_and_ends_without_warning() {
        for text in ["", "int main(void) { return 0; }", "/* INPUT(a.o)"] {
            assert_eq!(named(text), None, "{text}");
        }
        for text in [
            "INPUT",
            "INPUT(",
            "INPUT(\"",
            "GROUP(/*",
            "INPUT(AS_NEEDED(",
        ] {
            assert_eq!(named(text).unwrap(), [""; 0], "{text}");
        }
    }
}
