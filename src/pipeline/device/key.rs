//! All that decides about the bytes that a step of a device link gives.

use super::super::plan::DeviceLink;
use super::{Context, nvptx};
use crate::cache::{Digest, Key, Programs};
use crate::files;
use crate::options::{DeviceOptions, Emit};
use crate::process::{self, Tool};
use crate::target::{Device, Target};
use crate::toolchain::{NotFound, Toolchain};
use offlink_llvm::Library;
use offlink_ptx::PtxVersion;
use std::ffi::{OsStr, OsString};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use thiserror::Error;

/// A step of a device link whose result is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stage {
    /// All of it: the image is kept.
    Image,
    /// What LLVM does: the object is kept. What comes after it can't be known
    /// beforehand, such as the programs that a compiler driver starts.
    Object,
    /// One part of a big link: its cubin is kept. It begins with this PTX version.
    Part(PtxVersion),
}

/// A step has no key, so that its result can't be kept.
#[derive(Debug, Error)]
pub(super) enum NoKey {
    /// A tool is nowhere. The step itself will say so.
    #[error(transparent)]
    NotFound(#[from] NotFound),
    /// There is no libLLVM. The step itself will say so.
    #[error("there is no libLLVM for it")]
    NoLlvm,
    /// Something of the key can't be read.
    #[error("'{}' cannot be read: {source}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// A tool is started by another program.
    #[error("{0} has a launcher, which decides too")]
    Launcher(&'static str),
    /// The step does more than to give bytes, or depends on files that are not known.
    #[error("'{}' may name a file or make LLVM print something", .0.display())]
    Argument(OsString),
}

/// The key of this stage of `link`, by programs as `programs` knows them.
///
/// # Errors
/// [`NoKey`] if there is none.
pub(super) fn key(
    stage: Stage,
    target: &Target,
    link: &DeviceLink,
    context: &Context<'_>,
    programs: &Programs,
) -> Result<Key, NoKey> {
    let mut key = Key::default();
    // offlink's own code decides too.
    let own = programs.of("offlink", || {
        let digest = process::own_program().and_then(|path| programs.digest(&path));
        digest.map_err(|source| NoKey::Read {
            path: "offlink".into(),
            source,
        })
    })?;
    key.add("offlink", own.as_str());
    key.add("stage", format!("{stage:?}"));
    key.add("target", format!("{} {}", target.triple(), target.arch()));
    add_options(&mut key, link, context)?;
    if !link.bitcode.is_empty() {
        // What is built in is part of offlink, unless the link will be refused for naming another.
        if !Library::IS_BUILT_IN || context.toolchain.named().llvm.is_some() {
            let llvm = programs.of("libLLVM", || {
                let path = context.setting.llvm_by_name().ok_or(NoKey::NoLlvm)?;
                digest(programs, path)
            })?;
            key.add("libLLVM", llvm.as_str());
        }
        add_libraries(&mut key, target, context, programs)?;
    }
    if stage != Stage::Object {
        if let Some(file) = &context.toolchain.named().file {
            for (name, value) in &file.environment {
                key.add(format!("variable {name}"), value.as_str());
            }
        }
        for (name, find) in tools(target, link) {
            let find = || of_tool(&find(context.toolchain)?, programs);
            let tool = known(name, context, programs, find)?;
            key.add(name, tool.as_str());
        }
        let optional = tool_if_there_is_one(target, link);
        if let Some((name, find)) = optional.filter(|_| stage == Stage::Image) {
            let find = || match find(context.toolchain) {
                Ok(tool) => of_tool(&tool, programs),
                // That it is nowhere decides as well.
                Err(_) => Ok(Digest::of(b"")),
            };
            let tool = known(name, context, programs, find)?;
            key.add(name, tool.as_str());
        }
    }
    for (form, inputs) in [
        ("bitcode", &link.bitcode),
        ("PTX", &link.ptx),
        ("object", &link.objects),
    ] {
        for (number, input) in inputs.iter().enumerate() {
            let name = format!("{form} {}", number + 1);
            let digest = Digest::of(&input.data);
            key.add_found(name, digest.as_str(), input.source.as_str());
        }
    }
    Ok(key)
}

/// As [`Programs::of`], which remembers what all targets have in common; a target
/// may have tools of its own.
fn known(
    name: &'static str,
    context: &Context<'_>,
    programs: &Programs,
    find: impl FnOnce() -> Result<Digest, NoKey>,
) -> Result<Digest, NoKey> {
    if context.toolchain.is_for_one_target() {
        find()
    } else {
        programs.of(name, find)
    }
}

fn of_tool(tool: &Tool, programs: &Programs) -> Result<Digest, NoKey> {
    if !tool.launcher.is_empty() {
        return Err(NoKey::Launcher(tool.name));
    }
    digest(programs, &tool.path)
}

/// The digest of a program that decides: an image from the cache depends on it, too.
fn digest(programs: &Programs, path: &Path) -> Result<Digest, NoKey> {
    files::read(path);
    programs.digest(path).map_err(|source| NoKey::Read {
        path: path.into(),
        source,
    })
}

fn add_options(key: &mut Key, link: &DeviceLink, context: &Context<'_>) -> Result<(), NoKey> {
    // Named one by one, so that a new option can't be forgotten.
    let DeviceOptions {
        emit,
        ptx_version,
        opt_level,
        passes,
        relocatable,
        split,
        tools: _,
        ptxas_arguments,
        linker_arguments,
        // Images that a driver links are not kept, only their objects.
        driver_arguments: _,
    } = &link.options;
    key.add("form of the image", format!("{emit:?}"));
    key.add("lowest PTX version", format!("{ptx_version:?}"));
    key.add("optimisation level", opt_level.to_string());
    key.add("being relocatable", relocatable.to_string());
    key.add("being in parts", format!("{split:?}"));
    key.add("passes", silent(passes.as_slice())?);
    let llvm_options = &context.setting.options.llvm_options;
    key.add("options for LLVM", silent(llvm_options)?);
    key.add("arguments for ptxas", without_files(ptxas_arguments)?);
    key.add("arguments for the linker", without_files(linker_arguments)?);
    let exports = link.exports.iter().map(|name| name.as_bytes());
    key.add("exported symbols", Digest::of_list(exports).as_str());
    Ok(())
}

/// That what is said to LLVM and the tools names no file and makes nothing but an image.
///
/// # Errors
/// [`NoKey::Argument`], or that a version script can't be read.
pub(super) fn check_arguments(link: &DeviceLink, llvm_options: &[String]) -> Result<(), NoKey> {
    let DeviceOptions {
        passes,
        ptxas_arguments,
        linker_arguments,
        ..
    } = &link.options;
    silent(passes.as_slice())?;
    silent(llvm_options)?;
    without_files(ptxas_arguments)?;
    without_files(linker_arguments)?;
    Ok(())
}

/// LLVM asks for libraries in the middle of a compile, so the key has all that it
/// may get. That a library is nowhere counts as well.
fn add_libraries(
    key: &mut Key,
    target: &Target,
    context: &Context<'_>,
    programs: &Programs,
) -> Result<(), NoKey> {
    let name = match target.device() {
        Device::Nvptx(_) => "libdevice",
        Device::Amdgcn(_) => "ROCm's device libraries",
        Device::X86_64(_) | Device::SpirV => return Ok(()),
    };
    let digest = known(name, context, programs, || {
        digest_of_files(programs, &libraries(target, context.toolchain))
    })?;
    key.add(name, digest.as_str());
    Ok(())
}

/// The device libraries that bitcode for this target may be linked with.
pub(in crate::pipeline) fn libraries(target: &Target, toolchain: &Toolchain) -> Vec<PathBuf> {
    let libraries = toolchain.device_libraries();
    match target.device() {
        Device::Nvptx(_) => libraries.libdevice().into_iter().collect(),
        Device::Amdgcn(_) => {
            let dir = libraries.rocm();
            dir.map_or_else(|_| Vec::new(), |dir| bitcode_in(&dir))
        }
        Device::X86_64(_) | Device::SpirV => Vec::new(),
    }
}

/// The digest of these files with their names.
fn digest_of_files(programs: &Programs, files: &[PathBuf]) -> Result<Digest, NoKey> {
    let mut texts = Vec::new();
    for file in files {
        files::read(file);
        let digest = programs.file_digest(file).map_err(|source| NoKey::Read {
            path: file.clone(),
            source,
        })?;
        texts.push(file.file_name().unwrap_or_default().as_bytes().to_owned());
        texts.push(digest.as_str().into());
    }
    Ok(Digest::of_list(texts.iter().map(Vec::as_slice)))
}

fn bitcode_in(dir: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(dir).into_iter().flatten();
    let mut files: Vec<PathBuf> = entries
        .filter_map(Result::ok)
        .map(|entry| entry.path())
        .filter(|path| path.extension() == Some(OsStr::new("bc")))
        .collect();
    files.sort();
    files
}

/// How a tool is found.
pub(in crate::pipeline) type FindTool = fn(&Toolchain) -> Result<Tool, NotFound>;

/// The tools that make the image of what LLVM gives and the other inputs.
pub(in crate::pipeline) fn tools(
    target: &Target,
    link: &DeviceLink,
) -> Vec<(&'static str, FindTool)> {
    let mut tools: Vec<(_, FindTool)> = Vec::new();
    match (target.device(), link.options.emit) {
        (_, Emit::Bitcode) | (Device::Nvptx(_), Emit::Ptx) | (Device::X86_64(_), _) => {}
        (Device::Nvptx(_), Emit::Image) => {
            if !link.bitcode.is_empty() || !link.ptx.is_empty() {
                tools.push(("ptxas", Toolchain::ptxas));
            }
            if nvptx::is_joined(link) {
                tools.push(("nvlink", Toolchain::nvlink));
            }
        }
        (Device::Amdgcn(_), _) => tools.push(("lld", Toolchain::lld)),
        (Device::SpirV, _) => {
            if link.bitcode.len().min(1) + link.objects.len() > 1 {
                tools.push(("spirv-link", Toolchain::spirv_link));
            }
        }
    }
    tools
}

/// A tool that is used if there is one: nvlink, without which nothing is split.
pub(in crate::pipeline) fn tool_if_there_is_one(
    target: &Target,
    link: &DeviceLink,
) -> Option<(&'static str, FindTool)> {
    let may_need = nvptx::may_split(target, link) && !nvptx::is_joined(link);
    may_need.then_some(("nvlink", Toolchain::nvlink))
}

/// Options and passes of LLVM that print, write or read something say so by their
/// names, which are too many to know them all.
fn silent(options: &[String]) -> Result<String, NoKey> {
    const TELLING: [&str; 16] = [
        "print", "debug", "stat", "time", "view", "dump", "file", "trace", "report", "dot", "path",
        "dir", "/", "load", "verbose", "remark",
    ];
    let tells = |option: &&String| TELLING.iter().any(|word| option.contains(word));
    if let Some(option) = options.iter().find(tells) {
        return Err(NoKey::Argument(option.into()));
    }
    let texts = options.iter().map(|option| option.as_bytes());
    Ok(Digest::of_list(texts).to_string())
}

/// The digest of a tool's arguments. A version script goes in with its contents,
/// as rustc writes each to another place. Where libraries are looked for decides
/// nothing if none is named.
fn without_files(arguments: &[OsString]) -> Result<String, NoKey> {
    let mut texts: Vec<Vec<u8>> = Vec::new();
    let mut arguments = arguments.iter();
    while let Some(argument) = arguments.next() {
        let text = argument.as_bytes();
        if text == b"-L" || text == b"--library-path" {
            arguments.next();
            continue;
        }
        if text.starts_with(b"-L") || text.starts_with(b"--library-path=") {
            continue;
        }
        if let Some(script) = text.strip_prefix(b"--version-script=") {
            let path = Path::new(OsStr::from_bytes(script));
            let script = std::fs::read(path).map_err(|source| NoKey::Read {
                path: path.into(),
                source,
            })?;
            texts.push([b"--version-script=", script.as_slice()].concat());
        } else if names_a_file(text) {
            return Err(NoKey::Argument(argument.clone()));
        } else {
            texts.push(text.into());
        }
    }
    let texts = texts.iter().map(Vec::as_slice);
    Ok(Digest::of_list(texts).to_string())
}

/// Libraries and response files have their letters; any end of another argument
/// may be the name of a file that is there.
fn names_a_file(argument: &[u8]) -> bool {
    let is_library = [&b"-l"[..], b"--library", b"@"]
        .iter()
        .any(|start| argument.starts_with(start));
    let mut ends =
        (0..argument.len()).map(|start| Path::new(OsStr::from_bytes(&argument[start..])));
    is_library || ends.any(Path::is_file)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(line: &str) -> Vec<OsString> {
        line.split_whitespace().map(OsString::from).collect()
    }

    #[test]
    fn files_among_arguments_are_found() {
        let dir = tempfile::tempdir().unwrap();
        let script = dir.path().join("script");
        std::fs::write(&script, "{ global: a; };").unwrap();
        let script = script.display();
        for line in [
            format!("{script}"),
            format!("-T{script}"),
            format!("--options-file {script}"),
            format!("--just-symbols={script}"),
            "-lm".into(),
            "@arguments".into(),
        ] {
            assert!(without_files(&words(&line)).is_err(), "{line}");
        }
        let of = |line: &str| without_files(&words(line)).unwrap();
        assert_eq!(of("-v -L /a"), of("-v -L/b --library-path=/c"));
        assert_ne!(of("-v"), of("-v -O1"));
        let line = format!("--version-script={script}");
        let first = of(&line);
        std::fs::write(dir.path().join("script"), "{ global: b; };").unwrap();
        assert_ne!(of(&line), first);
    }

    #[test]
    fn options_of_llvm_that_print_are_told() {
        let options = |text: &str| silent(&[text.to_owned()]);
        assert!(options("-inline-threshold=10").is_ok());
        for telling in ["-time-passes", "-print-after-all", "-x=/tmp/a", "-stats"] {
            assert!(options(telling).is_err(), "{telling}");
        }
    }
}
