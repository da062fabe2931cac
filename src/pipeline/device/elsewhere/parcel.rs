//! A device link with all that it needs: tools, libraries, arguments.

use super::super::key;
use super::{Context, DeviceError, DeviceLink, ElsewhereError};
use crate::options::Emit;
use crate::pipeline::dry_run;
use crate::process::Tool;
use crate::target::{Device, Target};
use offlink_bundle::image::ImageFormat;
use offlink_llvm::Library;
use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

/// A device link as somebody else can do it.
pub(super) struct Parcel<'a> {
    pub(super) target: &'a Target,
    pub(super) link: &'a DeviceLink,
    /// libLLVM, if there is bitcode, and none that is built in goes with offlink.
    pub(super) llvm: Option<PathBuf>,
    /// The tools, by their keys in the toolchain file.
    pub(super) tools: Vec<(&'static str, Tool)>,
    /// Device libraries that the code may turn out to need.
    pub(super) libraries: Vec<PathBuf>,
    /// What tools see of the environment besides.
    pub(super) environment: BTreeMap<String, String>,
    pub(super) is_hermetic: bool,
    pub(super) llvm_options: &'a [String],
}

/// Whether the link is one for `offlink link`, on any machine.
pub(super) fn is_for_anywhere(target: &Target, link: &DeviceLink) -> bool {
    !matches!(target.device(), Device::X86_64(_)) && link.options.emit != Emit::Bitcode
}

impl<'a> Parcel<'a> {
    /// What the link needs, found here.
    ///
    /// # Errors
    /// [`ElsewhereError::Stays`] if something of it is known here only, or
    /// [`DeviceError`] if something is nowhere.
    pub(super) fn new(
        target: &'a Target,
        link: &'a DeviceLink,
        context: &Context<'a>,
    ) -> Result<Self, DeviceError> {
        let setting = context.setting;
        let llvm_options = &setting.options.llvm_options;
        let stays = |reason: &str| stays(target, reason);
        if setting.work_dir.is_kept() {
            return Err(stays("what is made on the way is wanted here"));
        }
        if link.options.ptx_version.is_some() {
            return Err(stays("a PTX version is asked for"));
        }
        key::check_arguments(link, llvm_options).map_err(|reason| stays(&reason.to_string()))?;
        let toolchain = context.toolchain;
        let mut tools = Vec::new();
        for (name, find) in key::tools(target, link) {
            tools.push((name, find(toolchain)?));
        }
        let optional = key::tool_if_there_is_one(target, link);
        if let Some((name, Ok(tool))) = optional.map(|(name, find)| (name, find(toolchain))) {
            tools.push((name, tool));
        }
        let (mut llvm, mut libraries) = (None, Vec::new());
        if !link.bitcode.is_empty() {
            llvm = setting.llvm_by_name().map(Path::to_owned);
            if llvm.is_none() && !Library::IS_BUILT_IN {
                // Says what is missing.
                llvm = Some(setting.library()?.path().to_owned());
            }
            libraries = key::libraries(target, toolchain);
        }
        let named = toolchain.named();
        let file = named.file.as_ref();
        Ok(Self {
            target,
            link,
            llvm,
            tools,
            libraries,
            environment: file.map_or_else(BTreeMap::new, |file| file.environment.clone()),
            is_hermetic: named.is_hermetic(),
            llvm_options,
        })
    }

    /// The arguments of `offlink` for it, with these arguments for the image's linker.
    pub(super) fn arguments(
        &self,
        toolchain_file: &str,
        linker_arguments: &[OsString],
        output: &str,
        inputs: &[String],
    ) -> Result<Vec<String>, DeviceError> {
        let mut options = self.link.options.clone();
        options.linker_arguments = linker_arguments.to_vec();
        let mut words = vec![
            format!("--toolchain={toolchain_file}"),
            format!("--triple={}", self.target.triple()),
            format!("--arch={}", self.target.arch()),
        ];
        for option in dry_run::device_options(&options, self.llvm_options) {
            words.push(text(self.target, &option)?);
        }
        let exports = self.link.exports.iter();
        words.extend(exports.map(|name| format!("--export-symbol={name}")));
        words.extend(["-o", output].map(String::from));
        words.extend(inputs.iter().cloned());
        Ok(words)
    }

    /// The name of an input among the others: offlink tells their forms from their
    /// contents.
    pub(super) fn input_names(&self) -> impl Iterator<Item = String> {
        let inputs = self.link.inputs().enumerate();
        inputs.map(|(number, input)| match ImageFormat::detect(&input.data) {
            ImageFormat::Bitcode => format!("{number}.bc"),
            ImageFormat::Ptx => format!("{number}.ptx"),
            _ => format!("{number}.o"),
        })
    }

    /// The key of the libraries in the toolchain file.
    pub(super) fn library_key(&self) -> &'static str {
        match self.target.device() {
            Device::Amdgcn(_) => "rocm-device-libs",
            _ => "libdevice",
        }
    }
}

/// A toolchain file that says what is declared, by keys.
pub(super) fn toolchain_file(
    is_hermetic: bool,
    environment: &BTreeMap<String, String>,
    tools: &[(&'static str, Vec<String>)],
) -> String {
    // JSON's strings are strings of TOML.
    let string = |text: &String| serde_json::Value::from(text.as_str()).to_string();
    let mut file = format!("hermetic = {is_hermetic}\n[environment]\n");
    for (name, value) in environment {
        file += &format!("{} = {}\n", string(name), string(value));
    }
    file += "[tools]\n";
    for (key, words) in tools {
        let words: Vec<String> = words.iter().map(string).collect();
        // What is not run is no list.
        let value = match words.as_slice() {
            [path] => path.clone(),
            words => format!("[{}]", words.join(", ")),
        };
        file += &format!("{key} = {value}\n");
    }
    file
}

/// A word of the command, which has to be text.
pub(super) fn text(target: &Target, word: &OsStr) -> Result<String, DeviceError> {
    let text = word.to_str().map(str::to_owned);
    text.ok_or_else(|| stays(target, &format!("'{}' is not UTF-8", word.display())))
}

/// The error that the link can't be run elsewhere.
pub(super) fn stays(target: &Target, reason: &str) -> DeviceError {
    ElsewhereError::Stays {
        target: target.to_string(),
        reason: reason.into(),
    }
    .into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::toolchain::ToolchainFile;

    #[test]
    fn toolchain_files_are_read_back() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("offlink.toml");
        let environment = BTreeMap::from([("A.B".to_owned(), "x \"y\"\\".to_owned())]);
        let words = |line: &str| line.split(' ').map(String::from).collect();
        let tools = [
            ("libdevice", words("/a/libdevice.10.bc")),
            ("ptxas", words("/ld.so --library-path /lib /bin/ptxas")),
        ];
        std::fs::write(&path, toolchain_file(true, &environment, &tools)).unwrap();
        let file = ToolchainFile::read(&path).unwrap();
        assert!(file.hermetic);
        assert_eq!(file.environment, environment);
        let paths: Vec<&Path> = file.files().collect();
        assert_eq!(
            paths,
            [Path::new("/bin/ptxas"), Path::new("/a/libdevice.10.bc")]
        );
    }
}
