//! `offlink bundle`: images → offload binary.

use crate::Error;
use crate::image_argument::ImageArgument;
use crate::output_file;
use crate::pipeline::bundle;
use offlink_bundle::offload_binary::{self, Compression, Image, Version};
use std::path::PathBuf;

/// Put images into an offload binary.
#[derive(Debug, clap::Args)]
pub struct Bundle {
    /// The version of the format: 1 is what LLVM up to 22 reads
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u8).range(1..=3))]
    version: u8,
    /// An image: file=F,triple=T,arch=A[,kind=K]
    #[arg(long, value_name = "IMAGE", required = true)]
    image: Vec<ImageArgument>,
    /// The file to write
    #[arg(short, long, value_name = "FILE")]
    output: PathBuf,
}

impl Bundle {
    pub(super) fn run(self) -> Result<(), Error> {
        let mut inputs = Vec::new();
        for image in &self.image {
            inputs.push(image.load()?);
        }
        let images: Vec<Image<'_>> = inputs.iter().map(bundle::found).collect();
        let version = match self.version {
            1 => Version::V1,
            2 => Version::V2,
            _ => Version::V3(Compression::DEFAULT),
        };
        output_file::write(&self.output, |out| {
            offload_binary::write(&images, version, out).map_err(Error::from)
        })
    }
}
