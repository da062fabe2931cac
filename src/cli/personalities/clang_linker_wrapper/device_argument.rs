//! `--device-compiler` and `--device-linker`: arguments that LLVM's wrapper
//! hands to a clang for each device. offlink has none, so it does what they
//! mean, or refuses them.

use crate::cli::UsageError;
use crate::device_setting::{Change, DeviceSetting};
use crate::options::{DeviceLib, Options};
use crate::wrapper_request::{DeviceArgument, WrapperRequest};
use std::ffi::OsStr;

/// The first component of triples that images are linked for by any tool: what
/// stands before `=` is a triple if it starts with one of these, or is AMD's.
const DEVICE_ARCHS: &[&str] = &[
    "nvptx64",
    "nvptx",
    "x86_64",
    "i386",
    "aarch64",
    "powerpc64",
    "powerpc64le",
    "spirv64",
    "spirv32",
    "systemz",
    "s390x",
    "loongarch64",
    "riscv64",
];

/// Takes `TRIPLE=VALUE` apart. Text before `=` that is no triple belongs to the
/// value, and a triple with nothing behind it is the value.
pub(super) fn split(value: &OsStr) -> DeviceArgument {
    let (triple, rest) = crate::options::split_once(value, b'=');
    let is_triple = triple
        .to_str()
        .and_then(|text| text.split('-').next())
        .is_some_and(|arch| DEVICE_ARCHS.contains(&arch) || offlink_hsaco::triple::is_amd(arch));
    match rest.filter(|rest| is_triple && !rest.is_empty()) {
        Some(rest) => DeviceArgument {
            triple: triple.to_str().map(str::to_owned),
            value: rest.into(),
        },
        None => DeviceArgument {
            triple: None,
            value: value.into(),
        },
    }
}

/// Turns the device arguments of the line into settings.
///
/// # Errors
/// [`UsageError::Unsupported`] for one that offlink does not carry out,
/// [`UsageError::NoArgument`] for one whose value is missing.
pub(super) fn apply(wrapper: &WrapperRequest, options: &mut Options) -> Result<(), UsageError> {
    let mut compiler = wrapper.device_compiler.iter();
    while let Some(argument) = compiler.next() {
        let text = argument.value.to_string_lossy();
        let mut value = || {
            // clang sends the value as an argument of its own, for the same triple.
            compiler
                .next()
                .filter(|next| next.triple == argument.triple)
                .map(|next| next.value.clone())
                .ok_or_else(|| UsageError::NoArgument {
                    option: format!("--device-compiler={text}"),
                })
        };
        let change = match &*text {
            "-Xcuda-ptxas" => Change::Ptxas(value()?),
            "-mllvm" => {
                let option = value()?.to_string_lossy().into_owned();
                options.llvm_options.push(option);
                continue;
            }
            "-Xlinker" => Change::Linker(value()?),
            _ => match compiler_argument(&text, options)? {
                Some(change) => change,
                None => continue,
            },
        };
        set(argument, change, options);
    }
    for argument in &wrapper.device_linker {
        let text = argument.value.to_string_lossy();
        if let Some(name) = device_library(&text) {
            options.device_libs.push(DeviceLib::Named {
                triple: argument.triple.clone(),
                name: name.into(),
            });
        } else if let Some(change) = linker_argument(&text, options) {
            set(argument, change, options);
        }
    }
    Ok(())
}

fn set(argument: &DeviceArgument, change: Change, options: &mut Options) {
    options.device_settings.push(DeviceSetting {
        triple: argument.triple.clone(),
        change,
    });
}

/// Compiler arguments that change nothing: what they are about stands in the
/// bitcode, is always so here, or is no part of an image.
const WITHOUT_EFFECT: &[&str] = &[
    // offlink always links all bitcode of a target together.
    "-flto",
    "-fno-lto",
    "-foffload-lto",
    // Debug information is where the compiler put it.
    "-g",
    // Floating-point rules are attributes of the instructions.
    "-ffast-math",
    "-fno-fast-math",
    "-ffp-contract",
    "-fgpu-flush-denormals-to-zero",
    // Reports and intermediate files of clang's.
    "-v",
    "-R",
    "-save-temps",
    "-ftime-report",
    "-ftime-trace",
    "-fsave-optimization-record",
    "-foptimization-record",
    "-w",
    "-W",
    // Where clang looks for HIP's headers.
    "--hip-path=",
    "-nogpulib",
    "-nogpuinc",
    "--libomptarget-",
    "-no-canonical-prefixes",
    // Stands in the bitcode as a module flag.
    "-mcode-object-version=",
];

fn compiler_argument(text: &str, options: &mut Options) -> Result<Option<Change>, UsageError> {
    let level = match text {
        "-O0" => Some(0),
        "-O" | "-O1" | "-Og" => Some(1),
        "-O2" | "-Os" | "-Oz" => Some(2),
        "-O3" | "-Ofast" | "-O4" => Some(3),
        _ => None,
    };
    if let Some(level) = level {
        return Ok(Some(Change::OptLevel(level)));
    }
    if let Some(path) = text.strip_prefix("--cuda-path=") {
        options.device.tools.cuda = Some(path.into());
        return Ok(None);
    }
    if let Some(path) = text.strip_prefix("--rocm-path=") {
        options.device.tools.rocm = Some(path.into());
        return Ok(None);
    }
    if let Some(path) = text.strip_prefix("--rocm-device-lib-path=") {
        options.device.tools.rocm_device_libs = Some(path.into());
        return Ok(None);
    }
    if let Some(words) = text.strip_prefix("-Wl,") {
        // A single word is all that a change can carry; clang sends more of
        // them as several arguments.
        if !words.contains(',') {
            return Ok(linker_argument(words, options));
        }
    } else if WITHOUT_EFFECT.iter().any(|known| text.starts_with(known)) || is_device_library(text)
    {
        return Ok(None);
    }
    Err(UsageError::Unsupported(format!("--device-compiler={text}")))
}

/// What a word for the device linker means; `None` if nothing.
fn linker_argument(text: &str, options: &mut Options) -> Option<Change> {
    if is_device_library(text) || is_for_thin_lto(text) {
        return None;
    }
    let of_plugin = text.trim_start_matches('-').strip_prefix("plugin-opt=");
    let llvm = of_plugin
        .filter(|option| option.starts_with('-'))
        .or_else(|| text.trim_start_matches('-').strip_prefix("mllvm="));
    if let Some(option) = llvm {
        options.llvm_options.push(option.into());
        return None;
    }
    let level = of_plugin
        .and_then(|option| option.strip_prefix('O')?.parse().ok())
        .filter(|level| *level <= 3);
    match level {
        Some(level) => Some(Change::OptLevel(level)),
        None => Some(Change::Linker(text.into())),
    }
}

/// The name of a device library that clang asks for whether it is needed or not.
fn device_library(text: &str) -> Option<&str> {
    let name = text.strip_prefix("-l")?;
    matches!(name, "ompdevice" | "c" | "m").then_some(name)
}

/// Device runtimes that offlink doesn't look for where they are named so. If one is
/// needed, a symbol stays undefined, and the link fails and says which.
fn is_device_library(text: &str) -> bool {
    device_library(text).is_some() || text.starts_with("-lclang_rt.")
}

/// What clang 22 sends with `-foffload-lto=thin`: options of the passes by which
/// functions come from one module into another, which here is linking.
fn is_for_thin_lto(text: &str) -> bool {
    text.strip_prefix("-plugin-opt=-").is_some_and(|option| {
        ["force-import-all", "avail-extern-"]
            .iter()
            .any(|known| option.starts_with(known))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::target::Target;

    fn nvidia() -> Target {
        Target::parse("nvptx64-nvidia-cuda", "sm_90").unwrap()
    }

    fn applied(compiler: &[&str], linker: &[&str]) -> Result<Options, UsageError> {
        let arguments = |values: &[&str]| values.iter().map(|v| split(v.as_ref())).collect();
        let wrapper = WrapperRequest {
            device_compiler: arguments(compiler),
            device_linker: arguments(linker),
            ..WrapperRequest::default()
        };
        let mut options = Options::default();
        apply(&wrapper, &mut options).map(|()| options)
    }

    #[test]
    fn triples_are_told_from_values() {
        let parts = |text: &str| {
            let argument = split(text.as_ref());
            (argument.triple, argument.value.into_string().unwrap())
        };
        assert_eq!(parts("foo=bar"), (None, "foo=bar".into()));
        assert_eq!(
            parts("amdgcn-amd-amdhsa=-O2"),
            (Some("amdgcn-amd-amdhsa".into()), "-O2".into())
        );
        assert_eq!(
            parts("amdgpu9.0a-amd-amdhsa=-O2"),
            (Some("amdgpu9.0a-amd-amdhsa".into()), "-O2".into())
        );
        let alone = "nvptx64-nvidia-cuda=";
        assert_eq!(parts(alone), (None, alone.into()));
    }

    #[test]
    fn values_follow_their_options() {
        let for_nvidia = |value: &str| format!("nvptx64-nvidia-cuda={value}");
        let line = ["-Xcuda-ptxas", "-v", "-O1"].map(for_nvidia);
        let line: Vec<&str> = line.iter().map(String::as_str).collect();
        let options = applied(&line, &[]).unwrap();
        let device = options.device_for(&nvidia());
        assert_eq!(device.ptxas_arguments, ["-v"]);
        assert_eq!(device.opt_level, 1);
        assert!(applied(&["-Xcuda-ptxas"], &[]).is_err());
        assert!(applied(&["-Xcuda-ptxas", &for_nvidia("-v")], &[]).is_err());
    }

    #[test]
    fn what_is_for_llvm_gets_there() {
        let options = applied(
            &["-mllvm", "-a"],
            &["-plugin-opt=-b=1", "--plugin-opt=O1", "-mllvm=-c"],
        )
        .unwrap();
        assert_eq!(options.llvm_options, ["-a", "-b=1", "-c"]);
        assert_eq!(options.device_for(&nvidia()).opt_level, 1);
    }

    #[test]
    fn device_libraries_are_found_later() {
        let options = applied(
            &["--rocm-path=/rocm", "--rocm-device-lib-path=/libs"],
            &["amdgcn-amd-amdhsa=-lompdevice", "-lm"],
        )
        .unwrap();
        assert_eq!(options.device.tools.rocm, Some("/rocm".into()));
        assert_eq!(options.device.tools.rocm_device_libs, Some("/libs".into()));
        let named = |triple: Option<&str>, name: &str| DeviceLib::Named {
            triple: triple.map(str::to_owned),
            name: name.into(),
        };
        let wanted = [
            named(Some("amdgcn-amd-amdhsa"), "ompdevice"),
            named(None, "m"),
        ];
        assert_eq!(options.device_libs, wanted);
    }

    #[test]
    fn the_rest_is_for_the_linker_or_refused() {
        let options = applied(&[], &["-z", "now", "-lompdevice"]).unwrap();
        assert_eq!(
            options.device_for(&nvidia()).linker_arguments,
            ["-z", "now"]
        );
        for refused in ["-march=sm_80", "-fprofile-use", "x.o"] {
            let error = applied(&[refused], &[]).unwrap_err().to_string();
            assert!(error.contains(refused), "{error}");
        }
    }
}
