//! The linker of a Rust device target: rustc compiles a whole crate for a GPU
//! and calls it once, as it calls any linker, to make the crate's image.
//!
//! The list of archs decides for which GPUs images are made; without one of the
//! target's vendor it is the processor that rustc compiled for.

pub mod amdgcn;
mod members;

use super::image_file;
use super::symbols;
use crate::Error;
use crate::device_input::DeviceInput;
use crate::options::Options;
use crate::target::{Target, TargetError};
use members::Inputs;
use offlink_bundle::image::{self, ImageTarget};
use std::collections::HashSet;
use std::path::PathBuf;
use thiserror::Error as ThisError;

/// A link of such a target.
#[derive(Debug)]
pub struct DeviceTargetLink {
    /// The target's triple.
    pub triple: String,
    /// The processor that rustc compiled for, where the line says it.
    pub cpu: Option<String>,
    /// Objects and archives in the order of the line.
    pub files: Vec<File>,
    /// Symbols that are kept besides kernels; `None` for all that the objects
    /// define.
    pub exports: Option<Vec<String>>,
    /// How images are made, and for which archs.
    pub options: Options,
    /// The file to write.
    pub output: PathBuf,
}

/// An object or archive of the line.
#[derive(Debug)]
pub struct File {
    /// Where it is.
    pub path: PathBuf,
    /// All of an archive is wanted.
    pub whole: bool,
}

/// Such a link can't be carried out.
#[derive(Debug, ThisError)]
pub enum DeviceTargetError {
    /// Nobody says what the image is for.
    #[error(
        "nothing says which GPU '{}' is for; name it with -Ctarget-cpu, or several with \
         OFFLINK_ARCHS", output.display()
    )]
    NoCpu {
        /// The output.
        output: PathBuf,
    },
    /// There is no image for what the image is to be for.
    #[error(
        "cannot make '{}': {source}; name another with -Ctarget-cpu, or several with OFFLINK_ARCHS",
        output.display()
    )]
    Cpu {
        /// The output.
        output: PathBuf,
        /// What is wrong.
        source: TargetError,
    },
    /// Machine code is for one processor only.
    #[error(
        "'{file}' is machine code for {arch}, of which no image for {wanted} can be made; have \
         rustc hand over bitcode with -Clinker-plugin-lto"
    )]
    MachineCode {
        /// The object.
        file: String,
        /// What it is for.
        arch: String,
        /// The target that was asked for.
        wanted: Target,
    },
    /// An object does not say what it is for.
    #[error("cannot tell which GPU '{file}' is for: {source}; compile it anew")]
    Object {
        /// The object.
        file: String,
        /// What is wrong.
        source: image::Error,
    },
    /// A symbol is wanted that is nowhere.
    #[error(
        "'{}' is to export {symbol}, but none of its inputs defines that; leave it out of the \
         exports, or add what defines it", output.display()
    )]
    NotDefined {
        /// The output.
        output: PathBuf,
        /// The symbol.
        symbol: String,
    },
}

impl DeviceTargetLink {
    /// Makes the image, or an offload binary of all images where the list names
    /// several archs.
    ///
    /// # Errors
    /// [`Error`] when it can't be made; there is no output then.
    pub fn run(self) -> Result<(), Error> {
        let targets = self.targets()?;
        let mut inputs = Inputs::new(&self.triple);
        for File { path, whole } in &self.files {
            inputs.add(path, *whole)?;
        }
        let exports = self.exports.clone().unwrap_or_else(|| inputs.defined());
        let inputs = inputs.resolve(&exports);
        let mut defined = HashSet::new();
        for input in &inputs {
            check_machine_code(input, &targets)?;
            defined.extend(symbols::of_code(&input.data).defined);
        }
        if let Some(symbol) = exports.iter().find(|name| !defined.contains(*name)) {
            return Err(DeviceTargetError::NotDefined {
                output: self.output,
                symbol: symbol.clone(),
            }
            .into());
        }
        image_file::link(&targets, &inputs, &exports, &self.options, &self.output)
    }

    fn targets(&self) -> Result<Vec<Target>, DeviceTargetError> {
        let listed = self.options.archs.targets(&self.triple);
        if !listed.is_empty() {
            return Ok(listed);
        }
        let output = || self.output.clone();
        let cpu = self.cpu.as_deref();
        let cpu = cpu.ok_or_else(|| DeviceTargetError::NoCpu { output: output() })?;
        match Target::parse(&self.triple, cpu) {
            Ok(target) => Ok(vec![target]),
            Err(source) => Err(DeviceTargetError::Cpu {
                output: output(),
                source,
            }),
        }
    }
}

/// Refuses an object that is machine code for something else than one of
/// `targets`.
fn check_machine_code(input: &DeviceInput, targets: &[Target]) -> Result<(), DeviceTargetError> {
    let file = || input.source.clone();
    let told = image::object_target(&input.data).map_err(|source| DeviceTargetError::Object {
        file: file(),
        source,
    })?;
    let Some(ImageTarget { triple, arch }) = told else {
        return Ok(());
    };
    let own = Target::parse(&triple, &arch);
    match targets.iter().find(|target| own.as_ref() != Ok(*target)) {
        None => Ok(()),
        Some(wanted) => Err(DeviceTargetError::MachineCode {
            file: file(),
            wanted: wanted.clone(),
            arch,
        }),
    }
}
