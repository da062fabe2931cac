//! A device link by itself: code for one target, and the file for its image.

use super::device::{self, Context};
use super::group::Group;
use super::plan;
use super::work_dir::WorkDir;
use crate::device_input::DeviceInput;
use crate::options::Options;
use crate::request::Style;
use crate::target::Target;
use crate::toolchain::Toolchain;
use crate::{Error, output_file};
use std::path::Path;

/// Links `inputs`, which are all for `target`, keeps the symbols `exports`, and
/// writes the image to `output`.
///
/// # Errors
/// [`Error`] when the link fails or gives more than one image.
pub fn link(
    target: Target,
    inputs: Vec<DeviceInput>,
    exports: Vec<String>,
    options: &Options,
    output: &Path,
) -> Result<(), Error> {
    let group = Group {
        target: target.clone(),
        inputs,
    };
    let jobs = plan::jobs_of(group, exports, &options.device)?;
    let toolchain = Toolchain::new(&options.device.tools, &[]);
    let work_dir = WorkDir::new(options.save_temps.as_deref(), "offlink")?;
    let context = Context {
        library: device::library(&jobs, &toolchain, &options.llvm_options)?,
        toolchain: &toolchain,
        style: Style::Cc,
        verbose: options.verbose,
        work_dir: &work_dir,
        llvm_options: &options.llvm_options,
    };
    match device::run_jobs(&jobs, &context, options.jobs)?.as_slice() {
        [image] => Ok(output_file::write_bytes(output, &image.data)?),
        images => Err(Error::SeveralImages {
            count: images.len(),
            target: target.to_string(),
            output: output.into(),
        }),
    }
}
