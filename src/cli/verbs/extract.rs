//! `offlink extract`: host objects, archives and programs → device code.

use crate::Error;
use crate::image_argument::ImageArgument;
use crate::options::Options;
use crate::output_file;
use crate::pipeline::scan::{self, Item};
use crate::pipeline::select::Entries;
use crate::pipeline::{determinism, extract};
use crate::report;
use std::path::PathBuf;

/// Write the device code that files hold to a folder, by target.
///
/// Each piece becomes DIR/KIND-TRIPLE-ARCH/NNNN.EXT, numbered in the order of
/// the inputs. What is written depends on the device code only: a change of
/// host code leaves the files as they are, with their times.
#[derive(Debug, clap::Args)]
pub struct Extract {
    /// The folder to write to
    #[arg(short, long, value_name = "DIR")]
    output: PathBuf,
    /// Add device code: file=F,triple=T,arch=A[,kind=K]
    #[arg(long, value_name = "IMAGE")]
    image: Vec<ImageArgument>,
    /// The device code is for this folder's target, such as cuda-nvptx64-nvidia-cuda-sm_90,
    /// and no others; may be repeated
    #[arg(long, value_name = "FOLDER")]
    expect: Vec<String>,
    /// Also write what the next steps have to know of the host's entries, as arguments
    /// for their --params: DIR/KIND-TRIPLE-ARCH.link and DIR/KIND.wrap
    #[arg(long)]
    arguments: bool,
    /// Objects, archives, offload binaries, programs; 'LIB.a(MEMBER)' is one
    /// member of an archive
    #[arg(value_name = "FILE")]
    files: Vec<PathBuf>,
}

impl Extract {
    pub(super) fn run(self, options: &Options) -> Result<(), Error> {
        let mut inputs = Vec::new();
        let mut entries = Entries::default();
        for file in &self.files {
            for item in scan::whole_file(file)? {
                match item {
                    Item::Object(object) => {
                        inputs.extend(object.device_inputs()?);
                        // An object's own images are none of a link's business.
                        if object.is_linked() {
                            inputs.extend(object.registered_images()?);
                        }
                        match entries.add(&object) {
                            // Damaged ones are for the link to refuse.
                            Err(_) if !self.arguments => {}
                            added => added?,
                        }
                    }
                    Item::Device(found) => inputs.extend(found),
                    Item::Archive(_) | Item::SharedLibrary(_) => {}
                }
            }
        }
        if options.wants_reproducibility() {
            let names = entries.entries.iter().map(|(_, entry)| entry.name.as_str());
            let warning = determinism::warning(names);
            warning.iter().for_each(|text| report::warning(text));
        }
        for image in self.image.iter().chain(&options.images) {
            inputs.extend(scan::device_code(image)?);
        }
        if !self.expect.is_empty() {
            extract::expect(&self.expect, &inputs)?;
        }
        if self.arguments {
            entries.check()?;
            for (name, lines) in extract::arguments(&inputs, &entries) {
                output_file::write_if_changed(&self.output.join(name), &lines)?;
            }
        }
        for (input, name) in inputs.iter().zip(extract::names(&inputs)) {
            output_file::write_if_changed(&self.output.join(name), &input.data)?;
        }
        Ok(())
    }
}
