//! `offlink extract`: host objects, archives and programs → device code.

use crate::Error;
use crate::device_input::DeviceInput;
use crate::image_argument::ImageArgument;
use crate::options::Options;
use crate::output_file;
use crate::pipeline::scan::{self, Item};
use offlink_bundle::image::ImageFormat;
use std::collections::BTreeMap;
use std::path::PathBuf;

/// Write the device code that files hold to a folder, by target.
///
/// Each piece becomes DIR/KIND-TRIPLE-ARCH/NNNN.EXT, numbered in the order of
/// the inputs. What is written depends on the device code only: a change of
/// host code gives the same files.
#[derive(Debug, clap::Args)]
pub struct Extract {
    /// The folder to write to
    #[arg(short, long, value_name = "DIR")]
    output: PathBuf,
    /// Add device code: file=F,triple=T,arch=A[,kind=K]
    #[arg(long, value_name = "IMAGE")]
    image: Vec<ImageArgument>,
    /// Objects, archives, offload binaries, programs
    #[arg(value_name = "FILE")]
    files: Vec<PathBuf>,
}

impl Extract {
    pub(super) fn run(self, options: &Options) -> Result<(), Error> {
        let mut inputs = Vec::new();
        for file in &self.files {
            for item in scan::whole_file(file)? {
                match item {
                    Item::Object(object) => inputs.extend(object.device_inputs()?),
                    Item::Device(found) => inputs.extend(found),
                    Item::Archive(_) | Item::SharedLibrary(_) => {}
                }
            }
        }
        for image in self.image.iter().chain(&options.images) {
            inputs.extend(scan::device_code(image)?);
        }
        let mut numbers: BTreeMap<String, usize> = BTreeMap::new();
        for input in inputs {
            let folder = folder(&input);
            let number = numbers.entry(folder.clone()).or_default();
            let extension = extension(ImageFormat::detect(&input.data));
            let path = self
                .output
                .join(folder)
                .join(format!("{number:04}.{extension}"));
            output_file::write_bytes(&path, &input.data)?;
            *number += 1;
        }
        Ok(())
    }
}

/// `openmp-nvptx64-nvidia-cuda-sm_90`, without colons, which make does not
/// take in names.
fn folder(input: &DeviceInput) -> String {
    let arch = if input.arch.is_empty() {
        "generic"
    } else {
        &input.arch
    };
    format!("{}-{}-{arch}", input.kind.as_str(), input.triple).replace(['/', ':'], "-")
}

/// The usual ending of a file in this format.
fn extension(format: ImageFormat) -> &'static str {
    match format {
        ImageFormat::Bitcode => "bc",
        ImageFormat::Ptx => "ptx",
        ImageFormat::CubinRelocatable | ImageFormat::CubinFinal => "cubin",
        ImageFormat::HsacoRelocatable | ImageFormat::ElfRelocatable(_) => "o",
        ImageFormat::HsacoFinal => "hsaco",
        ImageFormat::ElfShared(_) => "so",
        ImageFormat::Fatbin => "fatbin",
        ImageFormat::HipBundle => "hipfb",
        ImageFormat::OffloadBinary => "bundle",
        ImageFormat::Unknown => "img",
    }
}
