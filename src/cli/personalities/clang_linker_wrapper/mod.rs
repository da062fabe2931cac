//! clang-linker-wrapper's line: its own options among an ld line's, as clang
//! 19 to 22 send it, with those that LLVM's main branch has added. What offlink
//! can't carry out is refused, never skipped.

mod device_argument;
mod product;

use super::{cc::is_lld, ld, lld_link};
use crate::cli::{Command, UsageError, help};
use crate::device_setting::{Change, DeviceSetting};
use crate::options::{Choice, Emit, Options, split_once, strip_prefix};
use crate::request::Request;
use crate::wrapper_request::{LlvmOption, TimeTraceFile, WrapperRequest};
use std::ffi::{OsStr, OsString};
use std::time::Duration;

/// What an option of the wrapper means to offlink.
#[derive(Clone, Copy)]
enum Meaning {
    LinkerPath,
    HostTriple,
    CudaPath,
    DeviceCompiler,
    DeviceLinker,
    /// `O0` to `O3`, for all devices.
    OptLevel,
    PtxasArgument,
    Jobs,
    DryRun,
    Verbose,
    SaveTemps,
    EmbedBitcode,
    PrintModule,
    OverrideImage,
    BundleOnly,
    ImagesOnly,
    /// `TRIPLE,ARCH`; the file is the next argument.
    ImageOutput,
    TimeTrace,
    TimeTraceGranularity,
    /// For LLVM; the value of `-mllvm` is the next argument.
    Mllvm,
    LlvmOption,
    /// Of HIP bundles.
    Compress,
    CompressionLevel,
    /// Changes nothing about what offlink makes.
    Ignored,
    /// What the wrapper tells itself about one device link.
    Internal,
    Version,
    Help,
}

/// Name, whether a value follows after `=`, meaning. The names are those that
/// `clang-linker-wrapper --help` and `--help-hidden` list (22.1.8 and main).
const TABLE: &[(&str, bool, Meaning)] = &[
    ("linker-path", true, Meaning::LinkerPath),
    ("host-triple", true, Meaning::HostTriple),
    ("cuda-path", true, Meaning::CudaPath),
    ("device-linker", true, Meaning::DeviceLinker),
    ("linker-arg", true, Meaning::DeviceLinker),
    ("device-compiler", true, Meaning::DeviceCompiler),
    ("compiler-arg", true, Meaning::DeviceCompiler),
    ("wrapper-jobs", true, Meaning::Jobs),
    ("dry-run", false, Meaning::DryRun),
    ("wrapper-verbose", false, Meaning::Verbose),
    ("save-temps", false, Meaning::SaveTemps),
    ("embed-bitcode", false, Meaning::EmbedBitcode),
    ("print-wrapped-module", false, Meaning::PrintModule),
    ("override-image", true, Meaning::OverrideImage),
    ("emit-fatbin-only", false, Meaning::BundleOnly),
    ("emit-device-images-only", false, Meaning::ImagesOnly),
    ("device-image-output", true, Meaning::ImageOutput),
    ("wrapper-time-trace", true, Meaning::TimeTrace),
    (
        "wrapper-time-trace-granularity",
        true,
        Meaning::TimeTraceGranularity,
    ),
    ("mllvm", false, Meaning::Mllvm),
    ("offload-opt", true, Meaning::LlvmOption),
    ("compress", false, Meaning::Compress),
    ("compression-level", true, Meaning::CompressionLevel),
    // offlink takes the archive members that the program needs, so it does not
    // need to be told for which architectures to take all.
    ("should-extract", true, Meaning::Ignored),
    // offlink's tools are not found by where it lies itself.
    ("no-canonical-prefixes", false, Meaning::Ignored),
    ("whole-program", false, Meaning::Ignored),
    ("arch", true, Meaning::Internal),
    ("triple", true, Meaning::Internal),
    // What clang 19 sends in place of --device-compiler.
    ("opt-level", true, Meaning::OptLevel),
    ("ptxas-arg", true, Meaning::PtxasArgument),
    ("device-debug", false, Meaning::Ignored),
    ("version", false, Meaning::Version),
    ("help", false, Meaning::Help),
    ("help-hidden", false, Meaning::Help),
];

/// Reads the line, response files already replaced.
///
/// # Errors
/// [`UsageError`] for values that make no sense and for options that offlink
/// does not carry out.
pub fn parse(arguments: Vec<OsString>, options: Options) -> Result<Command, UsageError> {
    let mut reader = Reader {
        options,
        wrapper: WrapperRequest::default(),
        host_triple: None,
        product: product::Asked::default(),
        granularity: TIME_TRACE_GRANULARITY,
    };
    let mut line = Vec::with_capacity(arguments.len());
    let mut rest = arguments.into_iter();
    while let Some(argument) = rest.next() {
        let Some((name, meaning, value)) = find(&argument) else {
            line.push(argument);
            continue;
        };
        match meaning {
            Meaning::Version => return Ok(Command::Print(help::version())),
            Meaning::Help => return Ok(Command::Print(help::text())),
            Meaning::Mllvm | Meaning::ImageOutput => {
                let next = rest.next().ok_or_else(|| UsageError::NoArgument {
                    option: argument.to_string_lossy().into_owned(),
                })?;
                reader.take_separate(meaning, value, next);
            }
            _ => reader.take(name, meaning, value)?,
        }
    }
    reader.finish(line)
}

/// The wrapper's option that `argument` is, with its value.
fn find(argument: &OsStr) -> Option<(&'static str, Meaning, &OsStr)> {
    let option = strip_prefix(argument, "--").or_else(|| strip_prefix(argument, "-"))?;
    let (name, value) = split_once(option, b'=');
    TABLE
        .iter()
        .find(|(known, takes_value, _)| *known == name && *takes_value == value.is_some())
        .map(|(known, _, meaning)| (*known, *meaning, value.unwrap_or_default()))
}

/// What LLVM's wrapper leaves out of a trace unless told otherwise.
const TIME_TRACE_GRANULARITY: Duration = Duration::from_micros(500);

/// What has been read so far.
struct Reader {
    options: Options,
    wrapper: WrapperRequest,
    host_triple: Option<String>,
    product: product::Asked,
    granularity: Duration,
}

impl Reader {
    fn take(&mut self, name: &str, meaning: Meaning, value: &OsStr) -> Result<(), UsageError> {
        let tools = &mut self.options.device.tools;
        match meaning {
            Meaning::LinkerPath => tools.host_linker = Some(value.into()),
            Meaning::HostTriple => self.host_triple = Some(value.to_string_lossy().into_owned()),
            Meaning::CudaPath => tools.cuda = Some(value.into()),
            Meaning::DeviceCompiler => {
                let argument = device_argument::split(value);
                self.wrapper.device_compiler.push(argument);
            }
            Meaning::DeviceLinker => {
                let argument = device_argument::split(value);
                self.wrapper.device_linker.push(argument);
            }
            Meaning::OptLevel => {
                let level = value.to_str().and_then(|text| text.strip_prefix('O'));
                let level = level.and_then(|level| level.parse().ok());
                let level = level.filter(|level| *level <= 3);
                let level = level.ok_or_else(|| UsageError::BadValue {
                    option: format!("--{name}"),
                    value: value.to_string_lossy().into_owned(),
                    expected: "O0, O1, O2 or O3",
                })?;
                self.set_for_all(Change::OptLevel(level));
            }
            Meaning::PtxasArgument => self.set_for_all(Change::Ptxas(value.into())),
            Meaning::Jobs => self.options.jobs = jobs(&value.to_string_lossy())?,
            Meaning::DryRun => self.wrapper.dry_run = true,
            Meaning::Verbose => self.wrapper.verbose = true,
            Meaning::SaveTemps => self.wrapper.save_temps = true,
            Meaning::EmbedBitcode => {
                self.wrapper.embed_bitcode = true;
                self.options.device.emit = Emit::Bitcode;
            }
            Meaning::PrintModule => self.wrapper.print_module = true,
            Meaning::OverrideImage => {
                let image = product::image_override(&value.to_string_lossy())?;
                self.wrapper.overrides.push(image);
            }
            Meaning::BundleOnly => self.product.bundle = true,
            Meaning::ImagesOnly => self.product.images = true,
            Meaning::TimeTrace => {
                self.wrapper.time_trace = Some(TimeTraceFile {
                    file: value.into(),
                    granularity: TIME_TRACE_GRANULARITY,
                });
            }
            Meaning::TimeTraceGranularity => {
                let microseconds = number(name, value, "a number of microseconds")?;
                self.granularity = Duration::from_micros(microseconds);
            }
            Meaning::LlvmOption => self.wrapper.llvm.push(LlvmOption {
                value: value.to_string_lossy().into_owned(),
                by_mllvm: false,
            }),
            Meaning::Compress => self.options.compress.hip = true,
            Meaning::CompressionLevel => {
                self.options.compress.level = Some(number(name, value, "a number")?);
            }
            Meaning::Internal => return Err(UsageError::Unsupported(format!("--{name}"))),
            Meaning::Ignored
            | Meaning::Mllvm
            | Meaning::ImageOutput
            | Meaning::Version
            | Meaning::Help => {}
        }
        Ok(())
    }

    fn set_for_all(&mut self, change: Change) {
        let triple = None;
        self.options
            .device_settings
            .push(DeviceSetting { triple, change });
    }

    /// Takes an option whose value is, or goes on with, the next argument.
    fn take_separate(&mut self, meaning: Meaning, value: &OsStr, next: OsString) {
        if let Meaning::ImageOutput = meaning {
            self.product.outputs.push((value.to_owned(), next.into()));
        } else {
            self.wrapper.llvm.push(LlvmOption {
                value: next.to_string_lossy().into_owned(),
                by_mllvm: true,
            });
        }
    }

    fn finish(mut self, line: Vec<OsString>) -> Result<Command, UsageError> {
        let mut options = self.options;
        // clang names its own runtime.
        if options.omptarget == Choice::Found {
            options.omptarget = Choice::None;
        }
        device_argument::apply(&self.wrapper, &mut options)?;
        options
            .llvm_options
            .extend(self.wrapper.llvm.iter().map(|option| option.value.clone()));
        if let Some(trace) = &mut self.wrapper.time_trace {
            trace.granularity = self.granularity;
        }
        let mut request: Request = if self.host_triple.as_deref().is_some_and(is_windows) {
            lld_link::parse(line, options)?
        } else {
            ld::parse(line, options)?
        };
        self.wrapper.product = self.product.check(&request.arguments)?;
        let host_linker = request.options.device.tools.host_linker.as_deref();
        request.line.names_lld |= host_linker.is_some_and(is_lld);
        request.host_triple = self.host_triple;
        request.wrapper = self.wrapper;
        Ok(Command::Link(Box::new(request)))
    }
}

fn is_windows(triple: &str) -> bool {
    triple.contains("-windows-msvc")
}

/// `N` or `jobserver`; the latter leaves the number to offlink.
fn jobs(value: &str) -> Result<Option<std::num::NonZeroUsize>, UsageError> {
    if value == "jobserver" {
        return Ok(None);
    }
    value.parse().map(Some).map_err(|_| UsageError::BadValue {
        option: "--wrapper-jobs".into(),
        value: value.into(),
        expected: "a positive number or 'jobserver'",
    })
}

fn number<N: std::str::FromStr>(
    name: &str,
    value: &OsStr,
    expected: &'static str,
) -> Result<N, UsageError> {
    let value = value.to_string_lossy();
    value.parse().map_err(|_| UsageError::BadValue {
        option: format!("--{name}"),
        value: value.into_owned(),
        expected,
    })
}

#[cfg(test)]
mod tests;
