//! The names of extracted device code: by target, numbered in link order, so
//! that they depend on the device code and on nothing else.

use crate::device_input::DeviceInput;
use offlink_bundle::image::ImageFormat;
use std::collections::BTreeMap;
use std::path::PathBuf;

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
