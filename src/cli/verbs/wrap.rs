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
use crate::toolchain::Toolchain;
use offlink_bundle::image::ImageFormat;
use offlink_bundle::offload_binary::OffloadKind;
use std::path::PathBuf;

/// Make the host object whose constructor registers the images.
///
/// An offload binary is registered with OpenMP, a fatbin with CUDA, a HIP bundle
/// with HIP.
#[derive(Debug, clap::Args)]
pub struct Wrap {
    /// The host's triple
    #[arg(long, value_name = "TRIPLE", default_value = host::DEFAULT_HOST)]
    host_triple: String,
    /// The compiler driver for hosts other than x86-64 Linux
    #[arg(long, value_name = "PATH")]
    cc: Option<PathBuf>,
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
                _ => None,
            };
            if let Some(kind) = kind {
                return Ok(registrar.write_container(kind, file, &self.output)?);
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
            return Err(UsageError::OtherContainer {
                file: other.source.clone(),
                kind,
            }
            .into());
        }
        let images: Vec<Described<'_>> = inputs.iter().map(Described::found).collect();
        let output_kind = if self.relocatable {
            OutputKind::Relocatable
        } else {
            OutputKind::Executable
        };
        Ok(registrar.write_openmp(&images, output_kind, &self.output)?)
    }
}

/// Lets `write` make registration objects for a host, outside of a link.
///
/// # Errors
/// What `write` returned, or that there is no place for temporary files.
pub(in crate::cli) fn for_host(
    triple: &str,
    options: &Options,
    write: impl FnOnce(&Registrar<'_>) -> Result<(), Error>,
) -> Result<(), Error> {
    let work_dir = WorkDir::new(options.save_temps.as_deref(), "offlink")?;
    write(&Registrar {
        host: &Host::of_triple(triple),
        toolchain: &Toolchain::new(&options.device.tools, &[]),
        style: Style::Ld,
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
