//! What a result depends on.

use super::digest::Digest;
use serde::{Deserialize, Serialize};

/// Everything that decides about the result of a step, part by part, so that a
/// miss can be explained. It holds no paths and no times: the same work in
/// another folder has the same key.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Key(Vec<Part>);

/// One thing that decides.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Part {
    /// What it is, for people: `ptxas`, `optimisation level`.
    name: String,
    /// What it is like: a word or a digest.
    value: String,
    /// Where it was found, for messages of this link only.
    #[serde(skip)]
    origin: String,
}

impl PartialEq for Part {
    fn eq(&self, other: &Self) -> bool {
        (&self.name, &self.value) == (&other.name, &other.value)
    }
}

impl Eq for Part {}

impl Key {
    /// Adds a part. Its name must differ from those of all others.
    pub fn add(&mut self, name: impl Into<String>, value: impl Into<String>) {
        self.add_found(name, value, "");
    }

    /// As [`Self::add`], with where the part was found. That does not count.
    pub fn add_found(
        &mut self,
        name: impl Into<String>,
        value: impl Into<String>,
        origin: impl Into<String>,
    ) {
        self.0.push(Part {
            name: name.into(),
            value: value.into(),
            origin: origin.into(),
        });
    }

    /// The digest of all parts.
    pub fn digest(&self) -> Digest {
        let texts = self.0.iter().flat_map(|part| [&part.name, &part.value]);
        Digest::of_list(texts.map(|text| text.as_bytes()))
    }

    /// The names of the parts that are not the same in `other`, each with where this
    /// key has it from.
    pub fn differences(&self, other: &Self) -> Vec<String> {
        let own = self.0.iter().filter(|part| !other.0.contains(part));
        let mut names: Vec<String> = own
            .map(|Part { name, origin, .. }| match origin.as_str() {
                "" => name.clone(),
                origin => format!("{name} ('{origin}')"),
            })
            .collect();
        let has_name = |part: &&Part| self.0.iter().any(|own| own.name == part.name);
        let gone = other.0.iter().filter(|part| !has_name(part));
        names.extend(gone.map(|part| part.name.clone()));
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
        let mut third = key(&[("a", "1"), ("c", "3")]);
        third.add_found("b", "4", "b.o");
        assert_eq!(third.differences(&first), ["b ('b.o')"]);
    }
}
