//! The `gfx…` processors that offlink links for.

/// One processor, a GPU's or a generic one that stands for a family.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Processor {
    name: &'static str,
    llvm: u32,
    xnack: bool,
    sramecc: bool,
}

/// Name, first LLVM release that knows the name (19 stands for 19 or older),
/// and whether its target ID may say `xnack` and `sramecc`.
///
/// Names and features were read off LLVM 22.1.8 (`llc -mcpu=help`; clang
/// refuses a feature that the processor lacks); which names LLVM 19.1.7 lacks
/// was seen as well, the releases between are from LLVM's history.
const TABLE: &[(&str, u32, bool, bool)] = &[
    ("gfx600", 19, false, false),
    ("gfx601", 19, false, false),
    ("gfx602", 19, false, false),
    ("gfx700", 19, false, false),
    ("gfx701", 19, false, false),
    ("gfx702", 19, false, false),
    ("gfx703", 19, false, false),
    ("gfx704", 19, false, false),
    ("gfx705", 19, false, false),
    ("gfx801", 19, true, false),
    ("gfx802", 19, false, false),
    ("gfx803", 19, false, false),
    ("gfx805", 19, false, false),
    ("gfx810", 19, true, false),
    ("gfx900", 19, true, false),
    ("gfx902", 19, true, false),
    ("gfx904", 19, true, false),
    ("gfx906", 19, true, true),
    ("gfx908", 19, true, true),
    ("gfx909", 19, true, false),
    ("gfx90a", 19, true, true),
    ("gfx90c", 19, true, false),
    ("gfx942", 19, true, true),
    ("gfx950", 20, true, true),
    ("gfx1010", 19, true, false),
    ("gfx1011", 19, true, false),
    ("gfx1012", 19, true, false),
    ("gfx1013", 19, true, false),
    ("gfx1030", 19, false, false),
    ("gfx1031", 19, false, false),
    ("gfx1032", 19, false, false),
    ("gfx1033", 19, false, false),
    ("gfx1034", 19, false, false),
    ("gfx1035", 19, false, false),
    ("gfx1036", 19, false, false),
    ("gfx1100", 19, false, false),
    ("gfx1101", 19, false, false),
    ("gfx1102", 19, false, false),
    ("gfx1103", 19, false, false),
    ("gfx1150", 19, false, false),
    ("gfx1151", 19, false, false),
    ("gfx1152", 19, false, false),
    ("gfx1153", 20, false, false),
    ("gfx1200", 19, false, false),
    ("gfx1201", 19, false, false),
    ("gfx1250", 21, false, false),
    ("gfx1251", 22, false, false),
    ("gfx9-generic", 19, true, false),
    ("gfx9-4-generic", 20, true, true),
    ("gfx10-1-generic", 19, true, false),
    ("gfx10-3-generic", 19, false, false),
    ("gfx11-generic", 19, false, false),
    ("gfx12-generic", 19, false, false),
];

/// The generic processors with those that run their code ("AMDGPU Generic
/// Processors" in LLVM's "User Guide for AMDGPU Backend" 22).
const FAMILIES: &[(&str, &[&str])] = &[
    (
        "gfx9-generic",
        &["gfx900", "gfx902", "gfx904", "gfx906", "gfx909", "gfx90c"],
    ),
    ("gfx9-4-generic", &["gfx942", "gfx950"]),
    (
        "gfx10-1-generic",
        &["gfx1010", "gfx1011", "gfx1012", "gfx1013"],
    ),
    (
        "gfx10-3-generic",
        &[
            "gfx1030", "gfx1031", "gfx1032", "gfx1033", "gfx1034", "gfx1035", "gfx1036",
        ],
    ),
    (
        "gfx11-generic",
        &[
            "gfx1100", "gfx1101", "gfx1102", "gfx1103", "gfx1150", "gfx1151", "gfx1152", "gfx1153",
        ],
    ),
    ("gfx12-generic", &["gfx1200", "gfx1201"]),
];

impl Processor {
    /// Looks up `gfx90a`, `gfx11-generic` …; `None` for any other name.
    pub fn find(name: &str) -> Option<Self> {
        Self::all().find(|processor| processor.name == name)
    }

    /// Every processor: the GPUs in ascending order, then the generic ones.
    pub fn all() -> impl Iterator<Item = Self> {
        TABLE.iter().map(|&(name, llvm, xnack, sramecc)| Self {
            name,
            llvm,
            xnack,
            sramecc,
        })
    }

    /// The name as LLVM spells it, without features.
    pub fn name(self) -> &'static str {
        self.name
    }

    /// The major version of the first LLVM whose AMDGPU back end knows the
    /// processor, or 19 if older ones do too; one that doesn't only warns and
    /// makes code for another GPU.
    pub fn first_llvm(self) -> u32 {
        self.llvm
    }

    /// Whether a wave has 64 lanes if nothing else is asked for: before gfx10 (seen
    /// in the features that clang 22 writes).
    pub fn has_wave64_by_default(self) -> bool {
        let number = self.name.trim_start_matches("gfx");
        // Of a GPU's name the last two characters are minor version and stepping.
        let major = match number.split_once('-') {
            Some((family, _)) => family,
            None => &number[..number.len() - 2],
        };
        major.len() == 1
    }

    /// Whether the target ID may say `xnack+` or `xnack-`.
    pub fn has_xnack(self) -> bool {
        self.xnack
    }

    /// Whether the target ID may say `sramecc+` or `sramecc-`.
    pub fn has_sramecc(self) -> bool {
        self.sramecc
    }

    /// Whether this is the generic processor of the other's family, whose code
    /// the other runs.
    pub fn stands_for(self, other: Self) -> bool {
        FAMILIES
            .iter()
            .any(|(name, members)| *name == self.name && members.contains(&other.name))
    }

    /// Whether this stands for a family of GPUs (needs code object version 6).
    pub fn is_generic(self) -> bool {
        self.name.ends_with("-generic")
    }
}

/// Up to three valid names that a wrong one may have meant: those that share
/// the longest start with it; of these the ones that go on with the same kind
/// of character (digit or letter), and then the ones closest in length.
pub(crate) fn nearest(name: &str) -> String {
    let rank = |other: &str| {
        let shared = name
            .bytes()
            .zip(other.bytes())
            .take_while(|(a, b)| a == b)
            .count();
        let is_digit = |text: &str| text.as_bytes().get(shared).map(u8::is_ascii_digit);
        (
            std::cmp::Reverse(shared),
            is_digit(name) != is_digit(other),
            other.len().abs_diff(name.len()),
        )
    };
    let mut names: Vec<&str> = TABLE.iter().map(|row| row.0).collect();
    names.sort_by_key(|other| rank(other));
    names.truncate(3);
    names.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lookups() {
        let mi200 = Processor::find("gfx90a").unwrap();
        assert!(mi200.has_xnack() && mi200.has_sramecc() && !mi200.is_generic());
        assert!(Processor::find("gfx11-generic").unwrap().is_generic());
        assert!(Processor::find("gfx90A").is_none());
    }

    #[test]
    fn families_hold_known_processors() {
        for (generic, members) in FAMILIES {
            let generic = Processor::find(generic).unwrap();
            assert!(generic.is_generic());
            for member in *members {
                assert!(generic.stands_for(Processor::find(member).unwrap()));
            }
        }
        let generic = Processor::all().filter(|it| it.is_generic());
        assert_eq!(generic.count(), FAMILIES.len());
        let mi200 = Processor::find("gfx90a").unwrap();
        assert!(!Processor::all().any(|it| it.stands_for(mi200)));
    }

    #[test]
    fn waves() {
        let wave64 = |name: &str| Processor::find(name).unwrap().has_wave64_by_default();
        for name in [
            "gfx600",
            "gfx90a",
            "gfx950",
            "gfx9-generic",
            "gfx9-4-generic",
        ] {
            assert!(wave64(name), "{name}");
        }
        for name in ["gfx1010", "gfx1251", "gfx10-1-generic", "gfx12-generic"] {
            assert!(!wave64(name), "{name}");
        }
    }

    #[test]
    fn neighbours_share_the_start() {
        assert!(
            nearest("gfx90z").contains("gfx90a"),
            "{}",
            nearest("gfx90z")
        );
        assert!(
            nearest("gfx943").contains("gfx942"),
            "{}",
            nearest("gfx943")
        );
        assert!(nearest("sm_90").contains("gfx"));
    }
}
