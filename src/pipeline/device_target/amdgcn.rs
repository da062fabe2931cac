//! rustc's line for amdgcn-amd-amdhsa, which is written for lld: objects, or
//! bitcode with `-Clinker-plugin-lto`, a version script of what to export, and
//! options that go on to lld.

use super::{DeviceTargetError, DeviceTargetLink, File};
use crate::Error;
use crate::mapped_file::{self, ReadError};
use crate::request::{InputName, OutputKind, Request, Style};
use bytes::Bytes;
use offlink_bundle::image::{self, ImageFormat};
use std::ffi::OsString;
use std::path::Path;

/// The link that `request` asks for, if it is a linker's line whose first object
/// is code for an AMD GPU; `None` for every other line.
///
/// # Errors
/// [`Error`] when a file of such a line can't be read.
pub fn of(request: &Request) -> Result<Option<DeviceTargetLink>, Error> {
    let is_for_lld = matches!(request.style, Style::Ld | Style::LldFlavor);
    if !is_for_lld || request.line.output_kind != OutputKind::SharedLibrary {
        return Ok(None);
    }
    let Some((path, object)) = first_object(request)? else {
        return Ok(None);
    };
    let Some(triple) = triple(&object) else {
        return Ok(None);
    };
    let line = Line::read(request)?;
    let told = || {
        image::object_target(&object).map_err(|source| DeviceTargetError::Object {
            file: path.display().to_string(),
            source,
        })
    };
    let cpu = match line.cpu {
        Some(cpu) => Some(cpu),
        None => told()?.map(|target| target.arch),
    };
    let mut options = request.options.clone();
    options.device.opt_level = line.opt_level.unwrap_or(options.device.opt_level);
    options.device.linker_arguments.extend(line.for_lld);
    Ok(Some(DeviceTargetLink {
        triple,
        cpu,
        files: line.files,
        exports: line.exports,
        options,
        output: request.line.output.clone(),
    }))
}

fn first_object(request: &Request) -> Result<Option<(&Path, Bytes)>, ReadError> {
    for input in &request.line.inputs {
        if let InputName::File(path) = &input.name
            && path.is_file()
        {
            return Ok(Some((path, mapped_file::map(path)?)));
        }
    }
    Ok(None)
}

/// The triple of code for an AMD GPU; `None` for all other files.
fn triple(object: &[u8]) -> Option<String> {
    match ImageFormat::detect(object) {
        ImageFormat::HsacoRelocatable => Some(offlink_hsaco::TRIPLE.into()),
        ImageFormat::Bitcode => offlink_llvm::Symbols::read_triple(object)
            .ok()
            .filter(|triple| offlink_hsaco::triple::is_amd(triple)),
        _ => None,
    }
}

/// What the words of the line mean.
#[derive(Debug, Default)]
struct Line {
    files: Vec<File>,
    cpu: Option<String>,
    opt_level: Option<u8>,
    /// `None` without a version script, as lld then exports whatever is visible.
    exports: Option<Vec<String>>,
    /// What is left for lld.
    for_lld: Vec<OsString>,
}

impl Line {
    fn read(request: &Request) -> Result<Self, ReadError> {
        let mut line = Self::default();
        let mut is_file = vec![false; request.arguments.len()];
        for input in &request.line.inputs {
            if let InputName::File(path) = &input.name {
                is_file[input.arguments.clone()].fill(true);
                line.files.push(File {
                    path: path.clone(),
                    whole: input.whole_archive,
                });
            }
        }
        let mut words = request.arguments.iter().zip(is_file);
        while let Some((word, is_file)) = words.next() {
            let text = word.to_string_lossy();
            let of_plugin = text.trim_start_matches('-').strip_prefix("plugin-opt=");
            match (text.as_ref(), of_plugin) {
                _ if is_file => {}
                ("-flavor" | "-o" | "--output" | "-plugin" | "--plugin", _) => {
                    words.next();
                }
                // offlink's own line for lld has it already.
                ("-shared" | "--shared", _) => {}
                (_, Some(option)) => line.plugin_option(option),
                (text, None) => {
                    if let Some(script) = text.strip_prefix("--version-script=") {
                        let script = mapped_file::map(Path::new(script))?;
                        line.exports = Some(exports(&String::from_utf8_lossy(&script)));
                    }
                    line.for_lld.push(word.clone());
                }
            }
        }
        Ok(line)
    }

    /// What lld's LTO is told holds for that of offlink; the rest is about how
    /// lld does it.
    fn plugin_option(&mut self, option: &str) {
        if let Some(cpu) = option.strip_prefix("mcpu=") {
            self.cpu = Some(cpu.into());
        } else if let Some(level) = option.strip_prefix('O') {
            self.opt_level = level.parse().ok().filter(|level| *level <= 3);
        }
    }
}

/// The names that a version script like rustc's exports: one version, plain
/// names. A kernel's descriptor, `NAME.kd`, is made with the kernel.
fn exports(script: &str) -> Vec<String> {
    let words = script
        .split(|letter: char| letter.is_whitespace() || "{};".contains(letter))
        .filter(|word| !word.is_empty());
    let mut is_global = false;
    let mut names = Vec::new();
    for word in words {
        match word {
            "global:" => is_global = true,
            "local:" => is_global = false,
            name if is_global && !name.ends_with(".kd") => names.push(name.to_owned()),
            _ => {}
        }
    }
    names
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rustcs_version_script() {
        let script =
            "{\n  global:\n    saxpy;\n    saxpy.kd;\n    twice;\n\n  local:\n    *;\n};\n";
        assert_eq!(exports(script), ["saxpy", "twice"]);
        assert!(exports("{ local: *; };").is_empty());
    }
}
