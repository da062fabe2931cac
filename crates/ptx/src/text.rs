//! What PTX text says about itself at its head (PTX ISA 8.8, "PTX Module
//! Directives").

use crate::PtxVersion;
use crate::tokens::{Token, Tokens};

/// The directives that a module starts with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Head<'a> {
    /// The version of the PTX language.
    pub version: PtxVersion,
    /// The architecture that the module needs at least, such as `sm_90a`, which
    /// need not be one that exists.
    pub target: &'a str,
    /// Addresses have 64 bits, as they have unless `.address_size` says 32.
    pub is_64_bit: bool,
}

/// Whether the text starts as PTX has to, with `.version`.
pub fn is_ptx(text: &[u8]) -> bool {
    Tokens::new(text).next() == Some(Token::Word(b".version"))
}

/// The value of the `.version` directive; `None` if the text does not start with
/// one that can be read.
pub fn version(text: &[u8]) -> Option<PtxVersion> {
    PtxVersion::parse(value_of(&mut Tokens::new(text), ".version")?)
}

/// Reads `.version` and `.target`, which have to be a module's first two
/// directives, and `.address_size`, which may follow.
///
/// # Errors
/// The name of the directive that is missing or malformed.
pub fn head(text: &[u8]) -> Result<Head<'_>, &'static str> {
    let mut tokens = Tokens::new(text);
    let version = value_of(&mut tokens, ".version")
        .and_then(PtxVersion::parse)
        .ok_or(".version")?;
    let target = value_of(&mut tokens, ".target").ok_or(".target")?;
    // What follows on `.target`, such as `debug`, is not of interest.
    let mut rest = words(tokens).skip_while(|word| !word.starts_with('.'));
    let has_size = rest.next() == Some(".address_size");
    let is_64_bit = !(has_size && rest.next() == Some("32"));
    Ok(Head {
        version,
        target,
        is_64_bit,
    })
}

/// The word behind the next one, if that is `directive`.
fn value_of<'a>(tokens: &mut Tokens<'a>, directive: &str) -> Option<&'a str> {
    let mut words = words(tokens.by_ref());
    words.next().filter(|word| *word == directive)?;
    words.next()
}

/// The words; ends early at what is no text.
fn words<'a>(tokens: impl Iterator<Item = Token<'a>>) -> impl Iterator<Item = &'a str> {
    let words = tokens.filter_map(|token| match token {
        Token::Word(word) => Some(word),
        Token::Punctuation(_) => None,
    });
    words.map_while(|word| std::str::from_utf8(word).ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_and_options_of_the_target_do_not_matter() {
        let text = b"//\n/* .version 1.0 */ .version 7.8// .target sm_20\n\t.target sm_90a, \
                     texmode_independent,debug .address_size 32\n.visible .entry k() { ret; }";
        let expected = Head {
            version: PtxVersion::new(78),
            target: "sm_90a",
            is_64_bit: false,
        };
        assert_eq!(head(text), Ok(expected));
        assert_eq!(version(text), Some(PtxVersion::new(78)));
        assert!(is_ptx(text) && !is_ptx(b".target sm_90") && !is_ptx(b".versions 7.8"));
    }

    #[test]
    fn what_is_missing_is_named() {
        let missing = |text: &str| head(text.as_bytes()).err();
        assert_eq!(missing(""), Some(".version"));
        assert_eq!(missing(".version eight .target sm_90"), Some(".version"));
        assert_eq!(missing(".target sm_90"), Some(".version"));
        assert_eq!(missing(".version 8.8\n.visible"), Some(".target"));
        assert_eq!(missing(".version 8.8 /* .target sm_90"), Some(".target"));
        assert_eq!(missing(".version 8.8\n.target sm_90"), None);
    }
}
