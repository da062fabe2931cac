//! Bundle entry IDs: offload kind, triple and target ID in one string.

use std::fmt;

/// How many components a triple has in an ID: architecture, vendor, operating
/// system and environment, of which the last may be empty.
const TRIPLE_COMPONENTS: usize = 4;

/// The parts of a bundle entry ID.
///
/// Displayed, it is the ID in the form that clang-offload-bundler 22.1.8 writes:
/// `<kind>-<triple>-<target ID>`, with a triple of four components.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Id<'a> {
    /// `host`, `hip` (clang-linker-wrapper), `hipv4` (Clang's own HIP driver) or
    /// another offload kind.
    pub kind: &'a str,
    /// The triple, such as `amdgcn-amd-amdhsa` or `x86_64-unknown-linux-gnu`.
    /// LLVM normalises triples before it writes them; offlink does not, but
    /// appends what is missing to four components.
    pub triple: &'a str,
    /// The target ID, such as `gfx90a:xnack+`; empty for a host.
    pub target: &'a str,
}

/// The text is no bundle entry ID.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is no bundle entry ID; they are written like hip-amdgcn-amd-amdhsa--gfx90a")]
pub struct IdError(String);

impl<'a> Id<'a> {
    /// The ID of the empty entry for the host with this triple, which comes
    /// first in every bundle.
    pub fn host(triple: &'a str) -> Self {
        let (kind, target) = ("host", "");
        Id {
            kind,
            triple,
            target,
        }
    }

    /// The ID of an image that clang-linker-wrapper links for this triple and
    /// target ID.
    pub fn hip(triple: &'a str, target: &'a str) -> Self {
        let kind = "hip";
        Id {
            kind,
            triple,
            target,
        }
    }

    /// Takes an ID apart. Empty components at the end of the triple are not part
    /// of [`Self::triple`]. A processor right behind a triple of three
    /// components, as older compilers write it, is the target ID.
    ///
    /// # Errors
    /// [`IdError`] when there is no kind or no triple.
    pub fn parse(id: &'a str) -> Result<Self, IdError> {
        let (kind, rest) = id
            .split_once('-')
            .filter(|(kind, rest)| !kind.is_empty() && !rest.is_empty())
            .ok_or_else(|| IdError(id.to_owned()))?;
        let dashes: Vec<usize> = rest.match_indices('-').map(|(index, _)| index).collect();
        let is_processor = |dash: &usize| rest[dash + 1..].starts_with("gfx");
        let end = match dashes.get(TRIPLE_COMPONENTS - 2) {
            Some(third) if is_processor(third) => Some(third),
            _ => dashes.get(TRIPLE_COMPONENTS - 1),
        };
        let (triple, target) = match end {
            Some(end) => (&rest[..*end], &rest[end + 1..]),
            None => (rest, ""),
        };
        let triple = triple.trim_end_matches('-');
        Ok(Id {
            kind,
            triple,
            target,
        })
    }
}

impl fmt::Display for Id<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let components = self.triple.split('-').count();
        let missing = "-".repeat(TRIPLE_COMPONENTS.saturating_sub(components));
        write!(
            formatter,
            "{}-{}{missing}-{}",
            self.kind, self.triple, self.target
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_put_together_as_clang_does() {
        let hip = |triple, target| Id::hip(triple, target).to_string();
        assert_eq!(
            hip("amdgcn-amd-amdhsa", "gfx90a:xnack+"),
            "hip-amdgcn-amd-amdhsa--gfx90a:xnack+"
        );
        assert_eq!(
            hip("amdgcn-amd-amdhsa-llvm", "gfx906"),
            "hip-amdgcn-amd-amdhsa-llvm-gfx906"
        );
        assert_eq!(
            hip("spirv64-amd-amdhsa", "amdgcnspirv"),
            "hip-spirv64-amd-amdhsa--amdgcnspirv"
        );
        assert_eq!(
            Id::host("x86_64-unknown-linux-gnu").to_string(),
            "host-x86_64-unknown-linux-gnu-"
        );
    }

    #[test]
    fn ids_are_taken_apart_whatever_their_age() {
        let parts = |id| Id::parse(id).map(|id| (id.kind, id.triple, id.target));
        assert_eq!(
            parts("hipv4-amdgcn-amd-amdhsa--gfx90a:sramecc+:xnack-"),
            Ok(("hipv4", "amdgcn-amd-amdhsa", "gfx90a:sramecc+:xnack-"))
        );
        assert_eq!(
            parts("hip-amdgcn-amd-amdhsa-gfx906"),
            Ok(("hip", "amdgcn-amd-amdhsa", "gfx906"))
        );
        assert_eq!(
            parts("hip-amdgcn-amd-amdhsa--gfx9-4-generic"),
            Ok(("hip", "amdgcn-amd-amdhsa", "gfx9-4-generic"))
        );
        for host in [
            "host-x86_64-unknown-linux-gnu",
            "host-x86_64-unknown-linux-gnu-",
        ] {
            assert_eq!(parts(host), Ok(("host", "x86_64-unknown-linux-gnu", "")));
        }
        for wrong in ["", "hip", "hip-", "-amdgcn"] {
            assert_eq!(parts(wrong), Err(IdError(wrong.to_owned())));
        }
    }
}
