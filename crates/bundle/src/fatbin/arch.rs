//! The architectures of entries: a number and how far the code carries over.

use std::fmt;
use std::str::FromStr;

/// An NVIDIA architecture, such as `sm_90a`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Arch {
    /// The compute capability without its point: 90 for 9.0, 120 for 12.0.
    pub number: u32,
    /// Which other architectures the code runs on.
    pub variant: ArchVariant,
}

/// On which devices besides those of its own number code can run (PTX ISA 9.0,
/// `.target`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ArchVariant {
    /// Cubins on later devices of the same generation, PTX on all later ones.
    Base,
    /// On no others: suffix `a`.
    ArchSpecific,
    /// On others of the same family: suffix `f`.
    FamilySpecific,
}

/// The name is not that of an NVIDIA architecture.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is no NVIDIA architecture; they are written like sm_90 or sm_90a")]
pub struct ArchError(String);

impl FromStr for Arch {
    type Err = ArchError;

    /// Reads `sm_90a`, `compute_90a` (what nvcc calls PTX of that architecture)
    /// or `90a` (as in the options of `fatbinary`).
    fn from_str(name: &str) -> Result<Self, ArchError> {
        let bare = name
            .strip_prefix("sm_")
            .or_else(|| name.strip_prefix("compute_"))
            .unwrap_or(name);
        let suffixes = [
            ('a', ArchVariant::ArchSpecific),
            ('f', ArchVariant::FamilySpecific),
        ];
        let (digits, variant) = suffixes
            .into_iter()
            .find_map(|(suffix, variant)| Some((bare.strip_suffix(suffix)?, variant)))
            .unwrap_or((bare, ArchVariant::Base));
        let is_number = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
        match digits.parse() {
            Ok(number) if is_number => Ok(Arch { number, variant }),
            _ => Err(ArchError(name.to_owned())),
        }
    }
}

impl fmt::Display for Arch {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let suffix = match self.variant {
            ArchVariant::Base => "",
            ArchVariant::ArchSpecific => "a",
            ArchVariant::FamilySpecific => "f",
        };
        write!(formatter, "sm_{}{suffix}", self.number)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_spelling_gives_the_name_that_compilers_use() {
        let name = |text: &str| text.parse::<Arch>().map(|arch| arch.to_string());
        assert_eq!(name("sm_90"), Ok("sm_90".to_owned()));
        assert_eq!(name("sm_90a"), Ok("sm_90a".to_owned()));
        assert_eq!(name("compute_100f"), Ok("sm_100f".to_owned()));
        assert_eq!(name("75"), Ok("sm_75".to_owned()));
        for wrong in [
            "",
            "a",
            "sm_",
            "sm_a",
            "gfx90a",
            "sm_90aa",
            "sm_+90",
            "sm_99999999999",
        ] {
            assert_eq!(name(wrong), Err(ArchError(wrong.to_owned())));
        }
    }
}
