//! PTX ISA versions.

use std::fmt;

/// A PTX ISA version, kept as `10 × major + minor` (PTX 7.8 is 78), which is
/// also how LLVM's NVPTX back end names its `ptxNN` features.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct PtxVersion(u32);

impl PtxVersion {
    /// The version with this number, for instance 78 for PTX 7.8.
    pub const fn new(number: u32) -> Self {
        Self(number)
    }

    /// Reads `7.8`, the form of the `.version` directive. `None` for anything
    /// that is not two decimal numbers around one dot, or whose minor number
    /// has more than one digit (no PTX ISA has had one).
    pub fn parse(text: &str) -> Option<Self> {
        let (major, minor) = text.split_once('.')?;
        let major: u32 = major.parse().ok()?;
        let minor: u32 = minor.parse().ok()?;
        (minor < 10).then(|| major.checked_mul(10).map(|m| Self(m + minor)))?
    }

    /// `10 × major + minor`.
    pub const fn number(self) -> u32 {
        self.0
    }

    /// The LLVM target feature that selects this version, such as `+ptx78`.
    pub fn feature(self) -> String {
        format!("+ptx{}", self.0)
    }
}

impl fmt::Display for PtxVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.0 / 10, self.0 % 10)
    }
}

#[cfg(test)]
mod tests {
    use super::PtxVersion;

    #[test]
    fn text_and_number_agree() {
        assert_eq!(PtxVersion::parse("7.8"), Some(PtxVersion::new(78)));
        assert_eq!(PtxVersion::new(90).to_string(), "9.0");
        assert_eq!(PtxVersion::new(88).feature(), "+ptx88");
        for bad in ["", "7", "7.", ".8", "7.10", "7.8.1", "x.y", "99999999999.0"] {
            assert_eq!(PtxVersion::parse(bad), None, "{bad}");
        }
    }
}
