//! A line as the linker will see it: one token after the other, whether it
//! stood alone, in `-Wl,…` or behind `-Xlinker`.

use std::ffi::OsString;

/// One word for the linker.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Token {
    /// The word.
    pub text: OsString,
    /// The position of the argument that is this word and nothing else.
    pub argument: Option<usize>,
}

impl Token {
    /// A word that is a whole argument.
    pub fn alone(text: &OsString, argument: usize) -> Self {
        Self {
            text: text.clone(),
            argument: Some(argument),
        }
    }

    /// A word that is part of an argument.
    pub fn part(text: impl Into<OsString>) -> Self {
        Self {
            text: text.into(),
            argument: None,
        }
    }
}
