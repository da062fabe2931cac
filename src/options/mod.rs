//! offlink's own options, which start with `--offlink-` wherever they stand in
//! a foreign command line, and their environment variables.

mod elsewhere;
mod table;

use crate::arch_list::{ArchList, ArchListError};
use crate::build_system::Wanted;
use crate::device_setting::DeviceSetting;
use crate::image_argument::{ImageArgument, ImageArgumentError};
use crate::spirv_runtime::SpirvRuntime;
use crate::toolchain::{ToolchainFile, ToolchainFileError};
pub use elsewhere::Elsewhere;
use offlink_ptx::PtxVersion;
use std::ffi::{OsStr, OsString};
use std::num::{NonZeroU64, NonZeroUsize};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use table::OwnOption;
use thiserror::Error;

/// What the own options of one line say.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Options {
    /// Device code to add to the link.
    pub images: Vec<ImageArgument>,
    /// The archs that device code is linked for where its own link line names
    /// one or none.
    pub archs: ArchList,
    /// How device code is linked.
    pub device: DeviceOptions,
    /// Libraries of device code, of which the link takes what its device code
    /// needs.
    pub device_libs: Vec<DeviceLib>,
    /// Somebody said how far device links go.
    pub emit_is_chosen: bool,
    /// What differs between device links.
    pub device_settings: Vec<DeviceSetting>,
    /// Options for LLVM itself, such as `-inline-threshold=10`.
    pub llvm_options: Vec<String>,
    /// The host's triple.
    pub host_triple: Option<String>,
    /// The most device links, or parts of them, at a time; as many as there are cores
    /// by default.
    pub jobs: Option<NonZeroUsize>,
    /// The memory for parts of device links that are compiled at a time, in MiB; by
    /// default most of what the machine has available.
    pub memory: Option<NonZeroU64>,
    /// What is compressed.
    pub compress: Compress,
    /// The LLVM whose runtimes load SPIR-V images.
    pub spirv_runtime: SpirvRuntime,
    /// The library that OpenMP's images are registered with.
    pub omptarget: Choice,
    /// Where the program looks for it.
    pub rpath: Choice,
    /// Keep PTX of the newest NVIDIA architecture beside CUDA's cubins.
    pub embed_ptx: bool,
    /// Where images are kept for later links.
    pub cache_dir: Choice,
    /// Say why an image was not in the cache.
    pub explain_cache: bool,
    /// Run device links twice and compare.
    pub verify_deterministic: bool,
    /// What the build system wants besides the outputs.
    pub build_system: Wanted,
    /// Where device links are run, if not here.
    pub elsewhere: Elsewhere,
    /// Where to keep what is made on the way.
    pub save_temps: Option<PathBuf>,
    /// Print the steps instead of running them.
    pub dry_run: bool,
    /// Tell how long what took.
    pub time: bool,
    /// The same for Chrome's trace viewer, in this file.
    pub time_trace: Option<PathBuf>,
    /// Show details of errors.
    pub verbose: bool,
}

/// A library of device code.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DeviceLib {
    /// A file: an archive or bitcode.
    File(PathBuf),
    /// `-l` for the device linker. clang names its libraries whether they are
    /// there and needed or not, so one that isn't there is passed over.
    Named {
        /// The only triple that it is for.
        triple: Option<String>,
        /// The name without `-l`.
        name: String,
    },
}

/// A file or folder that offlink looks for unless it is told.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Choice {
    /// What offlink finds.
    #[default]
    Found,
    /// None at all.
    None,
    /// This one.
    Named(PathBuf),
}

/// Which containers hold their images compressed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Compress {
    /// Fatbins.
    pub cuda: bool,
    /// HIP bundles.
    pub hip: bool,
    /// The level of zstd for HIP bundles; 3 by default.
    pub level: Option<i32>,
}

/// What decides the bytes of a device image, besides its inputs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeviceOptions {
    /// How far to go.
    pub emit: Emit,
    /// The lowest PTX version to write, where PTX is what is made.
    pub ptx_version: Option<PtxVersion>,
    /// Optimisation level, 0 to 3.
    pub opt_level: u8,
    /// Passes for LLVM in place of the level's, in the notation of `opt -passes`.
    pub passes: Option<String>,
    /// The output is linked once more, so that all that is not local stays.
    pub relocatable: bool,
    /// Which links are compiled in parts.
    pub split: Split,
    /// The tools that were named; the others are looked for.
    pub tools: ToolPaths,
    /// Arguments for ptxas, behind offlink's own.
    pub ptxas_arguments: Vec<OsString>,
    /// Arguments for the linker of the images, behind offlink's own.
    pub linker_arguments: Vec<OsString>,
    /// Arguments for the compiler driver that links CPU images, which say how it links.
    pub driver_arguments: Vec<OsString>,
}

impl Default for DeviceOptions {
    fn default() -> Self {
        Self {
            emit: Emit::Image,
            ptx_version: None,
            opt_level: 3,
            passes: None,
            relocatable: false,
            split: Split::Auto,
            tools: ToolPaths::default(),
            ptxas_arguments: Vec::new(),
            linker_arguments: Vec::new(),
            driver_arguments: Vec::new(),
        }
    }
}

/// Which device links for NVIDIA are compiled in parts, side by side.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Split {
    /// Big ones.
    #[default]
    Auto,
    /// None.
    Never,
    /// All, every kernel by itself.
    Always,
}

/// How far a device link goes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Emit {
    /// What the GPU's driver loads: a cubin, an hsaco, a shared object.
    #[default]
    Image,
    /// PTX text, for NVIDIA targets; others still give an image.
    Ptx,
    /// The optimised bitcode.
    Bitcode,
}

/// Tools and libraries by path.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ToolPaths {
    /// libLLVM.
    pub llvm: Option<PathBuf>,
    /// ptxas.
    pub ptxas: Option<PathBuf>,
    /// nvlink.
    pub nvlink: Option<PathBuf>,
    /// lld, for AMD images.
    pub lld: Option<PathBuf>,
    /// spirv-link, for several SPIR-V modules.
    pub spirv_link: Option<PathBuf>,
    /// libdevice, NVIDIA's mathematical functions as bitcode.
    pub libdevice: Option<PathBuf>,
    /// The folder of ROCm's device libraries.
    pub rocm_device_libs: Option<PathBuf>,
    /// A ROCm installation, in whose `amdgcn/bitcode` these lie.
    pub rocm: Option<PathBuf>,
    /// A CUDA installation, in whose `bin` ptxas and nvlink lie.
    pub cuda: Option<PathBuf>,
    /// The system's linker or compiler driver.
    pub host_linker: Option<PathBuf>,
    /// A compiler driver for the host, which makes the registration object where
    /// offlink has no compiled code for it.
    pub cc: Option<PathBuf>,
    /// The toolchain file, which names the others.
    pub file: Option<Arc<ToolchainFile>>,
    /// Nothing is looked for that is not named.
    pub hermetic: bool,
}

impl ToolPaths {
    /// Whether nothing may be looked for, as the line or the toolchain file says.
    pub fn is_hermetic(&self) -> bool {
        self.hermetic || self.file.as_ref().is_some_and(|file| file.hermetic)
    }

    /// All that is named, by options or the toolchain file: files and folders of
    /// libraries, not whole installations.
    pub fn declared(&self) -> Vec<PathBuf> {
        let named = [
            &self.llvm,
            &self.ptxas,
            &self.nvlink,
            &self.lld,
            &self.spirv_link,
            &self.libdevice,
            &self.rocm_device_libs,
            &self.host_linker,
            &self.cc,
        ];
        let of_file = self.file.iter().flat_map(|file| file.files());
        let named = named.into_iter().flatten().map(PathBuf::as_path);
        named.chain(of_file).map(Path::to_owned).collect()
    }
}

/// An own option that can't be taken.
#[derive(Debug, Error)]
pub enum OptionError {
    /// No such option.
    #[error("unknown option '--offlink-{0}'; offlink --help lists the options")]
    Unknown(String),
    /// The option wants a value.
    #[error("option '--offlink-{name}' needs a value: --offlink-{name}={hint}")]
    NoValue {
        /// The name without `--offlink-`.
        name: &'static str,
        /// What the value stands for.
        hint: &'static str,
    },
    /// The option takes no value.
    #[error("option '--offlink-{0}' takes no value")]
    UnwantedValue(&'static str),
    /// The value makes no sense.
    #[error("'{value}' is no value for '--offlink-{name}'; it takes {hint}")]
    BadValue {
        /// The name without `--offlink-`.
        name: &'static str,
        /// The value.
        value: String,
        /// What it should be.
        hint: &'static str,
    },
    /// The value of `--offlink-image` makes no sense.
    #[error(transparent)]
    Image(#[from] ImageArgumentError),
    /// A list of archs names something that is none.
    #[error(transparent)]
    Archs(#[from] ArchListError),
    /// The toolchain file can't be used.
    #[error(transparent)]
    ToolchainFile(#[from] ToolchainFileError),
}

const PREFIX: &str = "--offlink-";

/// All options.
fn table() -> impl Iterator<Item = &'static OwnOption> {
    table::TABLE.iter().chain(elsewhere::TABLE)
}

impl Options {
    /// The options that the environment sets. An empty variable sets nothing.
    ///
    /// # Errors
    /// [`OptionError::BadValue`] when a variable's value makes no sense.
    pub fn from_environment(
        variable: impl Fn(&str) -> Option<OsString>,
    ) -> Result<Self, OptionError> {
        let mut options = Self::default();
        for own in table() {
            let value = own
                .variable
                .and_then(&variable)
                .filter(|value| !value.is_empty());
            if let Some(value) = value {
                own.set(&mut options, &value)?;
            }
        }
        Ok(options)
    }

    /// Whether the user cares that the same link gives the same bytes elsewhere.
    pub fn wants_reproducibility(&self) -> bool {
        self.verify_deterministic || self.device.tools.is_hermetic()
    }

    /// Takes `argument` in if it is an own option; `false` if it is not one.
    ///
    /// # Errors
    /// [`OptionError`] when it starts like an own option but is none, or its
    /// value makes no sense.
    pub fn take(&mut self, argument: &OsStr) -> Result<bool, OptionError> {
        let Some(rest) = strip_prefix(argument, PREFIX) else {
            return Ok(false);
        };
        let (name, value) = split_once(rest, b'=');
        let own = table()
            .find(|own| own.name == name)
            .ok_or_else(|| OptionError::Unknown(name.to_string_lossy().into_owned()))?;
        match (own.hint, value) {
            (Some(hint), None) => {
                return Err(OptionError::NoValue {
                    name: own.name,
                    hint,
                });
            }
            (None, Some(_)) => return Err(OptionError::UnwantedValue(own.name)),
            (_, value) => own.set(self, value.unwrap_or_default())?,
        }
        Ok(true)
    }
}

impl OwnOption {
    fn set(&self, options: &mut Options, value: &OsStr) -> Result<(), OptionError> {
        if (self.apply)(options, value)? {
            return Ok(());
        }
        Err(OptionError::BadValue {
            name: self.name,
            value: value.to_string_lossy().into_owned(),
            hint: self.hint.unwrap_or_default(),
        })
    }
}

/// Whether `argument` is, by its start, meant for offlink.
pub fn is_own(argument: &OsStr) -> bool {
    strip_prefix(argument, PREFIX).is_some()
}

/// The table of options as lines of help.
pub fn help() -> String {
    let mut text = String::new();
    for own in table() {
        let value = own.hint.map(|hint| format!("={hint}")).unwrap_or_default();
        let variable = own
            .variable
            .map(|v| format!(" [env: {v}]"))
            .unwrap_or_default();
        text += &format!(
            "  {PREFIX}{}{value}\n          {}{variable}\n",
            own.name, own.help
        );
    }
    text
}

/// `text` without `prefix`, if it starts with that.
pub(crate) fn strip_prefix<'a>(text: &'a OsStr, prefix: &str) -> Option<&'a OsStr> {
    use std::os::unix::ffi::OsStrExt;
    text.as_bytes()
        .strip_prefix(prefix.as_bytes())
        .map(OsStr::from_bytes)
}

/// The parts before and after the first `separator`.
pub(crate) fn split_once(text: &OsStr, separator: u8) -> (&OsStr, Option<&OsStr>) {
    use std::os::unix::ffi::OsStrExt;
    let bytes = text.as_bytes();
    match bytes.iter().position(|byte| *byte == separator) {
        Some(at) => (
            OsStr::from_bytes(&bytes[..at]),
            Some(OsStr::from_bytes(&bytes[at + 1..])),
        ),
        None => (text, None),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn take(argument: &str) -> Result<Options, OptionError> {
        let mut options = Options::default();
        options.take(OsStr::new(argument)).map(|_| options)
    }

    /// A value that the option takes, if it takes one, and that is not its default.
    fn good_value(own: &OwnOption) -> Option<&'static str> {
        own.hint.map(|hint| match hint {
            "N" => "3",
            "0|1|2|3" => "1",
            "ARCH,…" => "sm_90,gfx90a",
            "22|24" => "24",
            "auto|never|always" => "never",
            "MIB" => "512",
            "OLD=NEW" => "/old=new",
            "NAME=VALUE" => "name=value",
            "here|never" => "never",
            hint if hint.starts_with("image|") => "ptx",
            hint if hint.starts_with("file=") => "file=F,triple=T,arch=A",
            _ => "x",
        })
    }

    #[test]
    fn every_option_with_a_good_value_and_its_variable() {
        for own in table() {
            // It is read; tests/e2e/hermetic.rs has files.
            if own.name == "toolchain" {
                continue;
            }
            let value = good_value(own);
            let joined = value.map(|value| format!("={value}")).unwrap_or_default();
            let argument = format!("--offlink-{}{joined}", own.name);
            let by_argument = take(&argument).unwrap();
            assert_ne!(by_argument, Options::default(), "{argument}");
            if let Some(variable) = own.variable {
                let value = value.unwrap();
                let by_variable =
                    Options::from_environment(|name| (name == variable).then(|| value.into()));
                assert_eq!(by_variable.unwrap(), by_argument, "{variable}");
                assert!(help().contains(&format!("[env: {variable}]")), "{variable}");
            }
        }
    }

    #[test]
    fn faults_are_named() {
        let says = |argument: &str| take(argument).unwrap_err().to_string();
        assert!(says("--offlink-colour").contains("unknown option '--offlink-colour'"));
        assert!(says("--offlink-llvm").contains("--offlink-llvm=PATH"));
        assert!(says("--offlink-llvm=").contains("PATH"));
        assert!(says("--offlink-dry-run=yes").contains("takes no value"));
        assert!(says("--offlink-opt-level=9").contains("0|1|2|3"));
        assert!(says("--offlink-jobs=0").contains("'0'"));
        assert!(says("--offlink-archs=sm_91").contains("nearest are sm_90"));
        assert!(says("--offlink-archs=,").contains("ARCH,…"));
        assert!(says("--offlink-image=triple=a").contains("lacks file="));
    }

    #[test]
    fn other_options_are_left_alone() {
        assert!(
            !Options::default()
                .take(OsStr::new("-Wl,--offlink-llvm=x"))
                .unwrap()
        );
        assert!(!is_own(OsStr::new("--off")));
    }

    #[test]
    fn environment_gives_paths() {
        let options = Options::from_environment(|name| match name {
            "OFFLINK_PTXAS" => Some("/x/ptxas".into()),
            "OFFLINK_LLVM" => Some("".into()),
            _ => None,
        })
        .unwrap();
        assert_eq!(options.device.tools.ptxas, Some("/x/ptxas".into()));
        assert_eq!(options.device.tools.llvm, None);
    }
}
