//! The names of extracted device code: by target, numbered in link order, so
//! that they depend on the device code and on nothing else.

use super::group::REGISTERED;
use super::select::Entries;
use super::{dry_run, plan};
use crate::device_input::DeviceInput;
use crate::target::Target;
use offlink_bundle::image::ImageFormat;
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::path::PathBuf;
use thiserror::Error;

/// The device code is not for the targets that were said to be all.
#[derive(Debug, Error)]
pub enum NotAsExpected {
    /// Nobody would link it.
    #[error(
        "'{origin}' has device code for '{folder}', which no --expect names; link it too, or \
         compile without that target"
    )]
    Surplus {
        /// Where the code is.
        origin: String,
        /// The folder that it would go to.
        folder: String,
    },
    /// There is nothing to link.
    #[error(
        "--expect names '{0}', but no input has device code for it; compile for that target too, \
         or leave it out"
    )]
    Missing(String),
}

/// Sees to it that the folders of these inputs are those that are expected.
///
/// # Errors
/// [`NotAsExpected`] for the first that is not.
pub fn expect(expected: &[String], inputs: &[DeviceInput]) -> Result<(), NotAsExpected> {
    let mut missing: BTreeSet<&String> = expected.iter().collect();
    for input in inputs {
        let folder = folder(input);
        if !expected.contains(&folder) {
            return Err(NotAsExpected::Surplus {
                origin: input.source.clone(),
                folder,
            });
        }
        missing.remove(&folder);
    }
    missing
        .pop_first()
        .map_or(Ok(()), |folder| Err(NotAsExpected::Missing(folder.clone())))
}

/// What the steps behind have to be told of the host's entries: for each target
/// `FOLDER.link`, for each kind `KIND.wrap`, with the arguments that `--params` reads.
pub fn arguments(inputs: &[DeviceInput], entries: &Entries) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut files = BTreeMap::new();
    for input in inputs {
        // What is no target gets its error from the link.
        let target = Target::parse(&input.triple, &input.arch);
        let exports = target.map(|target| plan::exports(&target, entries));
        let exports = exports.unwrap_or_default().into_iter();
        let link = exports.map(|name| format!("--export-symbol={name}").into());
        files.insert(format!("{}.link", folder(input)).into(), lines(link));
    }
    for kind in REGISTERED {
        if inputs.iter().any(|input| input.kind == kind) {
            let wrap = dry_run::entries_of_llvm(entries.form(kind));
            files.insert(format!("{}.wrap", kind.as_str()).into(), lines(wrap));
        }
    }
    files
}

fn lines(arguments: impl IntoIterator<Item = OsString>) -> Vec<u8> {
    let arguments = arguments.into_iter().map(OsString::into_encoded_bytes);
    arguments
        .flat_map(|line| [line, b"\n".into()].concat())
        .collect()
}

/// `KIND-TRIPLE-ARCH/NNNN.EXT` for each input, in order.
pub fn names(inputs: &[DeviceInput]) -> Vec<PathBuf> {
    let mut numbers: BTreeMap<String, usize> = BTreeMap::new();
    inputs
        .iter()
        .map(|input| {
            let folder = folder(input);
            let number = numbers.entry(folder.clone()).or_default();
            let extension = extension(ImageFormat::detect(&input.data));
            let name = PathBuf::from(folder).join(format!("{number:04}.{extension}"));
            *number += 1;
            name
        })
        .collect()
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
        ImageFormat::SpirV => "spv",
        ImageFormat::OneOmp => "elf",
        ImageFormat::Fatbin => "fatbin",
        ImageFormat::HipBundle => "hipfb",
        ImageFormat::OffloadBinary => "bundle",
        ImageFormat::Unknown => "img",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bytes::Bytes;
    use offlink_bundle::offload_binary::OffloadKind;

    #[test]
    fn numbers_count_within_a_target() {
        let input = |arch: &str, data: &'static [u8]| DeviceInput {
            source: "a.o".into(),
            kind: OffloadKind::OpenMp,
            triple: "amdgcn-amd-amdhsa".into(),
            arch: arch.into(),
            data: Bytes::from_static(data),
        };
        let inputs = [
            input("gfx90a:xnack+", b"BC\xc0\xde"),
            input("", b""),
            input("gfx90a:xnack+", b"x"),
        ];
        let names: Vec<String> = names(&inputs)
            .iter()
            .map(|name| name.display().to_string())
            .collect();
        assert_eq!(
            names,
            [
                "openmp-amdgcn-amd-amdhsa-gfx90a-xnack+/0000.bc",
                "openmp-amdgcn-amd-amdhsa-generic/0000.img",
                "openmp-amdgcn-amd-amdhsa-gfx90a-xnack+/0001.img",
            ]
        );
    }
}
