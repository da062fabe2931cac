//! Libraries of device code that stand beside the line.

use super::archive::{Archive, is_archive};
use super::contents::{self, Contents};
use super::{Item, ScanError};
use crate::mapped_file;
use crate::options::DeviceLib;
use std::path::{Path, PathBuf};

/// The files of the libraries. Those that are named only are looked for in each
/// of `search_dirs`, in the folder of their triple, where LLVM installs them; one
/// that is nowhere is left out.
pub fn files(libs: &[DeviceLib], search_dirs: &[PathBuf]) -> Vec<PathBuf> {
    let mut files: Vec<PathBuf> = Vec::new();
    for lib in libs {
        let (triples, name) = match lib {
            DeviceLib::File(path) => {
                files.push(path.clone());
                continue;
            }
            DeviceLib::Named { triple, name } => match triple {
                Some(triple) => (vec![triple.as_str()], name),
                None => (vec![offlink_ptx::TRIPLE, offlink_hsaco::TRIPLE], name),
            },
        };
        for triple in triples {
            let file = |dir: &PathBuf| dir.join(triple).join(format!("lib{name}.a"));
            let found = search_dirs.iter().map(file).find(|path| path.is_file());
            // clang 22 may send a name twice.
            files.extend(found.filter(|path| !files.contains(path)));
        }
    }
    files
}

/// An archive, of which members are taken as they are needed, or bitcode.
///
/// # Errors
/// [`ScanError`] when the file can't be read, is damaged or holds no device code.
pub fn open(path: &Path) -> Result<Item, ScanError> {
    let data = mapped_file::map(path)?;
    if is_archive(&data) {
        let archive = Archive::open(path, data)?;
        if archive.is_for_devices {
            return Ok(Item::Archive(archive));
        }
    } else if let Contents::Device(inputs) = contents::read(path.display().to_string(), data)? {
        return Ok(Item::Device(inputs));
    }
    Err(ScanError::NoDeviceLib { path: path.into() })
}
