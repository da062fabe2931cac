//! A list of archs of any vendor, of which each device link takes those that
//! are its own: `sm_80,sm_90,gfx90a:xnack+`.

use crate::target::{Target, TargetError};
use std::str::FromStr;
use thiserror::Error;

/// The archs in the order of the list, each once.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ArchList {
    names: Vec<String>,
}

/// The list names something that is no GPU.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum ArchListError {
    /// A name like those of a vendor, but none of them.
    #[error("list of archs '{list}': {source}")]
    Target {
        /// The whole list.
        list: String,
        /// What is wrong.
        source: TargetError,
    },
    /// A name like those of no vendor.
    #[error(
        "list of archs '{list}': '{name}' is neither an NVIDIA architecture such as sm_90 nor an \
         AMD processor such as gfx90a"
    )]
    NoVendor {
        /// The whole list.
        list: String,
        /// The name.
        name: String,
    },
}

impl FromStr for ArchList {
    type Err = ArchListError;

    /// Reads names that are separated by commas; blanks around them mean nothing.
    fn from_str(list: &str) -> Result<Self, Self::Err> {
        let mut names: Vec<String> = Vec::new();
        for name in list.split(',').map(str::trim).filter(|it| !it.is_empty()) {
            let triple = match name.as_bytes() {
                [b's', ..] => offlink_ptx::TRIPLE,
                [b'g', ..] => offlink_hsaco::TRIPLE,
                _ => {
                    return Err(ArchListError::NoVendor {
                        list: list.into(),
                        name: name.into(),
                    });
                }
            };
            let target = Target::parse(triple, name).map_err(|source| ArchListError::Target {
                list: list.into(),
                source,
            })?;
            let arch = target.arch();
            if !names.contains(&arch) {
                names.push(arch);
            }
        }
        Ok(Self { names })
    }
}

impl ArchList {
    /// Whether it names nothing.
    pub fn is_empty(&self) -> bool {
        self.names.is_empty()
    }

    /// The targets of this triple that the list names, in their own order;
    /// none where all are another vendor's.
    pub fn targets(&self, triple: &str) -> Vec<Target> {
        let parsed = self.names.iter().map(|name| Target::parse(triple, name));
        let mut targets: Vec<Target> = parsed.filter_map(Result::ok).collect();
        targets.sort();
        targets
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_vendor_takes_its_own() {
        let list: ArchList = "sm_90, gfx90a:xnack+:sramecc-,sm_80,sm_90,"
            .parse()
            .unwrap();
        let archs = |triple: &str| -> Vec<String> {
            list.targets(triple).iter().map(Target::arch).collect()
        };
        assert_eq!(archs(offlink_ptx::TRIPLE), ["sm_80", "sm_90"]);
        assert_eq!(archs(offlink_hsaco::TRIPLE), ["gfx90a:sramecc-:xnack+"]);
        assert!(archs("x86_64-unknown-linux-gnu").is_empty());
        assert!(archs("spirv64-intel").is_empty());
        assert!(",".parse::<ArchList>().unwrap().is_empty());
    }

    #[test]
    fn faults_are_named() {
        let says = |list: &str| list.parse::<ArchList>().unwrap_err().to_string();
        assert!(says("sm_80,sm_91").contains("'sm_91' is not"));
        assert!(says("sm_80,sm_91").contains("nearest are sm_90"));
        assert!(says("gfx90z").contains("nearest are gfx90"));
        assert!(says("sm_60").contains("older than sm_70"));
        assert!(says("mi300").contains("neither an NVIDIA"));
        assert!(says("gfx1100:xnack+").contains("has no xnack"));
    }
}
