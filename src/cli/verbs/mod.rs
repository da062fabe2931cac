//! offlink's own verbs: the single steps of a link, a look at a file, and
//! what has to do with offlink itself.

mod bundle;
mod cache;
mod doctor;
mod extract;
mod inspect;
mod link;
mod seal;
pub(super) mod wrap;

use super::{UsageError, own_options};
use crate::Error;
use crate::build_system::{self, BuildSystemError};
use crate::options::{DeviceOptions, Options};
use crate::response_file;
use clap::Parser;
use std::ffi::{OsStr, OsString};
use std::process::ExitCode;

/// The first words that are verbs and not arguments of a foreign line.
pub const NAMES: [&str; 8] = [
    "bundle", "cache", "doctor", "extract", "inspect", "link", "seal", "wrap",
];

/// A verb with its arguments and the own options of its line.
#[derive(Debug)]
pub struct Verb {
    arguments: Arguments,
    options: Options,
}

#[derive(Debug, Parser)]
#[command(
    name = "offlink",
    version,
    disable_help_subcommand = true,
    after_help = "Also: --toolchain=FILE, --hermetic and the other options of 'offlink --help'"
)]
enum Arguments {
    Extract(extract::Extract),
    Link(Box<link::Link>),
    Bundle(bundle::Bundle),
    Wrap(wrap::Wrap),
    Seal(seal::Seal),
    Inspect(inspect::Inspect),
    Doctor(doctor::Doctor),
    Cache(cache::Cache),
}

/// Reads a verb's line, `arguments` beginning with the verb.
///
/// # Errors
/// [`UsageError`] when it makes no sense.
pub fn parse(
    program: &OsStr,
    arguments: &[OsString],
    mut options: Options,
) -> Result<Verb, UsageError> {
    let arguments = response_file::expand_lines(arguments.to_vec())?;
    let arguments = response_file::expand(arguments);
    let arguments = own_options::without_prefix(arguments)?;
    let arguments = own_options::take_out(arguments, &mut options)?;
    let line = std::iter::once(program.to_owned()).chain(arguments);
    match Arguments::try_parse_from(line) {
        Ok(arguments) => Ok(Verb { arguments, options }),
        // Help and version are no errors; clap prints them and ends.
        Err(error) if !error.use_stderr() => error.exit(),
        Err(error) => Err(error.into()),
    }
}

impl Verb {
    /// Whether details of errors are to be shown.
    pub fn verbose(&self) -> bool {
        self.options.verbose
    }

    /// The own options of its line.
    pub fn options(&self) -> &Options {
        &self.options
    }

    /// Does it; returns how to end where nothing went wrong.
    ///
    /// # Errors
    /// Whatever went wrong.
    pub fn run(self) -> Result<ExitCode, Error> {
        let is_link = matches!(self.arguments, Arguments::Link(_));
        if self.options.build_system.print_inputs && !is_link {
            return Err(BuildSystemError::NoLink.into());
        }
        let options = self.options.clone();
        let done = match self.arguments {
            Arguments::Extract(extract) => extract.run(&self.options),
            Arguments::Link(link) => link.run(self.options),
            Arguments::Bundle(bundle) => bundle.run(),
            Arguments::Wrap(wrap) => wrap.run(self.options),
            Arguments::Seal(seal) => seal.run(),
            Arguments::Inspect(inspect) => inspect.run(),
            Arguments::Doctor(doctor) => return doctor.run(&self.options),
            Arguments::Cache(cache) => return cache.run(&self.options),
        };
        done?;
        build_system::finish(&options)?;
        Ok(ExitCode::SUCCESS)
    }
}

/// Flags that name tools, in the verbs that need some.
#[derive(Debug, clap::Args)]
struct ToolFlags {
    /// The libLLVM to use
    #[arg(long, value_name = "PATH")]
    llvm: Option<std::path::PathBuf>,
    /// The ptxas to use
    #[arg(long, value_name = "PATH")]
    ptxas: Option<std::path::PathBuf>,
    /// The nvlink to use
    #[arg(long, value_name = "PATH")]
    nvlink: Option<std::path::PathBuf>,
    /// The lld to use for AMD images
    #[arg(long, value_name = "PATH")]
    lld: Option<std::path::PathBuf>,
    /// The spirv-link to use where SPIR-V modules join
    #[arg(long, value_name = "PATH")]
    spirv_link: Option<std::path::PathBuf>,
    /// The libdevice to use
    #[arg(long, value_name = "PATH")]
    libdevice: Option<std::path::PathBuf>,
    /// The folder of ROCm's device libraries to use
    #[arg(long, value_name = "DIR")]
    rocm_device_libs: Option<std::path::PathBuf>,
    /// The compiler driver that links CPU images
    #[arg(long, value_name = "PATH")]
    host_linker: Option<std::path::PathBuf>,
}

impl ToolFlags {
    fn apply(self, options: &mut DeviceOptions) {
        let tools = &mut options.tools;
        for (flag, slot) in [
            (self.llvm, &mut tools.llvm),
            (self.ptxas, &mut tools.ptxas),
            (self.nvlink, &mut tools.nvlink),
            (self.lld, &mut tools.lld),
            (self.spirv_link, &mut tools.spirv_link),
            (self.libdevice, &mut tools.libdevice),
            (self.rocm_device_libs, &mut tools.rocm_device_libs),
            (self.host_linker, &mut tools.host_linker),
        ] {
            if flag.is_some() {
                *slot = flag;
            }
        }
    }
}
