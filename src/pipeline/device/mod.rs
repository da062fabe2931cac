//! Running the jobs of a plan: device code becomes images.

mod amdgcn;
mod bitcode;
mod cached;
mod cpu;
mod elsewhere;
mod error;
mod key;
mod libraries;
mod linked;
mod memory;
mod nvptx;
mod remarks;
mod reproducer;
mod spirv;

pub use error::DeviceError;
pub(super) use key::{libraries as possible_libraries, tool_if_there_is_one, tools};

use super::plan::{DeviceLink, Job, Work};
use super::work_dir::WorkDir;
use crate::device_input::DeviceInput;
use crate::options::Options;
use crate::output_file;
use crate::progress::Progress;
use crate::request::Style;
use crate::target::{Device, Target};
use crate::timing;
use crate::toolchain::Toolchain;
use bytes::Bytes;
use cached::ImageCache;
use key::Stage;
use linked::LinkedModules;
use memory::Budget;
use offlink_bundle::image::ImageFormat;
use offlink_bundle::offload_binary::OffloadKind;
use offlink_llvm::Library;
use remarks::Remarks;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

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
#[derive(Clone, Debug, Serialize, Deserialize)]
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

/// What all jobs of a link have in common.
pub struct Setting<'a> {
    jobs: &'a [Job],
    toolchain: &'a Toolchain,
    options: &'a Options,
    style: Style,
    /// What the whole link makes.
    output: PathBuf,
    /// For temporary files; jobs use names that begin with their target.
    work_dir: &'a WorkDir,
    cache: Option<ImageCache>,
    /// For the parts of big links.
    budget: Budget,
    /// The bitcode of jobs that link the same.
    linked: LinkedModules,
    llvm_by_name: OnceLock<Option<PathBuf>>,
}

/// What a job may use besides its inputs.
struct Context<'a> {
    /// Where tools are looked for.
    toolchain: &'a Toolchain,
    /// The host linker's kind of line, for CPU images.
    style: Style,
    /// What all jobs have in common.
    setting: &'a Setting<'a>,
    /// What is said about the job's image.
    remarks: &'a Remarks,
}

impl<'a> Setting<'a> {
    /// For a link that makes `output` of images, whose jobs these are; `style` is
    /// that of its line.
    pub fn new(
        jobs: &'a [Job],
        toolchain: &'a Toolchain,
        options: &'a Options,
        style: Style,
        work_dir: &'a WorkDir,
        output: &Path,
    ) -> Self {
        Self {
            jobs,
            toolchain,
            options,
            style,
            output: output.into(),
            work_dir,
            cache: ImageCache::of_link(options, output, work_dir),
            budget: Budget::new(options.jobs, options.memory),
            linked: LinkedModules::default(),
            llvm_by_name: OnceLock::new(),
        }
    }

    /// Does `work`, for a device link for `target`, with what that may use.
    fn with_context<T>(&self, target: &Target, work: impl FnOnce(&Context<'_>) -> T) -> T {
        work(&Context {
            toolchain: &self.toolchain.for_target(target),
            style: self.style,
            setting: self,
            remarks: &Remarks::new(self.options.verbose),
        })
    }

    /// The temporary files of a job.
    fn files(&self, position: usize) -> Files<'a> {
        Files {
            work_dir: self.work_dir,
            stem: format!("{position}-{}", self.jobs[position].target.file_stem()),
        }
    }

    /// The image of a job.
    fn image(&self, position: usize, Linked { data, symbols }: Linked) -> DeviceImage {
        let Job { target, kinds, .. } = &self.jobs[position];
        DeviceImage {
            target: target.clone(),
            kinds: kinds.clone(),
            data,
            symbols,
        }
    }

    /// The bitcode of all jobs. The process has one libLLVM for all of it.
    fn bitcode(&self) -> Vec<&'a DeviceInput> {
        let links = self.jobs.iter().filter_map(|job| match &job.work {
            Work::Link(link) => Some(&link.bitcode),
            Work::PassOn(_) => None,
        });
        links.flatten().collect()
    }

    /// The libLLVM that [`Self::library`] will open, which is found without opening
    /// any; `None` if there is none.
    fn llvm_by_name(&self) -> Option<&Path> {
        let path = self
            .llvm_by_name
            .get_or_init(|| self.toolchain.llvm_by_name(&self.bitcode()));
        path.as_deref()
    }

    /// Whether the libLLVM that is open is the one that was found before.
    fn has_opened_llvm_by_name(&self) -> bool {
        if Library::IS_BUILT_IN {
            return true;
        }
        let found = self.llvm_by_name().map(Path::canonicalize);
        matches!((found, self.library()), (Some(Ok(found)), Ok(opened)) if opened.path() == found)
    }

    /// The libLLVM for the bitcode of all jobs, opened if none was, with its
    /// options set. LLVM takes an option once, but clang 22 may send it twice.
    ///
    /// # Errors
    /// [`DeviceError::Llvm`] when none fits, [`DeviceError::LlvmOption`] when it
    /// does not take the options.
    fn library(&self) -> Result<&'static Library, DeviceError> {
        let library = self.toolchain.llvm(self.bitcode())?;
        let mut once: Vec<String> = Vec::new();
        for option in &self.options.llvm_options {
            if !once.contains(option) {
                once.push(option.clone());
            }
        }
        if !once.is_empty() {
            library.configure(&once)?;
        }
        Ok(library)
    }
}

/// Runs all jobs, several at a time (by default, as the caller's jobserver allows),
/// and returns their images in the jobs' order. What was made before comes from the
/// cache.
///
/// # Errors
/// The [`DeviceError`] of the first job, in their order, that fails.
pub fn link_all(setting: &Setting<'_>) -> Result<Vec<DeviceImage>, DeviceError> {
    let progress = Progress::start(setting.jobs.len());
    let mut elsewhere = elsewhere::link(setting, &progress)?;
    let jobs = setting.jobs.iter().enumerate();
    let rest: Vec<(usize, &Job)> = jobs
        .filter(|(position, _)| !elsewhere.contains_key(position))
        .collect();
    let here = offlink_jobs::map(&rest, setting.options.jobs, |_, &(position, job)| {
        let target = job.target.to_string();
        progress.during(&target, || {
            timing::job(&target, || run_job(job, position, setting))
        })
    })?;
    elsewhere.extend(rest.iter().map(|(position, _)| *position).zip(here));
    if let Some(cache) = &setting.cache {
        cache.tidy();
    }
    Ok(elsewhere.into_values().collect())
}

fn run_job(job: &Job, position: usize, setting: &Setting<'_>) -> Result<DeviceImage, DeviceError> {
    let linked = match &job.work {
        Work::PassOn(input) => input.data.clone().into(),
        Work::Link(link) => {
            let target = &job.target;
            let files = setting.files(position);
            let linked =
                setting.with_context(target, |context| link_one(target, link, context, &files));
            let llvm_options = &setting.options.llvm_options;
            linked
                .map_err(|error| error.keeping(|| reproducer::keep(target, link, llvm_options)))?
        }
    };
    Ok(setting.image(position, linked))
}

fn link_one(
    target: &Target,
    link: &DeviceLink,
    context: &Context<'_>,
    files: &Files<'_>,
) -> Result<Linked, DeviceError> {
    let is_cpu = matches!(target.device(), Device::X86_64(_));
    let make = || {
        // Without a libLLVM it is of no use to look for other tools.
        if !link.bitcode.is_empty() && !is_cpu {
            context.setting.library()?;
        }
        match target.device() {
            Device::Nvptx(arch) => nvptx::link(target, *arch, link, context, files),
            Device::Amdgcn(id) => amdgcn::link(target, *id, link, context, files),
            Device::X86_64(cpu) => cpu::link(target, cpu, link, context, files),
            Device::SpirV => spirv::link(target, link, context, files),
        }
    };
    if is_cpu {
        // Of a CPU's image a part is kept, by its own module.
        return make();
    }
    cached::get_or_make(Stage::Image, target, link, context, make)
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
