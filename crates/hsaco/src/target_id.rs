//! AMDGPU target IDs: `<processor>(":" <feature> ("+"|"-"))*`, as LLVM's
//! "User Guide for AMDGPU Backend" (22) defines them.

use crate::processor::{Processor, nearest};
use std::fmt;
use thiserror::Error;

/// What a target ID says about a feature.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Setting {
    /// Nothing: the code runs whichever way the GPU is set.
    #[default]
    Any,
    /// `-`: only where the feature is off.
    Off,
    /// `+`: only where the feature is on.
    On,
}

/// A processor with its feature settings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TargetId {
    processor: Processor,
    sramecc: Setting,
    xnack: Setting,
}

/// Why a text is not a target ID.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum TargetIdError {
    /// No processor has this name.
    #[error("'{name}' is not an AMD processor; the nearest are {nearest}")]
    UnknownProcessor {
        /// The name as given.
        name: String,
        /// Up to three valid names, separated by commas.
        nearest: String,
    },
    /// Not `xnack` or `sramecc` followed by one sign.
    #[error(
        "'{feature}' in '{id}' is not a target ID feature; valid are xnack+, xnack-, sramecc+ and sramecc-"
    )]
    UnknownFeature {
        /// The target ID as given.
        id: String,
        /// The part that is wrong.
        feature: String,
    },
    /// The processor does not have the feature.
    #[error("'{processor}' has no {feature}, so '{id}' is not a target ID; '{processor}' is")]
    NoSuchFeature {
        /// The target ID as given.
        id: String,
        /// The processor's name.
        processor: String,
        /// `xnack` or `sramecc`.
        feature: &'static str,
    },
    /// The triple's subarch is no processor's.
    #[error("no AMD GPU is named by '{subarch}': there is no processor {name}")]
    UnknownSubarch {
        /// The first component of the triple.
        subarch: String,
        /// The processor that it would name.
        name: String,
    },
    /// The triple is for another processor than the target ID.
    #[error(
        "the triple's {subarch} is {processor}, not {id}; name one processor in both, or leave \
         out the arch"
    )]
    OtherSubarch {
        /// The first component of the triple.
        subarch: String,
        /// The processor that it names.
        processor: String,
        /// The target ID.
        id: String,
    },
    /// A feature is set twice.
    #[error("'{id}' sets {feature} twice")]
    Repeated {
        /// The target ID as given.
        id: String,
        /// `xnack` or `sramecc`.
        feature: &'static str,
    },
}

impl TargetId {
    /// Reads `gfx90a`, `gfx90a:xnack+`, `gfx90a:sramecc-:xnack+` …, features
    /// in any order.
    ///
    /// # Errors
    /// [`TargetIdError`] says which part is wrong and what would be right.
    pub fn parse(id: &str) -> Result<Self, TargetIdError> {
        let mut parts = id.split(':');
        let name = parts.next().unwrap_or_default();
        let processor = Processor::find(name).ok_or_else(|| TargetIdError::UnknownProcessor {
            name: name.into(),
            nearest: nearest(name),
        })?;
        let mut parsed = Self::from(processor);
        for feature in parts {
            parsed.set(id, feature)?;
        }
        Ok(parsed)
    }

    fn set(&mut self, id: &str, feature: &str) -> Result<(), TargetIdError> {
        let unknown = || TargetIdError::UnknownFeature {
            id: id.into(),
            feature: feature.into(),
        };
        let (name, setting) = if let Some(name) = feature.strip_suffix('+') {
            (name, Setting::On)
        } else if let Some(name) = feature.strip_suffix('-') {
            (name, Setting::Off)
        } else {
            return Err(unknown());
        };
        let (name, supported, slot) = match name {
            "xnack" => ("xnack", self.processor.has_xnack(), &mut self.xnack),
            "sramecc" => ("sramecc", self.processor.has_sramecc(), &mut self.sramecc),
            _ => return Err(unknown()),
        };
        if !supported {
            return Err(TargetIdError::NoSuchFeature {
                id: id.into(),
                processor: self.processor.name().into(),
                feature: name,
            });
        }
        if *slot != Setting::Any {
            return Err(TargetIdError::Repeated {
                id: id.into(),
                feature: name,
            });
        }
        *slot = setting;
        Ok(())
    }

    /// The processor without features.
    pub fn processor(self) -> Processor {
        self.processor
    }

    /// Whether code for this may be linked into an image for `other`: it is for the
    /// same processor or its family, and sets no feature that the other leaves open
    /// or sets otherwise.
    pub fn serves(self, other: Self) -> bool {
        let allows = |own, wanted| own == Setting::Any || own == wanted;
        (self.processor == other.processor || self.processor.stands_for(other.processor))
            && allows(self.sramecc, other.sramecc)
            && allows(self.xnack, other.xnack)
    }

    /// Whether the code, or the GPU, has sramecc on.
    pub fn sramecc(self) -> Setting {
        self.sramecc
    }

    /// Whether the code, or the GPU, has xnack on.
    pub fn xnack(self) -> Setting {
        self.xnack
    }

    /// The LLVM target features, such as `-sramecc,+xnack`; empty when the ID
    /// sets none.
    pub fn features(self) -> String {
        let sign = |name: &str, setting| match setting {
            Setting::Any => None,
            Setting::On => Some(format!("+{name}")),
            Setting::Off => Some(format!("-{name}")),
        };
        let features: Vec<String> = [sign("sramecc", self.sramecc), sign("xnack", self.xnack)]
            .into_iter()
            .flatten()
            .collect();
        features.join(",")
    }
}

/// The processor, whichever way its features are set.
impl From<Processor> for TargetId {
    fn from(processor: Processor) -> Self {
        Self {
            processor,
            sramecc: Setting::Any,
            xnack: Setting::Any,
        }
    }
}

/// The canonical spelling: features in alphabetical order.
impl fmt::Display for TargetId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.processor.name())?;
        for (name, setting) in [("sramecc", self.sramecc), ("xnack", self.xnack)] {
            match setting {
                Setting::Any => {}
                Setting::On => write!(f, ":{name}+")?,
                Setting::Off => write!(f, ":{name}-")?,
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn features_are_put_in_order() {
        let id = TargetId::parse("gfx90a:xnack+:sramecc-").unwrap();
        assert_eq!(id.to_string(), "gfx90a:sramecc-:xnack+");
        assert_eq!(id.features(), "-sramecc,+xnack");
        assert_eq!(TargetId::parse("gfx1030").unwrap().features(), "");
    }

    #[test]
    fn every_fault_is_named() {
        let says = |id: &str| TargetId::parse(id).unwrap_err().to_string();
        assert!(
            says("gfx90z").contains("nearest are gfx90"),
            "{}",
            says("gfx90z")
        );
        assert!(says("gfx1030:xnack+").contains("has no xnack"));
        assert!(says("gfx90a:xnack").contains("'xnack' in"));
        assert!(says("gfx90a:tgsplit+").contains("'tgsplit+'"));
        assert!(says("gfx90a:xnack+:xnack-").contains("twice"));
        assert!(says("").contains("not an AMD processor"));
    }
}
