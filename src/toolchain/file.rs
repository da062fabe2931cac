//! The toolchain file: which tools and device libraries links use, by path.
//! docs/HERMETIC.md describes it for users.

use crate::files;
use crate::target::{self, Target, TargetError};
use serde::Deserialize;
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::ops::Range;
use std::path::{Path, PathBuf};
use thiserror::Error;
use toml::Spanned;

/// What a toolchain file can name, in its `[tools]` and for one target.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq, PartialOrd, Ord)]
#[serde(rename_all = "kebab-case")]
pub enum Key {
    /// libLLVM.
    Llvm,
    /// ptxas.
    Ptxas,
    /// nvlink.
    Nvlink,
    /// lld, for AMD images.
    Lld,
    /// spirv-link.
    SpirvLink,
    /// The system's linker or compiler driver.
    HostLinker,
    /// A compiler driver for the host.
    Cc,
    /// A CUDA installation.
    Cuda,
    /// A ROCm installation.
    Rocm,
    /// NVIDIA's mathematical functions.
    Libdevice,
    /// The folder of ROCm's device libraries.
    RocmDeviceLibs,
    /// The library that OpenMP's images are registered with.
    Omptarget,
}

impl Key {
    /// As the file spells it; `--offlink-<name>` is the option, where there is one.
    pub fn name(self) -> &'static str {
        match self {
            Self::Llvm => "llvm",
            Self::Ptxas => "ptxas",
            Self::Nvlink => "nvlink",
            Self::Lld => "lld",
            Self::SpirvLink => "spirv-link",
            Self::HostLinker => "host-linker",
            Self::Cc => "cc",
            Self::Cuda => "cuda",
            Self::Rocm => "rocm",
            Self::Libdevice => "libdevice",
            Self::RocmDeviceLibs => "rocm-device-libs",
            Self::Omptarget => "omptarget",
        }
    }

    /// Whether it is run, so that another program can be put before it.
    fn is_program(self) -> bool {
        matches!(
            self,
            Self::Ptxas | Self::Nvlink | Self::Lld | Self::SpirvLink | Self::HostLinker | Self::Cc
        )
    }

    /// Whether one process has one of it, whatever the targets.
    fn is_for_all_targets(self) -> bool {
        matches!(
            self,
            Self::Llvm | Self::HostLinker | Self::Cc | Self::Omptarget
        )
    }
}

/// A tool or library of the file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Declared {
    /// The program, library or folder.
    pub path: PathBuf,
    /// The program that starts it, with its arguments; none for most.
    pub launcher: Vec<OsString>,
}

/// A toolchain file that was read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ToolchainFile {
    /// Nothing but what is declared may be used.
    pub hermetic: bool,
    /// What tools see in their environment besides, or in place of, this process's.
    pub environment: BTreeMap<String, String>,
    tools: BTreeMap<Key, Declared>,
    /// By `TRIPLE` or `TRIPLE:ARCH`.
    targets: BTreeMap<String, BTreeMap<Key, Declared>>,
}

/// A toolchain file can't be used.
#[derive(Debug, Error)]
pub enum ToolchainFileError {
    /// It can't be read.
    #[error("cannot read the toolchain file '{}': {source}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// It says what makes no sense.
    #[error("{}:{line}: {message}", path.display())]
    Content {
        /// The file.
        path: PathBuf,
        /// The line, from 1.
        line: usize,
        /// What is wrong with it.
        message: String,
    },
}

/// The file as it is written.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Tables {
    #[serde(default)]
    hermetic: bool,
    #[serde(default)]
    environment: BTreeMap<String, String>,
    #[serde(default)]
    tools: Table,
    #[serde(default)]
    target: BTreeMap<Spanned<String>, Table>,
}

type Table = BTreeMap<Key, Spanned<Words>>;

/// A path, or a command whose last word is one.
#[derive(Deserialize)]
#[serde(
    untagged,
    expecting = "expected a path, or a list of words that ends with one"
)]
enum Words {
    One(String),
    Several(Vec<String>),
}

impl ToolchainFile {
    /// Reads the file at `path`. Relative paths in it start at its folder.
    ///
    /// # Errors
    /// [`ToolchainFileError`] when it can't be read or has another form.
    pub fn read(path: &Path) -> Result<Self, ToolchainFileError> {
        let text = std::fs::read_to_string(path).map_err(|source| ToolchainFileError::Read {
            path: path.into(),
            source,
        })?;
        files::read(path);
        let content = |(span, message): (Range<usize>, String)| ToolchainFileError::Content {
            path: path.into(),
            line: 1 + text[..span.start].matches('\n').count(),
            message,
        };
        let tables: Tables = toml::from_str(&text)
            .map_err(|error| content((error.span().unwrap_or(0..0), error.message().into())))?;
        let folder = path.parent().unwrap_or(Path::new(""));
        let tools = declared(tables.tools, folder, None).map_err(content)?;
        let targets = tables.target.into_iter().map(|(target, table)| {
            check_target(target.get_ref()).map_err(|error| content((target.span(), error)))?;
            let table = declared(table, folder, Some(&target)).map_err(content)?;
            Ok((target.into_inner(), table))
        });
        Ok(Self {
            hermetic: tables.hermetic,
            environment: tables.environment,
            tools,
            targets: targets.collect::<Result<_, ToolchainFileError>>()?,
        })
    }

    /// What it says for all targets.
    pub fn tools(&self) -> &BTreeMap<Key, Declared> {
        &self.tools
    }

    /// The files and folders of libraries that it names, without installations.
    pub fn files(&self) -> impl Iterator<Item = &Path> {
        let tables = std::iter::once(&self.tools).chain(self.targets.values());
        tables
            .flatten()
            .filter(|(key, _)| !matches!(key, Key::Cuda | Key::Rocm))
            .map(|(_, declared)| declared.path.as_path())
    }

    /// What it says for one target alone: for its arch first, then for all of the
    /// triple.
    pub fn for_target(
        &self,
        triple: &str,
        arch: &str,
    ) -> impl Iterator<Item = &BTreeMap<Key, Declared>> + use<'_> {
        let names = [format!("{triple}:{arch}"), triple.to_owned()];
        names.into_iter().filter_map(|name| self.targets.get(&name))
    }
}

/// Whether `TRIPLE` or `TRIPLE:ARCH` is a target, as a table for another would never
/// hold.
fn check_target(name: &str) -> Result<(), String> {
    let canonical = |target: Target| match target.arch() {
        arch if arch.is_empty() => target.triple().to_owned(),
        arch => format!("{}:{arch}", target.triple()),
    };
    match name.split_once(':') {
        Some((triple, arch)) => match Target::parse(triple, arch).map(canonical) {
            Ok(canonical) if canonical == name => Ok(()),
            Ok(canonical) => Err(format!("target '{name}' is written '{canonical}' here")),
            Err(error) => Err(error.to_string()),
        },
        None if target::canonical_triple(name) != name => Err(format!(
            "target '{name}' is written '{}' here",
            target::canonical_triple(name)
        )),
        None => match Target::parse(name, "") {
            Err(error @ TargetError::Triple(_)) => Err(error.to_string()),
            // The arch is missing, which is as it should be.
            _ => Ok(()),
        },
    }
}

/// A table with its paths below `folder`; or where what is wrong, and what.
fn declared(
    table: Table,
    folder: &Path,
    target: Option<&Spanned<String>>,
) -> Result<BTreeMap<Key, Declared>, (Range<usize>, String)> {
    let mut tools = BTreeMap::new();
    for (key, words) in table {
        let span = words.span();
        let name = key.name();
        let mut words = match words.into_inner() {
            Words::One(word) => vec![word],
            Words::Several(words) => words,
        };
        let Some(path) = words.pop().filter(|path| !path.is_empty()) else {
            return Err((span, format!("'{name}' names no file")));
        };
        if !words.is_empty() && !key.is_program() {
            return Err((span, format!("'{name}' is not run, so it is one path")));
        }
        if let Some(target) = target.filter(|_| key.is_for_all_targets()) {
            let target = target.get_ref();
            return Err((
                span,
                format!("'{name}' is one for all targets; move it from '{target}' to [tools]"),
            ));
        }
        let path = folder.join(path);
        let launcher = words.into_iter().enumerate();
        let launcher = launcher.map(|(position, word)| launcher_word(word, position, folder));
        let launcher = launcher.collect();
        tools.insert(key, Declared { path, launcher });
    }
    Ok(tools)
}

/// A launcher with a slash lies below the file's folder, as do arguments that
/// start with `./` or `../`; any other argument may be anything.
fn launcher_word(word: String, position: usize, folder: &Path) -> OsString {
    let is_path = if position == 0 {
        word.contains('/')
    } else {
        word.starts_with("./") || word.starts_with("../")
    };
    if is_path {
        folder.join(word).into()
    } else {
        word.into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<ToolchainFile, String> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("offlink.toml");
        std::fs::write(&path, text).unwrap();
        let prefix = folder.path().display().to_string() + "/";
        ToolchainFile::read(&path).map_err(|error| error.to_string().replace(&prefix, ""))
    }

    #[test]
    fn paths_start_at_the_file() {
        let folder = tempfile::tempdir().unwrap();
        let at = |path: &str| folder.path().join(path);
        let text = r#"
            hermetic = true
            [tools]
            llvm = "/opt/libLLVM.so"
            ptxas = ["bin/ld.so", "--library-path", "./lib", "bin/ptxas"]
            nvlink = ["sccache", "nvlink"]
            [target.nvptx64-nvidia-cuda]
            ptxas = "old/ptxas"
            [target."nvptx64-nvidia-cuda:sm_90"]
            ptxas = "new/ptxas"
        "#;
        std::fs::write(at("offlink.toml"), text).unwrap();
        let file = ToolchainFile::read(&at("offlink.toml")).unwrap();
        assert!(file.hermetic);
        let tools = file.tools();
        assert_eq!(tools[&Key::Llvm].path, Path::new("/opt/libLLVM.so"));
        assert_eq!(tools[&Key::Ptxas].path, at("bin/ptxas"));
        assert_eq!(
            tools[&Key::Ptxas].launcher,
            [
                at("bin/ld.so").into_os_string(),
                "--library-path".into(),
                at("./lib").into_os_string()
            ]
        );
        assert_eq!(tools[&Key::Nvlink].launcher, ["sccache"]);
        let ptxas = |arch: &str| -> Vec<PathBuf> {
            let tables = file.for_target("nvptx64-nvidia-cuda", arch);
            tables
                .map(|table| table[&Key::Ptxas].path.clone())
                .collect()
        };
        assert_eq!(ptxas("sm_90"), [at("new/ptxas"), at("old/ptxas")]);
        assert_eq!(ptxas("sm_80"), [at("old/ptxas")]);
    }

    #[test]
    fn faults_have_their_line() {
        let says = |text: &str| read(text).unwrap_err();
        let unknown = says("[tools]\nptxas = \"p\"\n\nptaxs = \"p\"\n");
        assert!(
            unknown.starts_with("offlink.toml:4: unknown variant `ptaxs`"),
            "{unknown}"
        );
        assert!(unknown.contains("`rocm-device-libs`"), "{unknown}");
        let table = says("[tools]\n[tool]\n");
        assert!(
            table.starts_with("offlink.toml:2: unknown field `tool`"),
            "{table}"
        );
        assert_eq!(
            says("[tools]\nptxas = 5\n"),
            "offlink.toml:2: expected a path, or a list of words that ends with one"
        );
        assert_eq!(
            says("[tools]\nlld = []\n"),
            "offlink.toml:2: 'lld' names no file"
        );
        assert_eq!(
            says("[tools]\n\nlibdevice = [\"sccache\", \"l.bc\"]\n"),
            "offlink.toml:3: 'libdevice' is not run, so it is one path"
        );
        assert_eq!(
            says("[target.spirv64]\nllvm = \"l\"\n"),
            "offlink.toml:2: 'llvm' is one for all targets; move it from 'spirv64' to [tools]"
        );
        assert_eq!(
            says("[target.'amdgcn-amd-amdhsa:gfx90a:xnack+:sramecc-']\nlld = 'l'\n"),
            "offlink.toml:1: target 'amdgcn-amd-amdhsa:gfx90a:xnack+:sramecc-' is written \
             'amdgcn-amd-amdhsa:gfx90a:sramecc-:xnack+' here"
        );
        let triple = says("[tools]\n[target.nvptx-cuda]\nptxas = 'p'\n");
        assert!(
            triple.starts_with("offlink.toml:2: cannot link"),
            "{triple}"
        );
        assert!(says("[tools\n").starts_with("offlink.toml:1: "));
        assert!(
            ToolchainFile::read(Path::new("/no/such.toml"))
                .unwrap_err()
                .to_string()
                .contains("'/no/such.toml'")
        );
    }
}
