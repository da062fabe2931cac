//! SHA-256, by which everything in the cache is known: it is what the Remote
//! Execution API's servers use, and processors have instructions for it.

use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};
use std::fmt;

/// A SHA-256 digest as 64 hexadecimal digits in lower case.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String")]
pub struct Digest(String);

impl Digest {
    /// The digest of these bytes.
    pub fn of(data: &[u8]) -> Self {
        Self::finish(Sha256::new_with_prefix(data))
    }

    /// The digest of a list of texts. Each goes in with its length, so that no
    /// other list gives the same bytes.
    pub fn of_list<'a>(texts: impl IntoIterator<Item = &'a [u8]>) -> Self {
        let mut hasher = Sha256::new();
        for text in texts {
            hasher.update((text.len() as u64).to_le_bytes());
            hasher.update(text);
        }
        Self::finish(hasher)
    }

    fn finish(hasher: Sha256) -> Self {
        use std::fmt::Write;
        let mut text = String::with_capacity(64);
        for byte in hasher.finalize() {
            // Writing to a String doesn't fail.
            let _ = write!(text, "{byte:02x}");
        }
        Self(text)
    }

    /// The digits.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// Digests become file names, so that nothing else may be taken for one.
impl TryFrom<String> for Digest {
    type Error = &'static str;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        let is_digit = |byte: u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte);
        if text.len() == 64 && text.bytes().all(is_digit) {
            Ok(Self(text))
        } else {
            Err("no SHA-256 digest")
        }
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_digest_of_the_standard() {
        // FIPS 180-4's example.
        assert_eq!(
            Digest::of(b"abc").as_str(),
            "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
        );
    }

    #[test]
    fn lists_with_the_same_letters_differ() {
        let one = Digest::of_list([&b"ab"[..], b"c"]);
        assert_ne!(one, Digest::of_list([&b"a"[..], b"bc"]));
        assert_ne!(one, Digest::of_list([&b"abc"[..]]));
    }

    #[test]
    fn only_digests_are_digests() {
        let digest = Digest::of(b"");
        assert_eq!(Digest::try_from(digest.as_str().to_owned()), Ok(digest));
        assert!(Digest::try_from("../../x".to_owned()).is_err());
        assert!(Digest::try_from("A".repeat(64)).is_err());
    }
}
