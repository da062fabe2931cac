//! clang-nvlink-wrapper: the device linker that clang runs for NVIDIA GPUs.
//! Options and meanings are those of 22.1.8.

mod lazy;

use super::PeerError;
use crate::cli::help;
use crate::options::{Emit, Options, split_once, strip_prefix};
use crate::pipeline::{dry_run, image_file};
use crate::target::Target;
use crate::{Error, report};
use lazy::Input;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

const TRIPLE: &str = "nvptx64-nvidia-cuda";

/// Where the value of an option stands.
#[derive(Clone, Copy, PartialEq)]
enum Value {
    None,
    /// Behind `=`, or the next argument.
    Either,
    /// Right behind the letter, or the next argument.
    Letter,
}

/// What an option means to offlink.
#[derive(Clone, Copy)]
enum Meaning {
    Output,
    Arch,
    CudaPath,
    PtxasPath,
    LibraryDir,
    Library,
    Undefined,
    PluginOption,
    WholeArchive(bool),
    Emit(Emit),
    Relocatable,
    Passes,
    LlvmOption,
    DryRun,
    SaveTemps,
    Verbose,
    /// Changes nothing about what offlink makes.
    Ignored,
    Version,
    Help,
}

/// Name, where its value stands, meaning, help. The names are those that
/// `--help-hidden` lists, and those of linkers that clang and users send.
const TABLE: &[(&str, Value, Meaning, &str)] = &[
    ("o", Value::Letter, Meaning::Output, "the image to write"),
    ("output-file", Value::Either, Meaning::Output, "as -o"),
    ("arch", Value::Either, Meaning::Arch, "the architecture"),
    (
        "cuda-path",
        Value::Either,
        Meaning::CudaPath,
        "the CUDA installation",
    ),
    (
        "ptxas-path",
        Value::Either,
        Meaning::PtxasPath,
        "the ptxas to use",
    ),
    ("library-path", Value::Either, Meaning::LibraryDir, "as -L"),
    ("library", Value::Either, Meaning::Library, "as -l"),
    ("undefined", Value::Either, Meaning::Undefined, "as -u"),
    (
        "plugin-opt",
        Value::Either,
        Meaning::PluginOption,
        "O0 to O3, mcpu=, emit-asm, emit-llvm, or an option for LLVM",
    ),
    (
        "whole-archive",
        Value::None,
        Meaning::WholeArchive(true),
        "take all of archives",
    ),
    (
        "no-whole-archive",
        Value::None,
        Meaning::WholeArchive(false),
        "take what is needed",
    ),
    (
        "lto-emit-asm",
        Value::None,
        Meaning::Emit(Emit::Ptx),
        "make PTX",
    ),
    (
        "lto-emit-llvm",
        Value::None,
        Meaning::Emit(Emit::Bitcode),
        "make bitcode",
    ),
    (
        "dry-run",
        Value::None,
        Meaning::DryRun,
        "print the link as a command of offlink",
    ),
    (
        "save-temps",
        Value::None,
        Meaning::SaveTemps,
        "keep what is made on the way",
    ),
    ("v", Value::None, Meaning::Verbose, "show details of errors"),
    (
        "g",
        Value::None,
        Meaning::Ignored,
        "debug information stays where it is",
    ),
    ("debug", Value::None, Meaning::Ignored, "as -g"),
    (
        "assume-device-object",
        Value::None,
        Meaning::Ignored,
        "not needed",
    ),
    (
        "lto-debug-pass-manager",
        Value::None,
        Meaning::Ignored,
        "not needed",
    ),
    ("plugin", Value::Either, Meaning::Ignored, "not needed"),
    (
        "r",
        Value::None,
        Meaning::Relocatable,
        "keep whatever other code may refer to",
    ),
    ("relocatable", Value::None, Meaning::Relocatable, "as -r"),
    (
        "lto-newpm-passes",
        Value::Either,
        Meaning::Passes,
        "the passes to run, as opt -passes takes them",
    ),
    (
        "mllvm",
        Value::Either,
        Meaning::LlvmOption,
        "an option for LLVM itself",
    ),
    ("version", Value::None, Meaning::Version, "show the version"),
    ("help", Value::None, Meaning::Help, "show the options"),
    (
        "help-hidden",
        Value::None,
        Meaning::Help,
        "show the options",
    ),
    (
        "L",
        Value::Letter,
        Meaning::LibraryDir,
        "a folder with libraries",
    ),
    ("l", Value::Letter, Meaning::Library, "a library"),
    (
        "u",
        Value::Letter,
        Meaning::Undefined,
        "a symbol that is to be linked and kept",
    ),
];

/// Carries the line out.
///
/// # Errors
/// [`Error`] when the link fails or the line makes no sense.
pub fn run(arguments: Vec<OsString>, options: Options) -> Result<(), Error> {
    match read(arguments, options)? {
        Asked::Print(text) => report::print(&text),
        Asked::Link(line) => line.link(),
    }
}

/// What a line asks for.
enum Asked {
    Print(String),
    Link(Box<Line>),
}

/// A line that was understood.
struct Line {
    output: PathBuf,
    arch: String,
    inputs: Vec<Input>,
    dirs: Vec<PathBuf>,
    required: Vec<String>,
    dry_run: bool,
    options: Options,
}

fn read(arguments: Vec<OsString>, options: Options) -> Result<Asked, PeerError> {
    let mut line = Line {
        output: "a.out".into(),
        arch: String::new(),
        inputs: Vec::new(),
        dirs: Vec::new(),
        required: Vec::new(),
        dry_run: options.dry_run,
        options,
    };
    let mut whole = false;
    let mut arguments = arguments.into_iter();
    while let Some(argument) = arguments.next() {
        if argument == "-" || strip_prefix(&argument, "-").is_none() {
            line.inputs.push(Input::File(argument.into(), whole));
            continue;
        }
        let (name, place, meaning, joined) = find(&argument)
            .ok_or_else(|| PeerError::Unknown(argument.to_string_lossy().into_owned()))?;
        let value = match (place, joined) {
            (Value::None, _) => OsString::new(),
            (_, Some(value)) => value.to_owned(),
            (_, None) => arguments.next().ok_or_else(|| PeerError::NoValue {
                option: format!("-{name}"),
                expected: "it is the next argument",
            })?,
        };
        let text = || value.to_string_lossy().into_owned();
        let tools = &mut line.options.device.tools;
        match meaning {
            Meaning::Output => line.output = value.into(),
            Meaning::Arch => line.arch = text(),
            Meaning::CudaPath => tools.cuda = Some(value.into()),
            Meaning::PtxasPath => tools.ptxas = Some(program(value.into(), "ptxas")),
            Meaning::LibraryDir => line.dirs.push(value.into()),
            Meaning::Library => line.inputs.push(Input::Library(text(), whole)),
            Meaning::Undefined => line.required.push(text()),
            Meaning::PluginOption => line.plugin_option(&text())?,
            Meaning::WholeArchive(on) => whole = on,
            Meaning::Emit(emit) => line.options.device.emit = emit,
            Meaning::Relocatable => line.options.device.relocatable = true,
            Meaning::Passes => {
                line.options.device.passes = Some(text()).filter(|text| !text.is_empty());
            }
            Meaning::LlvmOption => line.options.llvm_options.push(text()),
            Meaning::DryRun => line.dry_run = true,
            Meaning::SaveTemps => line.options.save_temps = Some(".".into()),
            Meaning::Verbose => line.options.verbose = true,
            Meaning::Ignored => {}
            Meaning::Version => return Ok(Asked::Print(help::version())),
            Meaning::Help => return Ok(Asked::Print(help_text())),
        }
    }
    if line.arch.is_empty() {
        return Err(PeerError::Missing("the GPU architecture, -arch sm_…,"));
    }
    Ok(Asked::Link(Box::new(line)))
}

/// The option that `argument` is, and the value that is part of it.
fn find(argument: &OsStr) -> Option<(&'static str, Value, Meaning, Option<&OsStr>)> {
    let option = strip_prefix(argument, "--").or_else(|| strip_prefix(argument, "-"))?;
    let (name, joined) = split_once(option, b'=');
    let whole = TABLE
        .iter()
        .find(|(known, place, ..)| *known == name && (joined.is_none() || *place != Value::None));
    if let Some((known, place, meaning, _)) = whole {
        return Some((known, *place, *meaning, joined));
    }
    let letters = TABLE
        .iter()
        .filter(|(_, place, ..)| *place == Value::Letter);
    letters
        .filter(|_| strip_prefix(argument, "--").is_none())
        .find_map(|(known, place, meaning, _)| {
            Some((*known, *place, *meaning, Some(strip_prefix(option, known)?)))
        })
}

/// `path` itself, or the program in it if it is a folder.
fn program(path: PathBuf, name: &str) -> PathBuf {
    if path.is_dir() { path.join(name) } else { path }
}

fn help_text() -> String {
    let usage = "clang-nvlink-wrapper -arch sm_N -o FILE INPUTS";
    let mut text = format!("{}Usage: {usage}\n\n", help::version());
    for (name, place, _, help) in TABLE {
        let value = if *place == Value::None {
            ""
        } else {
            " <value>"
        };
        text += &format!("  -{name}{value}\n          {help}\n");
    }
    text
}

impl Line {
    /// An option for LLVM's plugin of linkers.
    fn plugin_option(&mut self, text: &str) -> Result<(), PeerError> {
        let device = &mut self.options.device;
        match text {
            "O0" => device.opt_level = 0,
            "O1" => device.opt_level = 1,
            "O2" => device.opt_level = 2,
            "O3" => device.opt_level = 3,
            "emit-asm" => device.emit = Emit::Ptx,
            "emit-llvm" => device.emit = Emit::Bitcode,
            // offlink always links all bitcode together.
            "thinlto" => {}
            _ => {
                if let Some(arch) = text.strip_prefix("mcpu=") {
                    self.arch = arch.into();
                    return Ok(());
                }
                if text.starts_with("opt-remarks-") {
                    return Err(PeerError::Unsupported {
                        what: format!("clang-nvlink-wrapper's --plugin-opt={text}"),
                        remedy: "LLVM's C API gives no remarks; compile with clang's \
                                 -fsave-optimization-record",
                    });
                }
                // offlink finds the PTX version that the code needs.
                let ignored = ["jobs=", "lto-partitions=", "-mattr=+ptx"];
                if !ignored.iter().any(|prefix| text.starts_with(prefix)) {
                    self.options.llvm_options.push(text.into());
                }
            }
        }
        Ok(())
    }

    fn link(self: Box<Self>) -> Result<(), Error> {
        let target = Target::parse(TRIPLE, &self.arch)?;
        let candidates = lazy::open(&self.inputs, &self.dirs, &self.arch)?;
        let inputs = candidates.resolve(&target, &self.required, &self.options)?;
        if inputs.is_empty() {
            return Err(PeerError::Missing("an input that is no archive").into());
        }
        if self.dry_run {
            let sources = inputs.iter().map(|input| input.source.as_str());
            return report::print(&self.as_command(sources));
        }
        image_file::link(
            &[target],
            &inputs,
            &self.required,
            &self.options,
            &self.output,
        )
    }

    /// The link as a command of offlink; members of archives are shown by name.
    fn as_command<'a>(&'a self, sources: impl Iterator<Item = &'a str>) -> String {
        let mut words: Vec<OsString> = ["offlink", "link", "--triple", TRIPLE, "--arch"]
            .map(OsString::from)
            .to_vec();
        words.push(self.arch.clone().into());
        words.extend(dry_run::device_options(
            &self.options.device,
            &self.options.llvm_options,
        ));
        let required = self.required.iter();
        words.extend(required.map(|name| format!("--export-symbol={name}").into()));
        words.extend(["-o".into(), self.output.clone().into_os_string()]);
        words.extend(sources.map(OsString::from));
        dry_run::quoted(&words) + "\n"
    }
}

/// Where a library lies: `lib<name>.a`, or `name` itself behind a colon, in the
/// first folder that has it.
fn library(name: &str, dirs: &[PathBuf]) -> Result<PathBuf, PeerError> {
    let file = match name.strip_prefix(':') {
        Some(file) => file.to_owned(),
        None => format!("lib{name}.a"),
    };
    dirs.iter()
        .map(|dir| Path::new(dir).join(&file))
        .find(|path| path.is_file())
        .ok_or_else(|| PeerError::Library(name.into()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(text: &str) -> Result<Line, String> {
        let arguments = text.split_whitespace().map(OsString::from).collect();
        match read(arguments, Options::default()).map_err(|error| error.to_string())? {
            Asked::Link(line) => Ok(*line),
            Asked::Print(text) => Err(text),
        }
    }

    #[test]
    fn a_line_of_clang() {
        // The shape that clang 22.1.8 sends with -foffload-lto.
        let line = line(
            "-o image.img -v --cuda-path=/cuda -arch sm_90 a.o -plugin LLVMgold.so \
             -plugin-opt=mcpu=sm_90 -plugin-opt=O2 --plugin-opt=-mattr=+ptx88 -L/llvm/lib -lfoo \
             --whole-archive b.a -u k",
        )
        .unwrap();
        assert_eq!(line.output, Path::new("image.img"));
        assert_eq!(
            (line.arch.as_str(), line.options.device.opt_level),
            ("sm_90", 2)
        );
        assert_eq!(line.dirs, [PathBuf::from("/llvm/lib")]);
        assert_eq!(
            line.inputs,
            [
                Input::File("a.o".into(), false),
                Input::Library("foo".into(), false),
                Input::File("b.a".into(), true)
            ]
        );
        assert_eq!(line.required, ["k"]);
        assert_eq!(line.options.device.tools.cuda, Some("/cuda".into()));
    }

    #[test]
    fn faults_are_named() {
        let says = |text: &str| line(text).err().unwrap_or_default();
        assert!(says("a.bc").contains("architecture"));
        assert!(says("-arch").contains("-arch"));
        assert!(says("-arch sm_90 -z now").contains("'-z'"));
        assert!(says("--plugin-opt=opt-remarks-filename=x").contains("opt-remarks"));
        assert!(says("--help-hidden").contains("lto-emit-asm"));
    }

    #[test]
    fn options_for_llvm() {
        let line = line("-arch=sm_90 -mllvm -a=1 -mllvm=-b --plugin-opt=-c -plugin-opt=jobs=2");
        assert_eq!(line.unwrap().options.llvm_options, ["-a=1", "-b", "-c"]);
    }

    #[test]
    fn what_is_to_be_made() {
        let emit = |text: &str| line(text).unwrap().options.device.emit;
        assert_eq!(emit("-arch=sm_90"), Emit::Image);
        assert_eq!(emit("-arch sm_90 --lto-emit-asm"), Emit::Ptx);
        assert_eq!(emit("-arch sm_90 -plugin-opt=emit-llvm"), Emit::Bitcode);
    }
}
