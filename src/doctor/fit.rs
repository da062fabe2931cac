//! Whether a device runs an image, by the rules of vendors and runtimes.

use super::devices::DeviceTarget;
use crate::device_input::DeviceInput;
use offlink_bundle::image::{self, ImageFormat};
use offlink_bundle::offload_binary::OffloadKind;
use offlink_hsaco::TargetId;
use offlink_ptx::fit::{self as nvidia, Code};

/// What a device makes of an image.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fit {
    /// It runs it.
    Runs,
    /// It is for another sort of device.
    OtherDevice,
    /// It is for this sort of device, but this one does not run it.
    No(String),
}

/// What the device makes of the image.
pub fn fit(image: &DeviceInput, device: &DeviceTarget) -> Fit {
    let format = ImageFormat::detect(&image.data);
    if !is_for(image, format, device) {
        return Fit::OtherDevice;
    }
    let verdict = match (device, format) {
        (_, ImageFormat::Bitcode) => Err(
            "bitcode is no image: runtimes compile it only if their LLVM can; link it with offlink"
                .into(),
        ),
        (DeviceTarget::Nvidia(_), ImageFormat::Ptx) if image.kind == OffloadKind::OpenMp => {
            Err("libomptarget loads no PTX; leave out --offlink-emit=ptx to make a cubin".into())
        }
        (DeviceTarget::Nvidia(capability), ImageFormat::Ptx | ImageFormat::CubinFinal) => {
            nvidia::fits(code(format), &arch(image), *capability).map_err(|why| why.to_string())
        }
        (DeviceTarget::Amd(device), ImageFormat::HsacoFinal) => on_amd(image, *device),
        (DeviceTarget::OtherAmd(name), ImageFormat::HsacoFinal) => {
            let image = arch(image);
            if image.split(':').next() == Some(name) {
                Ok(())
            } else {
                Err(format!("code for {image} does not run on {name}"))
            }
        }
        (DeviceTarget::Intel, ImageFormat::SpirV | ImageFormat::OneOmp) => Ok(()),
        (DeviceTarget::Cpu(_), ImageFormat::ElfShared(_)) => Ok(()),
        (_, format) => Err(format!("{format} is no finished image")),
    };
    verdict.map_or_else(Fit::No, |()| Fit::Runs)
}

/// Which of several images that run the runtime takes: the one with the greatest
/// preference, the first of several. libomptarget takes the first in any case
/// (LLVM 22, `PluginManager::registerLib`).
pub fn preference(image: &DeviceInput) -> impl Ord {
    let arch = arch(image);
    let code = code(ImageFormat::detect(&image.data));
    match image.kind {
        OffloadKind::Cuda => (true, nvidia::rank(code, &arch)),
        OffloadKind::Hip => (!arch.contains("-generic"), None),
        _ => (true, None),
    }
}

fn code(format: ImageFormat) -> Code {
    if format == ImageFormat::Ptx {
        Code::Ptx
    } else {
        Code::Machine
    }
}

fn is_for(image: &DeviceInput, format: ImageFormat, device: &DeviceTarget) -> bool {
    use ImageFormat::{CubinFinal, CubinRelocatable, HsacoFinal, HsacoRelocatable, Ptx};
    let processor = image.triple.split('-').next().unwrap_or_default();
    match device {
        DeviceTarget::Nvidia(_) => {
            matches!(format, CubinFinal | CubinRelocatable | Ptx) || processor.starts_with("nvptx")
        }
        DeviceTarget::Amd(_) | DeviceTarget::OtherAmd(_) => {
            matches!(format, HsacoFinal | HsacoRelocatable) || processor == "amdgcn"
        }
        DeviceTarget::Intel => processor.starts_with("spirv"),
        DeviceTarget::Cpu(name) => processor == *name,
    }
}

/// The arch that the image's container names, else the one that it names itself.
fn arch(image: &DeviceInput) -> String {
    if !image.arch.is_empty() {
        return image.arch.clone();
    }
    image::target(&image.data).map_or_else(|_| String::new(), |target| target.arch)
}

fn on_amd(image: &DeviceInput, device: TargetId) -> Result<(), String> {
    let id = TargetId::parse(&arch(image)).map_err(|why| why.to_string())?;
    offlink_hsaco::fit::fits(id, device).map_err(|why| why.to_string())?;
    // LLVM 22, `isImageCompatibleWithEnv`: the processors have to be the same.
    if image.kind == OffloadKind::OpenMp && id.processor().is_generic() {
        let own = device.processor().name();
        return Err(format!(
            "libomptarget loads no image for {id}; make one for {own}"
        ));
    }
    Ok(())
}
