//! Containers of device code, each with its own format: LLVM's offload binaries,
//! NVIDIA's fatbins, HIP's bundles.

use super::ScanError;
use crate::device_input::DeviceInput;
use bytes::Bytes;
use offlink_bundle::fatbin;
use offlink_bundle::hip_bundle::{self, Id};
use offlink_bundle::image::ImageFormat;
use offlink_bundle::offload_binary::{self, OffloadKind};
use std::borrow::Cow;

/// Whether the bytes start like a container of images.
pub fn is_container(data: &[u8]) -> bool {
    use ImageFormat::{Fatbin, HipBundle, OffloadBinary};
    matches!(
        ImageFormat::detect(data),
        OffloadBinary | Fatbin | HipBundle
    )
}

/// Every image of a container, whichever it is: offload binaries, fatbins or HIP
/// bundles, several of a sort back to back. Images without contents, such as a
/// HIP bundle's entry for the host, are left out.
///
/// # Errors
/// [`ScanError`] when it is damaged.
pub fn container(source: &str, data: &Bytes) -> Result<Vec<DeviceInput>, ScanError> {
    match ImageFormat::detect(data) {
        ImageFormat::Fatbin => fatbin(source, data),
        ImageFormat::HipBundle => hip_bundle(source, data),
        _ => offload_binary(source, data),
    }
}

fn fatbin(source: &str, data: &Bytes) -> Result<Vec<DeviceInput>, ScanError> {
    let fatbins = fatbin::parse(data).map_err(|error| ScanError::Fatbin {
        origin: source.into(),
        source: error,
    })?;
    let entries = fatbins.into_iter().flat_map(|fatbin| fatbin.entries);
    Ok(entries
        .map(|entry| DeviceInput {
            source: source.into(),
            kind: OffloadKind::Cuda,
            triple: offlink_ptx::TRIPLE.into(),
            arch: entry.arch.to_string(),
            data: shared(data, entry.data),
        })
        .collect())
}

fn hip_bundle(source: &str, data: &Bytes) -> Result<Vec<DeviceInput>, ScanError> {
    let bundles = hip_bundle::parse(data).map_err(|error| ScanError::HipBundle {
        origin: source.into(),
        source: error,
    })?;
    let entries = bundles.into_iter().flat_map(|bundle| bundle.entries);
    Ok(entries
        .filter(|entry| !entry.data.is_empty())
        .map(|entry| {
            let (triple, arch) = match Id::parse(&entry.id) {
                Ok(id) => (id.triple.into(), id.target.into()),
                Err(_) => (entry.id.clone(), String::new()),
            };
            let data = shared(data, entry.data);
            DeviceInput {
                source: source.into(),
                kind: OffloadKind::Hip,
                triple,
                arch,
                data,
            }
        })
        .collect())
}

/// The bytes as part of their container if they lie in it.
fn shared(container: &Bytes, data: Cow<'_, [u8]>) -> Bytes {
    match data {
        Cow::Borrowed(data) => container.slice_ref(data),
        Cow::Owned(data) => Bytes::from(data),
    }
}

/// Every image of one or more offload binaries that lie back to back.
///
/// # Errors
/// [`ScanError::OffloadBinary`] when they are damaged.
pub fn offload_binary(source: &str, data: &Bytes) -> Result<Vec<DeviceInput>, ScanError> {
    let images = offload_binary::parse(data).map_err(|error| ScanError::OffloadBinary {
        origin: source.into(),
        source: error,
    })?;
    Ok(images
        .into_iter()
        .filter(|image| image.flags & offload_binary::FLAG_METADATA == 0)
        .map(|image| DeviceInput::from_image(source, data, image))
        .collect())
}
