//! `offlink inspect`: what device code a file holds.

use crate::Error;
use crate::inspect::{self, FileReport};
use crate::report;
use std::path::PathBuf;

/// List the device code and the offload entries of files.
#[derive(Debug, clap::Args)]
pub struct Inspect {
    /// Print JSON
    #[arg(long)]
    json: bool,
    /// Programs, libraries, objects, archives, offload binaries
    #[arg(value_name = "FILE", required = true)]
    files: Vec<PathBuf>,
}

impl Inspect {
    pub(super) fn run(self) -> Result<(), Error> {
        let mut reports: Vec<FileReport> = Vec::new();
        for file in &self.files {
            reports.push(inspect::file(file)?);
        }
        let text = if self.json {
            report::json(&reports)?
        } else {
            inspect::text(&reports)
        };
        report::print(&text)
    }
}
