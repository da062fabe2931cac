//! `offlink seal`: the result of a relocatable link, made ready for any linker.

use crate::Error;
use crate::pipeline::seal;
use std::path::PathBuf;

/// Give the offload entries of a relocatable object a name of their own, and
/// take out the device code that has been linked.
#[derive(Debug, clap::Args)]
pub struct Seal {
    /// The file to write; by default the object is changed in place
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// The object
    #[arg(value_name = "FILE")]
    file: PathBuf,
}

impl Seal {
    pub(super) fn run(self) -> Result<(), Error> {
        let output = self.output.as_deref().unwrap_or(&self.file);
        Ok(seal::seal_to(&self.file, output)?)
    }
}
