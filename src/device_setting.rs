//! What the line says about the device links of one triple, or of all.

use crate::options::{DeviceOptions, Options};
use crate::target::Target;
use std::ffi::OsString;

/// One setting.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeviceSetting {
    /// The only triple that it holds for.
    pub triple: Option<String>,
    /// What it changes.
    pub change: Change,
}

/// What a setting changes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Change {
    /// The optimisation level, 0 to 3.
    OptLevel(u8),
    /// One more argument for ptxas.
    Ptxas(OsString),
    /// One more argument for the linker of the images: nvlink, lld, or the
    /// linker behind the driver that links images for CPUs.
    Linker(OsString),
}

impl Options {
    /// How device code for `target` is linked: what holds for all, with the
    /// settings for its triple, of which later ones go before earlier ones.
    pub fn device_for(&self, target: &Target) -> DeviceOptions {
        let mut device = self.device.clone();
        let holds = |setting: &&DeviceSetting| {
            setting
                .triple
                .as_deref()
                .is_none_or(|triple| target.is_named_by(triple))
        };
        for setting in self.device_settings.iter().filter(holds) {
            match &setting.change {
                Change::OptLevel(level) => device.opt_level = *level,
                Change::Ptxas(argument) => device.ptxas_arguments.push(argument.clone()),
                Change::Linker(argument) => device.linker_arguments.push(argument.clone()),
            }
        }
        device
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_hold_for_their_triple_and_in_order() {
        let setting = |triple: Option<&str>, change| DeviceSetting {
            triple: triple.map(str::to_owned),
            change,
        };
        let options = Options {
            device_settings: vec![
                setting(None, Change::OptLevel(1)),
                setting(Some("amdgpu-amd-amdhsa"), Change::OptLevel(2)),
                setting(Some("amdgpu-amd-amdhsa"), Change::Ptxas("-v".into())),
                setting(None, Change::Linker("-z".into())),
            ],
            ..Options::default()
        };
        let device = |triple, arch| options.device_for(&Target::parse(triple, arch).unwrap());
        let a = device("amdgcn-amd-amdhsa", "gfx90a");
        let b = device("nvptx64-nvidia-cuda", "sm_90");
        assert_eq!((a.opt_level, b.opt_level), (2, 1));
        assert_eq!((a.ptxas_arguments.len(), b.ptxas_arguments.len()), (1, 0));
        assert_eq!(a.linker_arguments, b.linker_arguments);
    }
}
