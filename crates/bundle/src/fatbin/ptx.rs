//! The directives that a PTX module starts with.

use super::Arch;

/// What the head of a PTX module says about it.
pub(super) struct Header {
    /// The version of the PTX language, major before minor.
    pub(super) version: (u16, u16),
    /// The architecture that the module needs at least.
    pub(super) target: Arch,
    pub(super) is_64_bit: bool,
}

/// Reads `.version` and `.target`, which have to be a module's first two
/// directives, and `.address_size`, which may follow (PTX ISA 8.8, "PTX Module
/// Directives"). Names the directive that is missing or malformed.
pub(super) fn header(text: &[u8]) -> Result<Header, &'static str> {
    let mut words = Words { rest: text };
    let version = words
        .value_of(".version")
        .and_then(|version| version.split_once('.'))
        .and_then(|(major, minor)| Some((major.parse().ok()?, minor.parse().ok()?)))
        .ok_or(".version")?;
    let target = words
        .value_of(".target")
        .and_then(|target| target.parse().ok())
        .ok_or(".target")?;
    // What follows on `.target`, such as `debug`, is not of interest.
    let mut rest = words.skip_while(|word| !word.starts_with('.'));
    let has_size = rest.next() == Some(".address_size");
    let is_64_bit = !(has_size && rest.next() == Some("32"));
    Ok(Header {
        version,
        target,
        is_64_bit,
    })
}

/// The words of PTX, which white space, commas and comments separate. Ends
/// early at what is no text.
struct Words<'a> {
    rest: &'a [u8],
}

impl<'a> Words<'a> {
    /// The word behind the next one, if that is `directive`.
    fn value_of(&mut self, directive: &str) -> Option<&'a str> {
        self.next().filter(|word| *word == directive)?;
        self.next()
    }

    /// Goes on behind the next `end`, or to the end of the text without one.
    fn skip_past(&mut self, end: &[u8]) {
        let mut windows = self.rest.windows(end.len());
        let found = windows.position(|window| window == end);
        self.rest = found.map_or(&[], |start| &self.rest[start + end.len()..]);
    }
}

impl<'a> Iterator for Words<'a> {
    type Item = &'a str;

    fn next(&mut self) -> Option<&'a str> {
        loop {
            let first = *self.rest.first()?;
            if self.rest.starts_with(b"//") {
                self.skip_past(b"\n");
            } else if self.rest.starts_with(b"/*") {
                self.rest = &self.rest[2..];
                self.skip_past(b"*/");
            } else if is_separator(first) {
                self.rest = &self.rest[1..];
            } else {
                // A slash inside of a word starts a comment.
                let is_end = |byte: &u8| is_separator(*byte) || *byte == b'/';
                let end = self.rest.iter().skip(1).position(is_end);
                let end = end.map_or(self.rest.len(), |end| end + 1);
                let (word, rest) = self.rest.split_at(end);
                self.rest = rest;
                return std::str::from_utf8(word).ok();
            }
        }
    }
}

fn is_separator(byte: u8) -> bool {
    byte.is_ascii_whitespace() || byte == b','
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_and_options_of_the_target_do_not_matter() {
        let text = b"//\n/* .version 1.0 */ .version 7.8// .target sm_20\n\t.target sm_90a, \
                     texmode_independent,debug .address_size 32\n.visible .entry k() { ret; }";
        let header = header(text).unwrap_or_else(|missing| panic!("{missing}"));
        assert_eq!(header.version, (7, 8));
        assert_eq!(header.target.to_string(), "sm_90a");
        assert!(!header.is_64_bit);
    }

    #[test]
    fn what_is_missing_is_named() {
        let missing = |text: &str| header(text.as_bytes()).err();
        assert_eq!(missing(""), Some(".version"));
        assert_eq!(missing(".version eight .target sm_90"), Some(".version"));
        assert_eq!(missing(".target sm_90"), Some(".version"));
        assert_eq!(missing(".version 8.8\n.target gfx900"), Some(".target"));
        assert_eq!(missing(".version 8.8 /* .target sm_90"), Some(".target"));
        assert_eq!(missing(".version 8.8\n.target sm_90"), None);
    }
}
