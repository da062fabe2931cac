//! Device links by themselves: code for one target or several, and the file for
//! what comes of it.

use super::bundle::{self, Described};
use super::determinism;
use super::device::{self, DeviceImage, Setting};
use super::group::Group;
use super::inputs;
use super::plan;
use super::work_dir::WorkDir;
use crate::device_input::DeviceInput;
use crate::options::Options;
use crate::request::Style;
use crate::target::Target;
use crate::toolchain::Toolchain;
use crate::{Error, output_file, timing};
use offlink_bundle::offload_binary::OffloadKind;
use std::path::Path;

/// Who launches the kernels of an offload binary, where nobody says: who an
/// image is for by default, and what rustc's own device pass writes.
const KIND: OffloadKind = OffloadKind::OpenMp;

/// Links `inputs` for each of `targets`, keeps the symbols `exports`, and writes
/// to `output` the image or, for several targets, an offload binary of all.
///
/// # Errors
/// [`Error`] when a link fails or gives more than one image.
pub fn link(
    targets: &[Target],
    inputs: &[DeviceInput],
    exports: &[String],
    options: &Options,
    output: &Path,
) -> Result<(), Error> {
    let mut jobs = Vec::new();
    for target in targets {
        let group = Group {
            target: target.clone(),
            inputs: inputs.to_vec(),
        };
        let own = plan::jobs_of(group, exports.to_vec(), &options.device)?;
        if own.len() != 1 {
            return Err(Error::SeveralImages {
                count: own.len(),
                target: target.to_string(),
                output: output.into(),
            });
        }
        jobs.extend(own);
    }
    let toolchain = Toolchain::new(&options.device.tools, &[]);
    if options.build_system.print_inputs {
        return inputs::print(&jobs, &toolchain, Style::Cc, &options.build_system);
    }
    let work_dir = WorkDir::new(options.save_temps.as_deref(), "offlink")?;
    let setting = Setting::new(&jobs, &toolchain, options, Style::Cc, &work_dir, output);
    let images = timing::phase("device links", || device::link_all(&setting))?;
    if options.verify_deterministic {
        determinism::verify(&images, &jobs, &toolchain, options, Style::Cc)?;
    }
    timing::phase("write", || match images.as_slice() {
        [image] => Ok(output_file::write_bytes(output, &image.data)?),
        images => write_all(images, options, output),
    })
}

fn write_all(images: &[DeviceImage], options: &Options, output: &Path) -> Result<(), Error> {
    let described: Vec<Described<'_>> = images
        .iter()
        .map(|image| Described::linked(KIND, &image.target, &image.data))
        .collect();
    let runtime = options.spirv_runtime;
    let version = bundle::version(KIND, runtime);
    output_file::write(output, |out| {
        bundle::offload_binary(&described, version, runtime, out).map_err(Error::from)
    })
}
