//! The file that says what a key has led to.

use super::digest::Digest;
use super::key::Key;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use std::io;

/// What a key has led to.
#[derive(Debug, Serialize, Deserialize)]
pub struct Record {
    /// The key.
    pub key: Key,
    /// The digest of the bytes that were made.
    pub content: Digest,
    /// How many they are.
    pub size: u64,
    /// What else came of the step; its form is the step's affair.
    pub details: serde_json::Value,
}

/// A value as JSON below a line with the digest of that JSON.
///
/// # Errors
/// If the value has no form in JSON.
pub fn seal(value: &impl Serialize) -> io::Result<Vec<u8>> {
    let json = serde_json::to_vec(value)?;
    let mut text = Digest::of(&json).to_string().into_bytes();
    text.push(b'\n');
    text.extend(json);
    Ok(text)
}

/// The value that [`seal`] was given; `None` if any bit of the text is another.
pub fn unseal<T: DeserializeOwned>(text: &[u8]) -> Option<T> {
    let end = text.iter().position(|byte| *byte == b'\n')?;
    let (digest, json) = (text.get(..end)?, text.get(end + 1..)?);
    if digest != Digest::of(json).as_str().as_bytes() {
        return None;
    }
    serde_json::from_slice(json).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_flipped_bit_and_no_lost_byte_goes_unseen() {
        let text = seal(&vec!["some", "words"]).unwrap();
        assert_eq!(unseal::<Vec<String>>(&text).unwrap(), ["some", "words"]);
        for position in 0..text.len() {
            assert!(unseal::<Vec<String>>(&text[..position]).is_none());
            for bit in 0..8 {
                let mut wrong = text.clone();
                wrong[position] ^= 1 << bit;
                assert!(unseal::<Vec<String>>(&wrong).is_none(), "byte {position}");
            }
        }
    }
}
