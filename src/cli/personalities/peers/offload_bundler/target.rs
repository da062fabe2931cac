//! The targets of a bundle, and which code runs on which.

use super::super::PeerError;
use offlink_bundle::hip_bundle::Id;
use std::fmt;

/// What a part of a bundle is for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Target {
    kind: String,
    triple: String,
    processor: String,
    /// Such as `xnack+`, sorted.
    features: Vec<String>,
    /// As it is written into bundles.
    id: String,
}

const KINDS: [&str; 4] = ["host", "openmp", "hip", "hipv4"];

impl Target {
    /// Reads a bundle entry ID. The triple has four components, but for a
    /// processor right behind three of them, as older compilers write it; the
    /// peer takes that for an environment and loses it.
    ///
    /// # Errors
    /// [`PeerError::Target`] when it is none.
    pub fn read(text: &str) -> Result<Self, PeerError> {
        let wrong = || PeerError::Target(text.into());
        let id = Id::parse(text).map_err(|_| wrong())?;
        let complete = text.matches('-').count() >= 4;
        if !KINDS.contains(&id.kind) || !complete {
            return Err(wrong());
        }
        let triple = completed(id.triple);
        let mut parts = id.target.split(':').map(str::to_owned);
        let processor = parts.next().unwrap_or_default();
        let mut features: Vec<String> = parts.collect();
        features.sort_unstable();
        Ok(Self {
            kind: id.kind.into(),
            processor,
            features,
            id: Id {
                triple: &triple,
                ..id
            }
            .to_string(),
            triple,
        })
    }

    /// Whether it is the host's.
    pub fn is_host(&self) -> bool {
        self.kind == "host"
    }

    /// Whether it is of HIP.
    pub fn is_hip(&self) -> bool {
        matches!(self.kind.as_str(), "hip" | "hipv4")
    }

    /// How many features it names.
    pub fn features(&self) -> usize {
        self.features.len()
    }

    /// Whether code for `offered` runs on this target: of the same processor,
    /// with no feature that this one does not have.
    pub fn takes(&self, offered: &Self, hip_is_openmp: bool) -> bool {
        let same_kind = self.kind_group(hip_is_openmp) == offered.kind_group(hip_is_openmp);
        same_kind
            && self.triple == offered.triple
            && self.processor == offered.processor
            && offered
                .features
                .iter()
                .all(|feature| self.features.contains(feature))
    }

    /// hip and hipv4 are one kind.
    fn kind_group(&self, hip_is_openmp: bool) -> &str {
        match self.kind.as_str() {
            "hipv4" | "hip" if hip_is_openmp => "openmp",
            "hipv4" => "hip",
            kind => kind,
        }
    }

    /// The features without their signs.
    fn feature_names(&self) -> Vec<&str> {
        let names = self.features.iter();
        names
            .map(|feature| feature.trim_end_matches(['+', '-']))
            .collect()
    }
}

/// The triple as clang-offload-bundler 22.1.8 writes it: an environment that is
/// not known is empty for AMD's devices, and called unknown for others.
fn completed(triple: &str) -> String {
    let known = triple.strip_suffix("-unknown").unwrap_or(triple);
    if known.ends_with("-amdhsa") {
        known.into()
    } else if triple.split('-').count() == 3 {
        format!("{triple}-unknown")
    } else {
        triple.into()
    }
}

/// The ID in the form that bundles hold.
impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.id)
    }
}

/// Refuses targets of which a program could not choose: twice the same, or of
/// one processor with other features named.
///
/// # Errors
/// [`PeerError::Conflict`] with two of them.
pub fn check(targets: &[Target]) -> Result<(), PeerError> {
    for (number, first) in targets.iter().enumerate() {
        for second in &targets[number + 1..] {
            let why = if first == second {
                "they are the same"
            } else if first.kind == second.kind
                && first.triple == second.triple
                && first.processor == second.processor
                && first.feature_names() != second.feature_names()
            {
                "they name different features of one processor"
            } else {
                continue;
            };
            return Err(PeerError::Conflict {
                first: first.id.clone(),
                second: second.id.clone(),
                why,
            });
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn target(text: &str) -> Target {
        Target::read(text).unwrap()
    }

    #[test]
    fn ids_are_completed_or_refused() {
        let written = |text| target(text).to_string();
        assert_eq!(
            written("host-x86_64-unknown-linux-gnu"),
            "host-x86_64-unknown-linux-gnu-"
        );
        assert_eq!(
            written("hip-amdgcn-amd-amdhsa-gfx906"),
            "hip-amdgcn-amd-amdhsa--gfx906"
        );
        assert_eq!(
            written("openmp-nvptx64-nvidia-cuda--sm_80"),
            "openmp-nvptx64-nvidia-cuda-unknown-sm_80"
        );
        assert_eq!(written("hip-amdgcn-amd-amdhsa-"), "hip-amdgcn-amd-amdhsa--");
        for wrong in [
            "host-x86_64",
            "host-x86_64-pc-linux",
            "openmp-nvptx64-nvidia-cuda",
            "metal-amdgcn-amd-amdhsa--gfx906",
            "",
        ] {
            assert!(Target::read(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn code_without_a_feature_runs_with_it_and_not_the_other_way_round() {
        let takes = |wanted: &str, offered: &str, openmp| {
            let id = |rest: &str| target(&rest.replace('@', "-amdgcn-amd-amdhsa--gfx90a"));
            id(wanted).takes(&id(offered), openmp)
        };
        assert!(takes("hip@:xnack+", "hip@", false));
        assert!(takes(
            "hip@:xnack+:sramecc-",
            "hipv4@:sramecc-:xnack+",
            false
        ));
        assert!(!takes("hip@", "hip@:xnack+", false));
        assert!(!takes("hip@:xnack-", "hip@:xnack+", false));
        assert!(!takes("openmp@", "hip@", false));
        assert!(takes("openmp@", "hipv4@", true));
    }

    #[test]
    fn conflicts_are_named() {
        let conflict = |features: [&str; 2]| {
            let id = |feature| target(&format!("hip-amdgcn-amd-amdhsa--gfx90a{feature}"));
            check(&features.map(id)).is_err()
        };
        assert!(conflict(["", ""]));
        assert!(conflict(["", ":xnack+"]));
        assert!(conflict([":sramecc+", ":xnack+"]));
        assert!(!conflict([":xnack-", ":xnack+"]));
    }
}
