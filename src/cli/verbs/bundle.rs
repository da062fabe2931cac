//! `offlink bundle`: images → the container that their runtime reads.

use super::super::UsageError;
use crate::Error;
use crate::device_input::DeviceInput;
use crate::image_argument::ImageArgument;
use crate::mapped_file;
use crate::options::Compress;
use crate::output_file;
use crate::pipeline::bundle::{self, Described};
use crate::pipeline::host;
use crate::spirv_runtime::SpirvRuntime;
use offlink_bundle::offload_binary::{Compression, OffloadKind, Version};
use std::path::PathBuf;

/// Put images into the container that their runtime reads.
///
/// Images of kind openmp or sycl go into an offload binary, cuda into a fatbin,
/// hip into a HIP bundle; --format=offload-binary takes images of any kind.
#[derive(Debug, clap::Args)]
pub struct Bundle {
    /// The container; by default that of the images' kind
    #[arg(long, value_enum)]
    format: Option<Format>,
    /// The version of an offload binary: 1 is what LLVM up to 22 reads; by
    /// default what the runtime reads
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u8).range(1..=3))]
    version: Option<u8>,
    /// The LLVM whose runtimes load SPIR-V images: 22 or 24
    #[arg(long, value_name = "N", default_value = "22")]
    spirv_runtime: SpirvRuntime,
    /// Compress the images of a fatbin or a HIP bundle
    #[arg(long)]
    compress: bool,
    /// An image: file=F,triple=T,arch=A[,kind=K]
    #[arg(long, value_name = "IMAGE", required = true)]
    image: Vec<ImageArgument>,
    /// The host's triple, which a HIP bundle names
    #[arg(long, value_name = "TRIPLE", default_value = host::DEFAULT_HOST)]
    host_triple: String,
    /// The file to write
    #[arg(short, long, value_name = "FILE")]
    output: PathBuf,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Format {
    /// LLVM's offload binary
    OffloadBinary,
    /// CUDA's fatbin
    Fatbin,
    /// HIP's bundle
    HipBundle,
}

impl Bundle {
    pub(super) fn run(self) -> Result<(), Error> {
        let mut inputs = Vec::new();
        for image in &self.image {
            let data = mapped_file::map(&image.file)?;
            inputs.push(image.describe(data).map_err(UsageError::from)?);
        }
        let format = match self.format {
            Some(format) => format,
            None => format_of(&inputs)?,
        };
        let images: Vec<Described<'_>> = inputs.iter().map(Described::found).collect();
        let compress = Compress {
            cuda: self.compress,
            hip: self.compress,
            level: None,
        };
        let runtime = self.spirv_runtime;
        let kind = inputs.first().map_or(OffloadKind::None, |input| input.kind);
        let version = match self.version {
            Some(1) => Version::V1,
            Some(2) => Version::V2,
            Some(_) => Version::V3(Compression::DEFAULT),
            None => bundle::version(kind, runtime),
        };
        output_file::write(&self.output, |out| match format {
            Format::OffloadBinary => {
                bundle::offload_binary(&images, version, runtime, out).map_err(Error::from)
            }
            Format::Fatbin => bundle::fatbin(&images, compress, out).map_err(Error::from),
            Format::HipBundle => {
                bundle::hip_bundle(&images, compress, &self.host_triple, out).map_err(Error::from)
            }
        })
    }
}

fn format_of(inputs: &[DeviceInput]) -> Result<Format, UsageError> {
    let is_all = |kind| inputs.iter().all(|input| input.kind == kind);
    if is_all(OffloadKind::OpenMp) || is_all(OffloadKind::Sycl) {
        Ok(Format::OffloadBinary)
    } else if is_all(OffloadKind::Cuda) {
        Ok(Format::Fatbin)
    } else if is_all(OffloadKind::Hip) {
        Ok(Format::HipBundle)
    } else {
        Err(UsageError::MixedKinds)
    }
}
