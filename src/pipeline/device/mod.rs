//! Running the jobs of a plan: device code becomes images.

mod amdgcn;
mod bitcode;
mod cpu;
mod error;
mod libraries;
mod nvptx;
mod reproducer;
mod spirv;

pub use error::DeviceError;

use super::plan::{Job, Plan, Work};
use super::work_dir::WorkDir;
use crate::device_input::DeviceInput;
use crate::output_file;
use crate::request::{Request, Style};
use crate::target::{Device, Target};
use crate::toolchain::Toolchain;
use bytes::Bytes;
use offlink_bundle::image::ImageFormat;
use offlink_bundle::offload_binary::OffloadKind;
use offlink_llvm::Library;
use std::collections::BTreeSet;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};

/// A finished image.
#[derive(Clone, Debug)]
pub struct DeviceImage {
    /// What it is for.
    pub target: Target,
    /// Who launches its kernels, in ascending order.
    pub kinds: Vec<OffloadKind>,
    /// The image.
    pub data: Bytes,
    /// What it defines, where that can't be read from the image: bitcode.
    pub symbols: Option<ImageSymbols>,
}

/// The symbols that an image defines, as the compile that made it reports them.
#[derive(Clone, Debug)]
pub struct ImageSymbols {
    /// The kernels.
    pub kernels: BTreeSet<String>,
    /// All that the host can look up.
    pub all: BTreeSet<String>,
}

/// What a device link made.
struct Linked {
    data: Bytes,
    symbols: Option<ImageSymbols>,
}

impl From<Bytes> for Linked {
    fn from(data: Bytes) -> Self {
        let symbols = None;
        Self { data, symbols }
    }
}

impl DeviceImage {
    /// What the user should know about the image.
    pub fn warning(&self) -> Option<String> {
        let is_ptx = ImageFormat::detect(&self.data) == ImageFormat::Ptx;
        (is_ptx && self.kinds.contains(&OffloadKind::OpenMp)).then(|| {
            format!(
                "the image for {} is PTX, which LLVM 22's OpenMP runtime does not load; leave \
                 out --offlink-emit=ptx to make a cubin",
                self.target
            )
        })
    }
}

/// What a job may use besides its inputs.
pub struct Context<'a> {
    /// Where tools are looked for.
    pub toolchain: &'a Toolchain,
    /// libLLVM, opened if any job has bitcode.
    pub library: Option<&'static Library>,
    /// The host linker's kind of line, for CPU images.
    pub style: Style,
    /// LLVM's warnings are shown.
    pub verbose: bool,
    /// For temporary files; jobs use names that begin with their target.
    pub work_dir: &'a WorkDir,
    /// Options for LLVM itself.
    pub llvm_options: &'a [String],
}

/// Runs all jobs, several at a time, and returns their images in the plan's
/// order.
///
/// # Errors
/// The [`DeviceError`] of the first job, in the plan's order, that fails.
pub fn link_all(
    plan: &Plan,
    toolchain: &Toolchain,
    request: &Request,
    work_dir: &WorkDir,
) -> Result<Vec<DeviceImage>, DeviceError> {
    let context = Context {
        toolchain,
        library: library(&plan.jobs, toolchain, &request.options.llvm_options)?,
        style: request.style,
        verbose: request.options.verbose,
        work_dir,
        llvm_options: &request.options.llvm_options,
    };
    run_jobs(&plan.jobs, &context, request.options.jobs)
}

/// Runs jobs, up to `limit` at a time (by default, as the caller's jobserver allows).
///
/// # Errors
/// As [`link_all`].
pub fn run_jobs(
    jobs: &[Job],
    context: &Context<'_>,
    limit: Option<NonZeroUsize>,
) -> Result<Vec<DeviceImage>, DeviceError> {
    offlink_jobs::map(jobs, limit, |position, job| run_job(job, position, context))
}

fn run_job(job: &Job, position: usize, context: &Context<'_>) -> Result<DeviceImage, DeviceError> {
    let Linked { data, symbols } = match &job.work {
        Work::PassOn(input) => input.data.clone().into(),
        Work::Link(link) => {
            let files = Files {
                work_dir: context.work_dir,
                stem: format!("{position}-{}", job.target.file_stem()),
            };
            let target = &job.target;
            let linked = match target.device() {
                Device::Nvptx(arch) => nvptx::link(target, *arch, link, context, &files),
                Device::Amdgcn(id) => amdgcn::link(target, *id, link, context, &files),
                Device::X86_64(cpu) => cpu::link(target, cpu, link, context, &files),
                Device::SpirV => spirv::link(target, link, context, &files),
            };
            linked.map_err(|error| {
                error.keeping(|| reproducer::keep(target, link, context.llvm_options))
            })?
        }
    };
    Ok(DeviceImage {
        target: job.target.clone(),
        kinds: job.kinds.clone(),
        data,
        symbols,
    })
}

/// The temporary files of one job: their names tell the target and do not
/// depend on anything but the plan.
pub(crate) struct Files<'a> {
    work_dir: &'a WorkDir,
    stem: String,
}

impl Files<'_> {
    /// The path of the job's file with this ending.
    fn path(&self, ending: &str) -> PathBuf {
        self.work_dir.file(&format!("{}.{ending}", self.stem))
    }

    /// Writes an input of a tool.
    fn write(&self, ending: &str, contents: &[u8]) -> Result<PathBuf, DeviceError> {
        let path = self.path(ending);
        output_file::write_bytes(&path, contents)?;
        Ok(path)
    }

    /// Writes inputs of a tool under numbered names.
    fn write_all(&self, inputs: &[DeviceInput], ending: &str) -> Result<Vec<PathBuf>, DeviceError> {
        let numbered = inputs.iter().enumerate();
        numbered
            .map(|(number, input)| self.write(&format!("{number}.{ending}"), &input.data))
            .collect()
    }

    /// Reads what a tool has made.
    fn read(&self, path: &Path) -> Result<Bytes, DeviceError> {
        Ok(crate::mapped_file::map(path)?)
    }
}

/// The libLLVM that all bitcode of the jobs can be linked with, if there is
/// any, with these options set.
///
/// # Errors
/// [`DeviceError::Llvm`] when none fits, [`DeviceError::LlvmOption`] when it does
/// not take the options.
pub fn library(
    jobs: &[Job],
    toolchain: &Toolchain,
    llvm_options: &[String],
) -> Result<Option<&'static Library>, DeviceError> {
    let bitcode: Vec<&DeviceInput> = jobs
        .iter()
        .filter_map(|job| match &job.work {
            Work::Link(link) => Some(&link.bitcode),
            Work::PassOn(_) => None,
        })
        .flatten()
        .collect();
    if bitcode.is_empty() {
        return Ok(None);
    }
    Ok(Some(open(toolchain, bitcode, llvm_options)?))
}

/// The libLLVM for this bitcode, with its options set. LLVM takes an option
/// once, but clang 22 may send it twice.
fn open<'a>(
    toolchain: &Toolchain,
    bitcode: impl IntoIterator<Item = &'a DeviceInput>,
    llvm_options: &[String],
) -> Result<&'static Library, DeviceError> {
    let library = toolchain.llvm(bitcode)?;
    if !llvm_options.is_empty() {
        let mut once: Vec<String> = Vec::new();
        for option in llvm_options {
            if !once.contains(option) {
                once.push(option.clone());
            }
        }
        library.configure(&once)?;
    }
    Ok(library)
}
