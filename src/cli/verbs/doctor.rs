//! `offlink doctor`: what a link would use, and where a program's kernels run.

use crate::Error;
use crate::doctor::devices::Devices;
use crate::doctor::{program, text, tools};
use crate::options::Options;
use crate::report;
use crate::toolchain::Toolchain;
use serde::Serialize;
use std::path::PathBuf;
use std::process::ExitCode;

/// Say which tools a link would use and what is missing; or, for programs, which
/// device runs which image, and why not.
///
/// The exit code is 1 if a tool that is named can't be used, or if a program's
/// kernels run on no device.
#[derive(Debug, clap::Args)]
pub struct Doctor {
    /// Print JSON
    #[arg(long)]
    json: bool,
    /// Where /proc and /sys are
    #[arg(long, value_name = "DIR", default_value = "/", hide = true)]
    root: PathBuf,
    /// Programs and shared libraries
    #[arg(value_name = "PROGRAM")]
    programs: Vec<PathBuf>,
}

impl Doctor {
    pub(super) fn run(self, options: &Options) -> Result<ExitCode, Error> {
        let toolchain = Toolchain::new(&options.device.tools, &[]);
        let devices = Devices::of_machine(&self.root, &toolchain);
        if self.programs.is_empty() {
            let found = tools::find(options, &toolchain, &devices)?;
            return self.print(&found, text::tools(&found), found.is_usable());
        }
        let mut reports = Vec::new();
        for program in &self.programs {
            reports.push(program::examine(program, &devices)?);
        }
        let works = reports.iter().all(program::Report::works);
        self.print(&reports, text::programs(&reports), works)
    }

    fn print(&self, found: &impl Serialize, text: String, good: bool) -> Result<ExitCode, Error> {
        let text = if self.json {
            report::json(found)?
        } else {
            text
        };
        report::print(&text)?;
        Ok(ExitCode::from(u8::from(!good)))
    }
}
