//! PTX text as directives, names, numbers and punctuation.

/// One piece of PTX text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Token<'a> {
    /// A directive, a name or a number, as its bytes; `7.8` and `sm_90a` are one.
    Word(&'a [u8]),
    /// Any other byte that is not white space.
    Punctuation(u8),
}

/// The tokens of PTX text, without its comments and strings. Bytes that are no
/// text are punctuation, so that any input will do.
#[derive(Debug, Clone)]
pub struct Tokens<'a> {
    rest: &'a [u8],
}

impl<'a> Tokens<'a> {
    /// Starts at the beginning of `text`.
    pub fn new(text: &'a [u8]) -> Self {
        Self { rest: text }
    }

    /// Goes on behind the next `end`, or to the end of the text without one.
    fn skip_past(&mut self, end: &[u8]) {
        let found = self
            .rest
            .windows(end.len())
            .position(|window| window == end);
        self.rest = found.map_or(&[], |start| &self.rest[start + end.len()..]);
    }
}

impl<'a> Iterator for Tokens<'a> {
    type Item = Token<'a>;

    fn next(&mut self) -> Option<Token<'a>> {
        loop {
            let first = *self.rest.first()?;
            if self.rest.starts_with(b"//") {
                self.skip_past(b"\n");
            } else if self.rest.starts_with(b"/*") {
                self.rest = &self.rest[2..];
                self.skip_past(b"*/");
            } else if first == b'"' {
                self.rest = &self.rest[1..];
                self.skip_past(b"\"");
            } else if is_word(first) {
                let end = self.rest.iter().position(|byte| !is_word(*byte));
                let (word, rest) = self.rest.split_at(end.unwrap_or(self.rest.len()));
                self.rest = rest;
                return Some(Token::Word(word));
            } else {
                self.rest = &self.rest[1..];
                if !first.is_ascii_whitespace() {
                    return Some(Token::Punctuation(first));
                }
            }
        }
    }
}

/// Whether a byte may be in a directive or a name (PTX ISA 8.8, "Identifiers").
fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'$' | b'%' | b'.')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_and_strings_are_no_tokens() {
        let text = b"a/*.b*/ .c// d\n\"e\"f,7.8 \xff/";
        let tokens: Vec<Token<'_>> = Tokens::new(text).collect();
        let word = |text: &'static str| Token::Word(text.as_bytes());
        let expected = [
            word("a"),
            word(".c"),
            word("f"),
            Token::Punctuation(b','),
            word("7.8"),
            Token::Punctuation(0xff),
            Token::Punctuation(b'/'),
        ];
        assert_eq!(tokens, expected);
        assert_eq!(Tokens::new(b"/* open \"").next(), None);
    }
}
