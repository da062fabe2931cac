//! Names in PTX assembly, of which only the outermost level is looked at.

use std::collections::BTreeSet;

use offlink_ptx::tokens::{Token, Tokens};

/// The names that a PTX module defines.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct PtxSymbols {
    pub(super) kernels: BTreeSet<String>,
    /// The kernels and the variables in global or constant memory.
    pub(super) all: BTreeSet<String>,
}

/// Finds `.entry NAME` and the variables declared with `.global` or `.const`.
/// A module with several declarations of one kernel has it once.
pub(super) fn symbols(image: &[u8]) -> PtxSymbols {
    let mut found = PtxSymbols::default();
    let mut depth = 0_usize;
    let mut declaration = Declaration::default();
    for token in Tokens::new(image) {
        match token {
            Token::Punctuation(b'{' | b'(') => {
                declaration.end_of_name(&mut found);
                depth += 1;
            }
            Token::Punctuation(b'}' | b')') => {
                depth = depth.saturating_sub(1);
                // The end of a body; that of an initial value is its semicolon.
                if depth == 0 && token == Token::Punctuation(b'}') && !declaration.is_variable {
                    declaration = Declaration::default();
                }
            }
            _ if depth > 0 => {}
            Token::Punctuation(b';') => {
                declaration.end_of_name(&mut found);
                declaration = Declaration::default();
            }
            Token::Punctuation(b'[' | b'=') => {
                declaration.end_of_name(&mut found);
                declaration.has_value = true;
            }
            Token::Punctuation(b',') => {
                declaration.end_of_name(&mut found);
                declaration.has_value = false;
            }
            Token::Punctuation(_) => {}
            Token::Word(word) => declaration.add(word),
        }
    }
    found
}

/// What is known of the statement being read.
#[derive(Default)]
struct Declaration<'a> {
    is_entry: bool,
    is_variable: bool,
    is_extern: bool,
    /// The last word that is no directive.
    name: Option<&'a [u8]>,
    /// The name is behind: what follows is an array size or an initial value.
    has_value: bool,
}

impl<'a> Declaration<'a> {
    fn add(&mut self, word: &'a [u8]) {
        match word {
            b".entry" => self.is_entry = true,
            b".global" | b".const" => self.is_variable = true,
            b".extern" => self.is_extern = true,
            // These have no semicolon, so that a declaration may follow at once.
            b".version" | b".target" | b".address_size" | b".file" | b".section" => {
                *self = Declaration::default();
            }
            _ if word.starts_with(b".") || self.has_value => {}
            // A number, such as that of `.align 8`.
            _ if word.first().is_some_and(u8::is_ascii_digit) => {}
            _ => self.name = Some(word),
        }
    }

    /// What could be the end of a name was met.
    fn end_of_name(&mut self, found: &mut PtxSymbols) {
        let is_wanted = (self.is_entry || self.is_variable) && !self.is_extern;
        let name = self.name.take().filter(|_| is_wanted);
        let Some(Ok(name)) = name.map(std::str::from_utf8) else {
            return;
        };
        if self.is_entry {
            found.kernels.insert(name.to_owned());
        }
        found.all.insert(name.to_owned());
        // Parameters and what comes behind them are no names of symbols.
        self.has_value = true;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(text: &str) -> Vec<String> {
        symbols(text.as_bytes()).all.into_iter().collect()
    }

    #[test]
    fn variables_of_every_shape_are_found() {
        assert_eq!(all(".global .align 4 .b8 a[16];"), ["a"]);
        assert_eq!(
            all(".const .u32 a = 3; .global .u64 b = generic(a);"),
            ["a", "b"]
        );
        assert_eq!(
            all(".global .v2 .u32 a[2] = {{1, x}, {3, y}}; .global .f32 b;"),
            ["a", "b"]
        );
        assert_eq!(all(".global .attribute(.managed) .u32 a, b;"), ["a", "b"]);
        assert_eq!(all(".extern .global .u32 a; .shared .u32 b;"), [""; 0]);
        assert_eq!(
            all("// .global .u32 a;\n/* .global .u32 b; */ .global .u32 c;"),
            ["c"]
        );
    }

    #[test]
    fn what_is_inside_of_functions_is_not() {
        let text = ".version 8.0\n.target sm_80, debug\n.address_size 64\n\
                    .visible .func (.param .b32 r) f(.param .b32 p) { .reg .b32 a; ret; }\n\
                    .visible .entry k(.param .u64 .ptr .global .align 4 p) .maxntid 32, 1, 1\n\
                    { { .global .u32 local; } ld.global.u32 a, [b]; ret; }\n\
                    .file 1 \"a.cu\"\n.global .u32 g;";
        let found = symbols(text.as_bytes());
        assert_eq!(found.kernels, BTreeSet::from(["k".to_owned()]));
        assert_eq!(all(text), ["g", "k"]);
    }
}
