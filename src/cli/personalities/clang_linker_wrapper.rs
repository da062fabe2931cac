//! clang-linker-wrapper's line: its own options among an ld line's, as clang
//! 22 sends it. What offlink can't carry out is refused, never skipped.

use super::{cc::is_lld, ld};
use crate::cli::{Command, UsageError, help};
use crate::options::{Options, strip_prefix};
use std::ffi::{OsStr, OsString};

/// What an option of the wrapper means to offlink.
enum Meaning {
    LinkerPath,
    HostTriple,
    CudaPath,
    DeviceArgument,
    Jobs,
    DryRun,
    SaveTemps,
    /// Of HIP bundles.
    Compress,
    CompressionLevel,
    /// Changes nothing about what offlink makes.
    Ignored,
    Refused,
    Version,
    Help,
}

/// Name, whether a value follows after `=`, meaning. The names are those that
/// `clang-linker-wrapper --help` and `--help-hidden` list (22.1.8 and main).
const TABLE: &[(&str, bool, Meaning)] = &[
    ("linker-path", true, Meaning::LinkerPath),
    ("host-triple", true, Meaning::HostTriple),
    ("cuda-path", true, Meaning::CudaPath),
    ("device-linker", true, Meaning::DeviceArgument),
    ("device-compiler", true, Meaning::DeviceArgument),
    ("wrapper-jobs", true, Meaning::Jobs),
    ("dry-run", false, Meaning::DryRun),
    ("save-temps", false, Meaning::SaveTemps),
    ("embed-bitcode", false, Meaning::Refused),
    // offlink takes the archive members that the program needs, so it does not
    // need to be told for which architectures to take all.
    ("should-extract", true, Meaning::Ignored),
    ("wrapper-verbose", false, Meaning::Ignored),
    ("no-canonical-prefixes", false, Meaning::Ignored),
    ("compress", false, Meaning::Compress),
    ("compression-level", true, Meaning::CompressionLevel),
    ("print-wrapped-module", false, Meaning::Refused),
    ("override-image", true, Meaning::Refused),
    ("emit-fatbin-only", false, Meaning::Refused),
    ("emit-device-images-only", false, Meaning::Refused),
    ("device-image-output", true, Meaning::Refused),
    ("wrapper-time-trace", true, Meaning::Refused),
    ("wrapper-time-trace-granularity", true, Meaning::Refused),
    ("offload-opt", true, Meaning::Refused),
    ("version", false, Meaning::Version),
    ("help", false, Meaning::Help),
    ("help-hidden", false, Meaning::Help),
];

/// Reads the line, response files already replaced.
///
/// # Errors
/// [`UsageError`] for values that make no sense and for options that offlink
/// does not carry out.
pub fn parse(arguments: Vec<OsString>, mut options: Options) -> Result<Command, UsageError> {
    let mut host_triple = None;
    let mut line = Vec::with_capacity(arguments.len());
    for argument in arguments {
        if argument == "-mllvm" {
            return Err(UsageError::Unsupported("-mllvm".into()));
        }
        let Some((name, meaning, value)) = find(&argument) else {
            line.push(argument);
            continue;
        };
        match meaning {
            Meaning::LinkerPath => options.device.tools.host_linker = Some(value.into()),
            Meaning::HostTriple => host_triple = Some(value.to_string_lossy().into_owned()),
            Meaning::CudaPath => options.device.tools.cuda = Some(value.into()),
            Meaning::DeviceArgument => device_argument(&value.to_string_lossy(), &mut options)?,
            Meaning::Jobs => options.jobs = jobs(&value.to_string_lossy())?,
            Meaning::DryRun => options.dry_run = true,
            Meaning::SaveTemps => options.save_temps = Some(".".into()),
            Meaning::Compress => options.compress.hip = true,
            Meaning::CompressionLevel => {
                options.compress.level = Some(level(&value.to_string_lossy())?);
            }
            Meaning::Ignored => {}
            Meaning::Refused => return Err(UsageError::Unsupported(format!("--{name}"))),
            Meaning::Version => return Ok(Command::Print(help::version())),
            Meaning::Help => return Ok(Command::Print(help::text())),
        }
    }
    let mut request = ld::parse(line, options)?;
    request.line.names_lld |= request
        .options
        .device
        .tools
        .host_linker
        .as_deref()
        .is_some_and(is_lld);
    request.host_triple = host_triple;
    Ok(Command::Link(Box::new(request)))
}

/// The wrapper's option that `argument` is, with its value.
fn find(argument: &OsStr) -> Option<(&'static str, &'static Meaning, &OsStr)> {
    let option = strip_prefix(argument, "--").or_else(|| strip_prefix(argument, "-"))?;
    let (name, value) = crate::options::split_once(option, b'=');
    TABLE
        .iter()
        .find(|(known, takes_value, _)| *known == name && *takes_value == value.is_some())
        .map(|(known, _, meaning)| (*known, meaning, value.unwrap_or_default()))
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

fn level(value: &str) -> Result<i32, UsageError> {
    value.parse().map_err(|_| UsageError::BadValue {
        option: "--compression-level".into(),
        value: value.into(),
        expected: "a number",
    })
}

/// An argument for the device compiler or linker, perhaps after `TRIPLE=`.
fn device_argument(value: &str, options: &mut Options) -> Result<(), UsageError> {
    let argument = match value.split_once('=') {
        Some((triple, argument)) if is_triple(triple) && !argument.is_empty() => argument,
        _ => value,
    };
    match argument {
        "-O0" => options.device.opt_level = 0,
        "-O" | "-O1" => options.device.opt_level = 1,
        "-O2" | "-Os" | "-Oz" => options.device.opt_level = 2,
        "-O3" | "-Ofast" | "-O4" => options.device.opt_level = 3,
        // offlink always links all bitcode of a target together.
        "-flto" | "-flto=full" | "-flto=thin" | "-fno-lto" => {}
        // Debug information stays in the code if the compiler put it there.
        "-v" | "-save-temps=cwd" | "-save-temps=obj" | "-save-temps" => {}
        // Device runtimes: nothing is needed unless a symbol stays undefined,
        // and then the link fails and says which.
        "-lompdevice" | "-lc" | "-lm" => {}
        _ if argument.starts_with("-g") => {}
        _ if argument.starts_with("-flto-partitions=") => {}
        _ => {
            let Some(path) = argument.strip_prefix("--cuda-path=") else {
                return Err(UsageError::Unsupported(format!(
                    "--device-compiler={value}"
                )));
            };
            options.device.tools.cuda = Some(path.into());
        }
    }
    Ok(())
}

fn is_triple(text: &str) -> bool {
    text.contains('-') && !text.starts_with('-')
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::request::Request;

    fn read(line: &str) -> Result<Request, UsageError> {
        let arguments = line.split_whitespace().map(OsString::from).collect();
        match parse(arguments, Options::default())? {
            Command::Link(request) => Ok(*request),
            _ => panic!("not a link"),
        }
    }

    #[test]
    fn a_line_of_clang() {
        // The shape that clang 22.1.8 sends for OpenMP on NVIDIA.
        let request = read(
            "--should-extract=sm_80 --device-compiler=nvptx64-nvidia-cuda=--cuda-path=/cuda \
             --device-compiler=nvptx64-nvidia-cuda=-O2 \
             --device-linker=nvptx64-nvidia-cuda=-lompdevice --host-triple=x86_64-pc-linux-gnu \
             --cuda-path=/cuda --linker-path=/usr/bin/ld --hash-style=gnu -m elf_x86_64 -pie \
             -dynamic-linker /lib64/ld-linux-x86-64.so.2 -o a.out a.o -lomptarget",
        )
        .unwrap();
        assert_eq!(request.arguments[0], "--hash-style=gnu");
        assert_eq!(request.line.inputs.len(), 2);
        assert_eq!(request.options.device.opt_level, 2);
        assert_eq!(
            request.options.device.tools.host_linker,
            Some("/usr/bin/ld".into())
        );
        assert_eq!(request.options.device.tools.cuda, Some("/cuda".into()));
        assert_eq!(request.host_triple.as_deref(), Some("x86_64-pc-linux-gnu"));
    }

    #[test]
    fn what_is_not_done_is_refused() {
        for option in [
            "--emit-fatbin-only",
            "--print-wrapped-module",
            "-mllvm x",
            "--device-compiler=-fprofile-use",
            "--wrapper-jobs=0",
        ] {
            assert!(read(option).is_err(), "{option}");
        }
    }

    #[test]
    fn lld_is_told_by_the_linker_path() {
        assert!(
            read("--linker-path=/usr/bin/ld.lld a.o")
                .unwrap()
                .line
                .names_lld
        );
        assert!(
            !read("--linker-path=/usr/bin/ld a.o")
                .unwrap()
                .line
                .names_lld
        );
    }
}
