//! Digests: SHA-256, which every service has.

use crate::messages;
use sha2::{Digest as _, Sha256};
use std::fmt::{self, Write};

/// What bytes are known by: their SHA-256 and their number.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Digest {
    hash: String,
    size: u64,
}

impl Digest {
    /// The digest of these bytes.
    pub fn of(data: &[u8]) -> Self {
        let mut hash = String::with_capacity(64);
        for byte in Sha256::digest(data) {
            // Writing to a String doesn't fail.
            let _ = write!(hash, "{byte:02x}");
        }
        let size = data.len() as u64;
        Self { hash, size }
    }

    pub(crate) fn known(hash: &str, size: usize) -> Self {
        let (hash, size) = (hash.into(), size as u64);
        Self { hash, size }
    }

    pub(crate) fn size(&self) -> u64 {
        self.size
    }

    pub(crate) fn to_message(&self) -> messages::Digest {
        messages::Digest {
            hash: self.hash.clone(),
            size_bytes: self.size.cast_signed(),
        }
    }

    /// As a service writes it; whatever it is, what is fetched by it is compared.
    pub(crate) fn from_message(message: &messages::Digest) -> Self {
        Self {
            hash: message.hash.clone(),
            size: message.size_bytes.cast_unsigned(),
        }
    }
}

/// As resource names have it.
impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.hash, self.size)
    }
}
