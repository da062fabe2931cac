//! A line as the linker will see it: one token after the other, whether it
//! stood alone, in `-Wl,…` or behind `-Xlinker`.

use std::ffi::OsString;
use std::ops::Range;

/// One word for the linker.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Token {
    /// The word.
    pub text: OsString,
    /// The position of the argument that is this word and nothing else; empty
    /// for a part of one.
    pub arguments: Range<usize>,
}

impl Token {
    /// A word that is a whole argument.
    pub fn alone(text: &OsString, argument: usize) -> Self {
        Self {
            text: text.clone(),
            arguments: argument..argument + 1,
        }
    }

    /// A word that is part of an argument.
    pub fn part(text: impl Into<OsString>) -> Self {
        Self {
            text: text.into(),
            arguments: 0..0,
        }
    }
}
