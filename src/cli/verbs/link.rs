//! `offlink link`: device code → the image for one target.

use super::ToolFlags;
use crate::Error;
use crate::cli::UsageError;
use crate::device_input::DeviceInput;
use crate::mapped_file;
use crate::options::{DeviceLib, Emit, Options, Split};
use crate::pipeline::device::DeviceError;
use crate::pipeline::{image_file, select};
use crate::target::{Device, Target};
use crate::toolchain::Toolchain;
use offlink_bundle::image::ImageFormat;
use offlink_bundle::offload_binary::OffloadKind;
use std::ffi::OsString;
use std::path::PathBuf;

/// Link device code into the image for one target.
#[derive(Debug, clap::Args)]
pub struct Link {
    /// The device triple, such as nvptx64-nvidia-cuda
    #[arg(long, value_name = "TRIPLE", alias = "target")]
    triple: String,
    /// The arch or target ID, such as sm_90 or gfx90a:xnack+
    #[arg(long, value_name = "ARCH", default_value = "")]
    arch: String,
    /// What to make; an image is a cubin, an hsaco or a shared object
    #[arg(long, value_enum, default_value_t = Form::Image)]
    emit: Form,
    /// Optimisation level, 0 to 3
    #[arg(short = 'O', value_name = "LEVEL", value_parser = clap::value_parser!(u8).range(0..=3))]
    opt_level: Option<u8>,
    /// Passes for LLVM in place of the level's, in the notation of 'opt -passes'
    #[arg(long, value_name = "PIPELINE")]
    passes: Option<String>,
    /// The output is linked once more: keep whatever other code may refer to
    #[arg(long)]
    relocatable: bool,
    /// Compile big code for NVIDIA in parts, or all in one, or each kernel by itself
    #[arg(long, value_name = "WHEN", value_enum)]
    split: Option<Parts>,
    /// Keep this symbol, because the host looks it up
    #[arg(long, value_name = "NAME")]
    export_symbol: Vec<String>,
    /// An option for LLVM itself, such as -inline-threshold=10
    #[arg(long, value_name = "OPTION", allow_hyphen_values = true)]
    mllvm: Vec<String>,
    /// An argument for ptxas
    #[arg(long, value_name = "ARG", allow_hyphen_values = true)]
    ptxas_arg: Vec<OsString>,
    /// An argument for nvlink, lld, or the linker of CPU images
    #[arg(long, value_name = "ARG", allow_hyphen_values = true)]
    linker_arg: Vec<OsString>,
    /// An argument for the compiler driver that links CPU images, such as -fuse-ld=lld
    #[arg(long, value_name = "ARG", allow_hyphen_values = true)]
    driver_arg: Vec<OsString>,
    /// A library of device code, archive or bitcode, of which the link takes what it needs
    #[arg(long, value_name = "FILE")]
    device_lib: Vec<PathBuf>,
    #[command(flatten)]
    tools: ToolFlags,
    /// The file to write
    #[arg(short, long, value_name = "FILE")]
    output: PathBuf,
    /// Bitcode, PTX and objects, in link order; LLVM's textual IR in files named *.ll
    #[arg(value_name = "FILE", required = true)]
    files: Vec<PathBuf>,
}

#[derive(Clone, Copy, Debug, clap::ValueEnum)]
enum Form {
    /// What the device's driver loads
    #[value(aliases = ["cubin", "hsaco", "so"])]
    Image,
    /// PTX text
    Ptx,
    /// Optimised bitcode
    #[value(name = "bc")]
    Bitcode,
}

#[derive(Clone, Copy, Debug, clap::ValueEnum)]
enum Parts {
    Auto,
    Never,
    Always,
}

impl Link {
    pub(super) fn run(self, options: Options) -> Result<(), Error> {
        let target = Target::parse(&self.triple, &self.arch)?;
        let mut device = options.device;
        self.tools.apply(&mut device);
        device.ptxas_arguments = self.ptxas_arg;
        device.linker_arguments = self.linker_arg;
        device.driver_arguments = self.driver_arg;
        device.passes = self.passes;
        device.relocatable = self.relocatable;
        device.split = match self.split {
            Some(Parts::Auto) => Split::Auto,
            Some(Parts::Never) => Split::Never,
            Some(Parts::Always) => Split::Always,
            None => device.split,
        };
        device.opt_level = self.opt_level.unwrap_or(device.opt_level);
        device.emit = match self.emit {
            Form::Image => device.emit,
            Form::Ptx => Emit::Ptx,
            Form::Bitcode => Emit::Bitcode,
        };
        if device.emit == Emit::Ptx && !matches!(target.device(), Device::Nvptx(_)) {
            return Err(UsageError::PtxForOther(target.to_string()).into());
        }
        let mut inputs = Vec::new();
        for file in &self.files {
            inputs.push(DeviceInput {
                source: file.display().to_string(),
                // Code of no kind would be a library's.
                kind: OffloadKind::OpenMp,
                triple: self.triple.clone(),
                arch: self.arch.clone(),
                data: mapped_file::map(file)?,
            });
        }
        assemble_texts(&mut inputs, &Toolchain::new(&device.tools, &[]))?;
        let named = self.device_lib.into_iter().map(DeviceLib::File);
        let libs: Vec<DeviceLib> = options.device_libs.into_iter().chain(named).collect();
        let inputs = select::with_device_libs(inputs, &target, &libs)?;
        let options = Options {
            device_libs: Vec::new(),
            device,
            llvm_options: self.mllvm,
            ..options
        };
        image_file::link(
            &[target],
            &inputs,
            &self.export_symbol,
            &options,
            &self.output,
        )
    }
}

/// Makes bitcode of textual IR, by the libLLVM that can read the other inputs too.
fn assemble_texts(inputs: &mut [DeviceInput], toolchain: &Toolchain) -> Result<(), Error> {
    let is_text = |input: &DeviceInput| {
        input.source.ends_with(".ll") && ImageFormat::detect(&input.data) != ImageFormat::Bitcode
    };
    if !inputs.iter().any(is_text) {
        return Ok(());
    }
    let bitcode = inputs.iter().filter(|input| !is_text(input));
    let library = toolchain.llvm(bitcode).map_err(DeviceError::from)?;
    for input in inputs.iter_mut().filter(|input| is_text(input)) {
        let text = String::from_utf8_lossy(&input.data).into_owned();
        input.data = offlink_llvm::assemble(library, &input.source, text)?.into();
    }
    Ok(())
}
