//! `offlink seal`: the result of a relocatable link, made ready for any linker.

use crate::Error;
use crate::pipeline::seal;
use std::path::PathBuf;

/// Give the offload entries of a relocatable object a name of their own, and
/// take out the device code that has been linked.
#[derive(Debug, clap::Args)]
pub struct Seal {
    /// The object, changed in place
    #[arg(value_name = "FILE")]
    file: PathBuf,
}

impl Seal {
    pub(super) fn run(self) -> Result<(), Error> {
        Ok(seal::in_place(&self.file)?)
    }
}
