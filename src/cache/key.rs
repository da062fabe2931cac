//! What a result depends on.

use super::digest::Digest;
use serde::{Deserialize, Serialize};

/// Everything that decides about the result of a step, part by part, so that a
/// miss can be explained. It holds no paths and no times: the same work in
/// another folder has the same key.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Key(Vec<Part>);

/// One thing that decides.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Part {
    /// What it is, for people: `ptxas`, `optimisation level`.
    name: String,
    /// What it is like: a word or a digest.
    value: String,
}

impl Key {
    /// Adds a part. Its name must differ from those of all others.
    pub fn add(&mut self, name: impl Into<String>, value: impl Into<String>) {
        self.0.push(Part {
            name: name.into(),
            value: value.into(),
        });
    }

    /// The digest of all parts.
    pub fn digest(&self) -> Digest {
        let texts = self.0.iter().flat_map(|part| [&part.name, &part.value]);
        Digest::of_list(texts.map(|text| text.as_bytes()))
    }

    /// The names of the parts that are not the same in `other`.
    pub fn differences(&self, other: &Self) -> Vec<String> {
        let lacks = |key: &Self, part: &Part| !key.0.contains(part);
        let mut names: Vec<String> = self
            .0
            .iter()
            .filter(|part| lacks(other, part))
            .map(|part| part.name.clone())
            .collect();
        for part in other.0.iter().filter(|part| lacks(self, part)) {
            if !names.contains(&part.name) {
                names.push(part.name.clone());
            }
        }
        names
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(parts: &[(&str, &str)]) -> Key {
        let mut key = Key::default();
        for (name, value) in parts {
            key.add(*name, *value);
        }
        key
    }

    #[test]
    fn every_part_counts() {
        let first = key(&[("a", "1"), ("b", "2")]);
        assert_eq!(first.digest(), key(&[("a", "1"), ("b", "2")]).digest());
        for other in [
            key(&[("a", "1")]),
            key(&[("a", "1"), ("b", "3")]),
            key(&[("b", "2"), ("a", "1")]),
            key(&[("a", "1"), ("c", "2")]),
        ] {
            assert_ne!(first.digest(), other.digest(), "{other:?}");
        }
    }

    #[test]
    fn differences_are_named_once() {
        let first = key(&[("a", "1"), ("b", "2"), ("c", "3")]);
        let second = key(&[("a", "1"), ("b", "0"), ("d", "4")]);
        assert_eq!(first.differences(&second), ["b", "c", "d"]);
        assert!(first.differences(&first).is_empty());
    }
}
