//! `offlink wrap`: offload binaries → a host object that registers them.

use crate::Error;
use crate::mapped_file;
use crate::pipeline::{bundle, register, scan};
use std::path::PathBuf;

/// Make the host object whose constructor registers the images.
#[derive(Debug, clap::Args)]
pub struct Wrap {
    /// The host's triple
    #[arg(long, value_name = "TRIPLE", default_value = register::DEFAULT_HOST)]
    host_triple: String,
    /// The object to write
    #[arg(short, long, value_name = "FILE")]
    output: PathBuf,
    /// Offload binaries
    #[arg(value_name = "FILE", required = true)]
    files: Vec<PathBuf>,
}

impl Wrap {
    pub(super) fn run(self) -> Result<(), Error> {
        let mut inputs = Vec::new();
        for file in &self.files {
            let data = mapped_file::map(file)?;
            inputs.extend(scan::offload_binary(&file.display().to_string(), &data)?);
        }
        let images: Vec<_> = inputs.iter().map(bundle::found).collect();
        Ok(register::write_object(
            &images,
            Some(&self.host_triple),
            &self.output,
        )?)
    }
}
