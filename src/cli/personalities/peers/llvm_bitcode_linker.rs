//! llvm-bitcode-linker: what rustc calls to link for nvptx64-nvidia-cuda. The
//! options are those of rustc 1.97.

use crate::cli::UsageError;
use crate::options::{Emit, Options};
use crate::pipeline::device_target::{DeviceTargetLink, File};
use crate::{Error, timing};
use clap::Parser;
use offlink_ptx::PtxVersion;
use std::ffi::OsString;
use std::path::PathBuf;

const NAME: &str = "llvm-bitcode-linker";

/// Link bitcode for a GPU into PTX or an image.
#[derive(Debug, Parser)]
#[command(name = NAME, version)]
struct Line {
    /// The device triple
    #[arg(long, value_name = "TRIPLE")]
    target: String,
    /// The processor
    #[arg(long, value_name = "CPU")]
    target_cpu: Option<String>,
    /// Target features, of which +ptxNN says the lowest PTX version
    #[arg(long, value_name = "FEATURES", allow_hyphen_values = true)]
    target_feature: Option<String>,
    /// The file to write: PTX if its name ends in .ptx and nothing else is asked for
    #[arg(short, long, value_name = "FILE")]
    output: PathBuf,
    /// Taken and not needed: the bitcode's debug information is kept
    #[arg(long)]
    debug: bool,
    /// Taken and not needed: all bitcode is always linked together
    #[arg(long)]
    lto: bool,
    /// Taken and not needed: rustc names libraries by path
    #[arg(short = 'L', value_name = "DIR")]
    library_dir: Vec<PathBuf>,
    /// Optimisation level
    #[arg(short = 'O', value_name = "LEVEL", default_value = "0", value_parser = ["0", "1", "2", "3", "s", "z"])]
    optimization: String,
    /// Keep this symbol
    #[arg(long, value_name = "NAME")]
    export_symbol: Vec<String>,
    /// Bitcode, and archives of it such as rlibs
    #[arg(value_name = "FILE")]
    files: Vec<PathBuf>,
}

/// Whether these are the words of a line that rustc writes for the program: a
/// compiler driver knows `--target` as well, but not `--target-cpu`.
pub fn is_line(arguments: &[OsString]) -> bool {
    let has = |option: &str| {
        arguments.iter().any(|argument| {
            let argument = argument.to_string_lossy();
            let rest = argument.strip_prefix(option);
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('='))
        })
    };
    has("--target") && has("--target-cpu")
}

/// Carries the line out.
///
/// # Errors
/// [`Error`] when the line makes no sense or the link fails.
pub fn run(arguments: Vec<OsString>, options: Options) -> Result<(), Error> {
    let words = std::iter::once(OsString::from(NAME)).chain(arguments);
    match Line::try_parse_from(words) {
        Ok(line) => {
            let outcome = line.into_link(options.clone()).run();
            timing::reported(outcome, &options, None)
        }
        // Help and version are no errors; clap prints them and ends.
        Err(error) if !error.use_stderr() => error.exit(),
        Err(error) => Err(UsageError::from(error).into()),
    }
}

impl Line {
    fn into_link(self, mut options: Options) -> DeviceTargetLink {
        let is_ptx = self.output.extension().is_some_and(|it| it == "ptx");
        let is_listed = !options.archs.targets(&self.target).is_empty();
        let device = &mut options.device;
        if is_ptx && !is_listed && !options.emit_is_chosen {
            device.emit = Emit::Ptx;
        }
        device.ptx_version = self.target_feature.as_deref().and_then(ptx_version);
        device.opt_level = match self.optimization.as_str() {
            "0" => 0,
            "1" => 1,
            "3" => 3,
            _ => 2,
        };
        let files = self.files.into_iter();
        DeviceTargetLink {
            triple: self.target,
            cpu: self.target_cpu,
            files: files.map(|path| File { path, whole: false }).collect(),
            exports: Some(self.export_symbol),
            options,
            output: self.output,
        }
    }
}

/// The PTX version in a list of features: `+ptx78`.
fn ptx_version(features: &str) -> Option<PtxVersion> {
    let numbers = features
        .split(',')
        .filter_map(|feature| feature.strip_prefix("+ptx")?.parse().ok());
    numbers.max().map(PtxVersion::new)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    fn words(line: &str) -> Vec<OsString> {
        line.split_whitespace().map(OsString::from).collect()
    }

    fn link(line: &str, options: Options) -> DeviceTargetLink {
        let line = format!("{NAME} {line}");
        Line::try_parse_from(words(&line))
            .unwrap()
            .into_link(options)
    }

    /// The shape that rustc 1.97 sends.
    const RUSTC: &str = "--export-symbol saxpy --export-symbol twice a.rcgu.o liblang.rlib -L raw \
        --target nvptx64-nvidia-cuda --target-cpu sm_70 --target-feature=+ptx70 -L self-contained \
        -o kernels.ptx -O3 --debug";

    #[test]
    fn a_line_of_rustc() {
        assert!(is_line(&words(RUSTC)));
        assert!(!is_line(&words(
            "--target=nvptx64-nvidia-cuda -march=sm_90 a.o"
        )));
        let link = link(RUSTC, Options::default());
        assert_eq!(link.cpu.as_deref(), Some("sm_70"));
        assert_eq!(link.exports.unwrap(), ["saxpy", "twice"]);
        assert_eq!(link.files.len(), 2);
        assert_eq!(link.output, Path::new("kernels.ptx"));
        assert_eq!(link.options.device.opt_level, 3);
        assert_eq!(link.options.device.emit, Emit::Ptx);
        assert_eq!(link.options.device.ptx_version, Some(PtxVersion::new(70)));
    }

    #[test]
    fn what_is_made() {
        let emit = |option: &str, output: &str| {
            let mut options = Options::default();
            if !option.is_empty() {
                options.take(option.as_ref()).unwrap();
            }
            let line = format!("--target nvptx64-nvidia-cuda -o {output} a.o");
            link(&line, options).options.device.emit
        };
        assert_eq!(emit("", "k.ptx"), Emit::Ptx);
        assert_eq!(emit("", "k.cubin"), Emit::Image);
        assert_eq!(emit("--offlink-emit=cubin", "k.ptx"), Emit::Image);
        assert_eq!(emit("--offlink-archs=sm_90", "k.ptx"), Emit::Image);
        assert_eq!(emit("--offlink-archs=gfx90a", "k.ptx"), Emit::Ptx);
        assert_eq!(emit("--offlink-emit=ptx", "k.cubin"), Emit::Ptx);
    }
}
