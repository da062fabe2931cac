//! `offlink wrap`: a container of images → a host object that registers them.

use crate::Error;
use crate::cli::UsageError;
use crate::device_input::DeviceInput;
use crate::mapped_file;
use crate::options::Options;
use crate::pipeline::bundle::Described;
use crate::pipeline::host::{self, Host};
use crate::pipeline::register::Registrar;
use crate::pipeline::scan::containers;
use crate::pipeline::work_dir::WorkDir;
use crate::request::{OutputKind, Style};
use crate::spirv_runtime::SpirvRuntime;
use crate::toolchain::Toolchain;
use bytes::Bytes;
use offlink_bundle::entry::Generation;
use offlink_bundle::image::ImageFormat;
use offlink_bundle::offload_binary::OffloadKind;
use std::path::{Path, PathBuf};

/// Make the host object whose constructor registers the images.
///
/// An offload binary is registered with OpenMP or, if its images are SYCL's, with
/// SYCL; a fatbin with CUDA, a HIP bundle with HIP. An offload binary of version
/// 2 is for LLVM 24's SYCL runtime, one of version 1 for LLVM 22's.
#[derive(Debug, clap::Args)]
pub struct Wrap {
    /// The host's triple
    #[arg(long, value_name = "TRIPLE", default_value = host::DEFAULT_HOST)]
    host_triple: String,
    /// The compiler driver for hosts other than x86-64 Linux
    #[arg(long, value_name = "PATH")]
    cc: Option<PathBuf>,
    /// The LLVM whose runtimes load SPIR-V images: 22 or 24
    #[arg(long, value_name = "N")]
    spirv_runtime: Option<SpirvRuntime>,
    /// The first LLVM with offload entries of the program's form: 19, 20 or 21
    #[arg(long, value_name = "N", default_value = "21")]
    entries_of_llvm: Generation,
    /// The object to write
    #[arg(short, long, value_name = "FILE")]
    output: PathBuf,
    /// The object is for a relocatable link, whose result 'offlink seal' takes
    #[arg(long)]
    relocatable: bool,
    /// Offload binaries, or one fatbin or HIP bundle
    #[arg(value_name = "FILE", required = true)]
    files: Vec<PathBuf>,
}

impl Wrap {
    pub(super) fn run(self, mut options: Options) -> Result<(), Error> {
        let tools = &mut options.device.tools;
        tools.cc = self.cc.clone().or(tools.cc.take());
        options.spirv_runtime = self.spirv_runtime.unwrap_or(options.spirv_runtime);
        for_host(&self.host_triple, &options, |registrar| {
            self.write(registrar)
        })
    }

    fn write(&self, registrar: &Registrar<'_>) -> Result<(), Error> {
        if let [file] = self.files.as_slice() {
            let container = mapped_file::map(file)?;
            let kind = match ImageFormat::detect(&container) {
                ImageFormat::Fatbin => Some(OffloadKind::Cuda),
                ImageFormat::HipBundle => Some(OffloadKind::Hip),
                ImageFormat::OffloadBinary if is_for_sycl(file, &container)? => {
                    Some(OffloadKind::Sycl)
                }
                _ => None,
            };
            if let Some(kind) = kind {
                let (entries, output_kind) = (self.entries_of_llvm, self.output_kind());
                let output = &self.output;
                return Ok(registrar.write_container(kind, file, entries, output_kind, output)?);
            }
        }
        self.offload_binaries(registrar)
    }

    fn offload_binaries(&self, registrar: &Registrar<'_>) -> Result<(), Error> {
        let inputs = images_of(&self.files)?;
        if let Some(other) = inputs
            .iter()
            .find(|input| input.kind != OffloadKind::OpenMp)
        {
            let kind = other.kind.as_str();
            if other.kind == OffloadKind::Sycl {
                let file = other.source.clone();
                return Err(UsageError::NotOneForSycl { file }.into());
            }
            return Err(UsageError::OtherContainer {
                file: other.source.clone(),
                kind,
            }
            .into());
        }
        let images: Vec<Described<'_>> = inputs.iter().map(Described::found).collect();
        let (entries, output_kind) = (self.entries_of_llvm, self.output_kind());
        Ok(registrar.write_openmp(&images, entries, output_kind, &self.output)?)
    }

    fn output_kind(&self) -> OutputKind {
        if self.relocatable {
            OutputKind::Relocatable
        } else {
            OutputKind::Executable
        }
    }
}

/// Lets `write` make registration objects for a host, outside of a link.
///
/// # Errors
/// What `write` returned, or that there is no place for temporary files.
fn for_host(
    triple: &str,
    options: &Options,
    write: impl FnOnce(&Registrar<'_>) -> Result<(), Error>,
) -> Result<(), Error> {
    let work_dir = WorkDir::new(options.save_temps.as_deref(), "offlink")?;
    write(&Registrar {
        host: &Host::of_triple(triple),
        toolchain: &Toolchain::new(&options.device.tools, &[]),
        style: Style::Ld,
        spirv_runtime: options.spirv_runtime,
        work_dir: &work_dir,
    })
}

/// The images in offload binaries.
///
/// # Errors
/// [`Error`] when a file can't be read or is no offload binary.
pub(in crate::cli) fn images_of(files: &[PathBuf]) -> Result<Vec<DeviceInput>, Error> {
    let mut inputs = Vec::new();
    for file in files {
        let data = mapped_file::map(file)?;
        let name = file.display().to_string();
        match ImageFormat::detect(&data) {
            ImageFormat::OffloadBinary => {
                inputs.extend(containers::offload_binary(&name, &data)?);
            }
            found => {
                let found = found.to_string();
                return Err(UsageError::NotToWrap { file: name, found }.into());
            }
        }
    }
    Ok(inputs)
}

/// Whether all images of the offload binaries are SYCL's.
fn is_for_sycl(file: &Path, container: &Bytes) -> Result<bool, Error> {
    let inputs = containers::offload_binary(&file.display().to_string(), container)?;
    let is_sycl = |input: &DeviceInput| input.kind == OffloadKind::Sycl;
    Ok(!inputs.is_empty() && inputs.iter().all(is_sycl))
}
