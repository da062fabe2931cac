//! What clang-linker-wrapper's options ask for beyond a plain link.

use offlink_bundle::offload_binary::OffloadKind;
use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

/// The part of a request that only clang-linker-wrapper's line can hold.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WrapperRequest {
    /// Print the commands that LLVM's wrapper would run, and run nothing.
    pub dry_run: bool,
    /// Print them before they are carried out.
    pub verbose: bool,
    /// Print the registration code as LLVM IR.
    pub print_module: bool,
    /// What is to be made.
    pub product: Product,
    /// Finished images that take the place of all device links.
    pub overrides: Vec<ImageOverride>,
    /// `--device-compiler`, in order.
    pub device_compiler: Vec<DeviceArgument>,
    /// `--device-linker`, in order.
    pub device_linker: Vec<DeviceArgument>,
    /// `-mllvm` and `--offload-opt`, in order.
    pub llvm: Vec<LlvmOption>,
    /// Bitcode is asked for instead of linked images.
    pub embed_bitcode: bool,
    /// What is made on the way is kept.
    pub save_temps: bool,
    /// Where to write how long each phase took.
    pub time_trace: Option<TimeTraceFile>,
}

/// What comes of a link.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Product {
    /// A program, a library or an object, by the host linker.
    #[default]
    Linked,
    /// The container of the images, as the output.
    Bundle,
    /// The images, each in a file.
    Images(Vec<ImageOutput>),
}

/// Where the image for one target goes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ImageOutput {
    /// The device triple.
    pub triple: String,
    /// The arch or target ID.
    pub arch: String,
    /// The file.
    pub file: PathBuf,
}

/// A finished image from a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ImageOverride {
    /// Who launches its kernels.
    pub kind: OffloadKind,
    /// The file.
    pub file: PathBuf,
}

/// An argument for the device compiler or linker.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeviceArgument {
    /// The only triple that it is for.
    pub triple: Option<String>,
    /// The argument.
    pub value: OsString,
}

/// An option for LLVM itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LlvmOption {
    /// The option, such as `-inline-threshold=10`.
    pub value: String,
    /// It came by `-mllvm`, which LLVM's wrapper gives to clang twice.
    pub by_mllvm: bool,
}

/// A time trace that was asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TimeTraceFile {
    /// The file.
    pub file: PathBuf,
    /// Phases that took less than this are left out.
    pub granularity: Duration,
}

impl WrapperRequest {
    /// Whether the device side is all that is made.
    pub fn is_device_only(&self) -> bool {
        self.product != Product::Linked
    }
}
