//! The device libraries of one link: chosen when LLVM has joined its code and
//! says what is missing.

use crate::mapped_file::{self, ReadError};
use crate::target::{Device, Target};
use crate::toolchain::{DeviceLibraries, NotFound};
use offlink_hsaco::TargetId;
use offlink_hsaco::device_libs::{self, Settings};
use offlink_llvm::{FindLibraries, Module, Undefined, Wants};
use std::path::{Path, PathBuf};
use thiserror::Error;

/// The libraries that the code needs can't be had.
#[derive(Debug, Error)]
pub(super) enum LibraryError {
    /// They are nowhere.
    #[error("'{symbol}' (used by '{used_by}') is a function of a device library: {source}")]
    NotFound {
        /// A symbol that needs them.
        symbol: String,
        /// A function that uses it.
        used_by: String,
        /// Where they were looked for.
        source: NotFound,
    },
    /// The libraries are older than the processor or the code object.
    #[error(
        "'{symbol}' (used by '{used_by}') needs {file}, which the device libraries in '{}' lack; \
         name a newer ROCm's with --offlink-rocm-device-libs=DIR{remedy}",
        dir.display()
    )]
    Lacking {
        /// A symbol that needs it.
        symbol: String,
        /// A function that uses it.
        used_by: String,
        /// The file.
        file: String,
        /// Where it should be.
        dir: PathBuf,
        /// What else would help.
        remedy: &'static str,
    },
    /// A library can't be read.
    #[error(transparent)]
    Read(#[from] ReadError),
}

/// What finds the libraries for `target`.
pub(super) fn finder(target: &Target, libraries: DeviceLibraries) -> FindLibraries {
    match *target.device() {
        Device::Nvptx(_) => Box::new(move |wants| Ok(nvidia(wants, &libraries)?)),
        Device::Amdgcn(id) => Box::new(move |wants| Ok(amd(wants, id, &libraries)?)),
        Device::X86_64(_) | Device::SpirV => Box::new(|_| Ok(Vec::new())),
    }
}

fn nvidia(wants: &Wants, libraries: &DeviceLibraries) -> Result<Vec<Module>, LibraryError> {
    let Some(first) = first_of(wants, &["__nv_"]) else {
        return Ok(Vec::new());
    };
    let path = libraries
        .libdevice()
        .map_err(|source| not_found(first, source))?;
    Ok(vec![read(&path)?])
}

fn amd(
    wants: &Wants,
    id: TargetId,
    libraries: &DeviceLibraries,
) -> Result<Vec<Module>, LibraryError> {
    let Some(first) = first_of(wants, &["__ocml_", "__ockl_", "__oclc_"]) else {
        return Ok(Vec::new());
    };
    let dir = libraries
        .rocm()
        .map_err(|source| not_found(first, source))?;
    let settings = Settings {
        wave64: device_libs::is_wave64(id.processor(), &wants.features),
        flushes_denormals: wants.flushes_denormals,
        code_object_version: wants.code_object_version,
    };
    device_libs::files(id.processor(), settings)
        .into_iter()
        .map(|file| {
            let path = dir.join(&file);
            if path.is_file() {
                return Ok(read(&path)?);
            }
            let is_version = file.starts_with("oclc_abi_version");
            Err(LibraryError::Lacking {
                symbol: first.symbol.clone(),
                used_by: first.used_by.clone(),
                dir: dir.clone(),
                file,
                remedy: if is_version {
                    ", or compile with an older -mcode-object-version"
                } else {
                    ""
                },
            })
        })
        .collect()
}

/// The first symbol with one of these prefixes.
fn first_of<'a>(wants: &'a Wants, prefixes: &[&str]) -> Option<&'a Undefined> {
    let begins = |undefined: &&Undefined| {
        prefixes
            .iter()
            .any(|prefix| undefined.symbol.starts_with(prefix))
    };
    wants.undefined.iter().find(begins)
}

fn not_found(undefined: &Undefined, source: NotFound) -> LibraryError {
    LibraryError::NotFound {
        symbol: undefined.symbol.clone(),
        used_by: undefined.used_by.clone(),
        source,
    }
}

fn read(path: &Path) -> Result<Module, ReadError> {
    Ok(Module {
        name: path.display().to_string(),
        bitcode: mapped_file::map(path)?,
    })
}
