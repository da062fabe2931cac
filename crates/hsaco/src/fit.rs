//! Which GPUs run which code, by LLVM's "User Guide for AMDGPU Backend" (22),
//! "Target ID" and "Generic Processors".

use crate::{Setting, TargetId};
use thiserror::Error;

/// Why an image does not run on a GPU.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum Misfit {
    /// Code for another processor.
    #[error("code for {image} does not run on {device}")]
    Processor {
        /// The image's processor.
        image: &'static str,
        /// The GPU's.
        device: &'static str,
    },
    /// A feature is set the other way.
    #[error(
        "code for {image} needs a GPU with {feature} {wanted}, and it is {found} here{}",
        remedy(feature)
    )]
    Feature {
        /// The image's target ID.
        image: String,
        /// `xnack` or `sramecc`.
        feature: &'static str,
        /// `on` or `off`.
        wanted: &'static str,
        /// `on`, `off` or `not known`.
        found: &'static str,
    },
}

fn remedy(feature: &str) -> &'static str {
    if feature == "xnack" {
        " (HSA_XNACK=1 or 0 in the environment sets it where the driver lets it)"
    } else {
        ""
    }
}

/// Whether a GPU with the target ID `device`, which says how its features are
/// set, runs code for `image`.
///
/// # Errors
/// [`Misfit`] says why it does not.
pub fn fits(image: TargetId, device: TargetId) -> Result<(), Misfit> {
    let (of_image, of_device) = (image.processor(), device.processor());
    if of_image != of_device && !of_image.stands_for(of_device) {
        return Err(Misfit::Processor {
            image: of_image.name(),
            device: of_device.name(),
        });
    }
    for (feature, wanted, found) in [
        ("xnack", image.xnack(), device.xnack()),
        ("sramecc", image.sramecc(), device.sramecc()),
    ] {
        if wanted != Setting::Any && wanted != found {
            return Err(Misfit::Feature {
                image: image.to_string(),
                feature,
                wanted: word(wanted),
                found: word(found),
            });
        }
    }
    Ok(())
}

fn word(setting: Setting) -> &'static str {
    match setting {
        Setting::Any => "not known",
        Setting::Off => "off",
        Setting::On => "on",
    }
}

/// The processor's name by the number that the kernel driver has for it,
/// `gfx_target_version` of its topology: 90010 is gfx90a. The last digit of the
/// name is hexadecimal. `None` for 0, which stands for CPUs.
pub fn processor_name(gfx_target_version: u32) -> Option<String> {
    let (major, minor, stepping) = (
        gfx_target_version / 10_000,
        gfx_target_version / 100 % 100,
        gfx_target_version % 100,
    );
    (major > 0).then(|| format!("gfx{major}{minor:x}{stepping:x}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fit(image: &str, device: &str) -> Result<(), String> {
        let id = |text| TargetId::parse(text).unwrap();
        fits(id(image), id(device)).map_err(|misfit| misfit.to_string())
    }

    #[test]
    fn processors_and_their_generic_ones() {
        assert_eq!(fit("gfx90a", "gfx90a:xnack-"), Ok(()));
        assert_eq!(fit("gfx9-4-generic", "gfx942:sramecc+:xnack-"), Ok(()));
        assert_eq!(fit("gfx11-generic", "gfx1151"), Ok(()));
        assert_eq!(
            fit("gfx9-generic", "gfx90a"),
            Err("code for gfx9-generic does not run on gfx90a".into())
        );
        assert!(fit("gfx942", "gfx90a").is_err());
    }

    #[test]
    fn features_agree_or_do_not_matter() {
        assert_eq!(fit("gfx90a:xnack-", "gfx90a:sramecc+:xnack-"), Ok(()));
        let says = fit("gfx90a:xnack+", "gfx90a:sramecc+:xnack-").unwrap_err();
        assert!(
            says.contains("xnack on, and it is off here (HSA_XNACK=1"),
            "{says}"
        );
        let says = fit("gfx90a:sramecc-", "gfx90a").unwrap_err();
        assert!(
            says.ends_with("sramecc off, and it is not known here"),
            "{says}"
        );
    }

    #[test]
    fn the_drivers_numbers() {
        let name = |version| processor_name(version).unwrap();
        assert_eq!(name(90010), "gfx90a");
        assert_eq!(name(90402), "gfx942");
        assert_eq!(name(110_001), "gfx1101");
        assert_eq!(name(90012), "gfx90c");
        assert_eq!(processor_name(0), None);
    }
}
