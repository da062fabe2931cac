//! What the bytes of a file, or of a member of an archive, are to a device link.

use super::ScanError;
use super::containers::offload_binary;
use super::host_object::{self, HostObject};
use crate::device_input::DeviceInput;
use bytes::Bytes;
use offlink_bundle::image::{self, ImageFormat, ImageTarget};
use offlink_bundle::offload_binary::{MAGIC, OffloadKind};

/// One file or member.
#[derive(Debug)]
pub enum Contents {
    /// A host object.
    Host(HostObject),
    /// Device code outside of any host object.
    Device(Vec<DeviceInput>),
    /// Nothing that holds device code.
    Other,
}

/// Looks at `data`, which messages call `name`.
///
/// # Errors
/// [`ScanError`] when it holds device code and is damaged.
pub fn read(name: String, data: Bytes) -> Result<Contents, ScanError> {
    if data.starts_with(&MAGIC) {
        return offload_binary(&name, &data).map(Contents::Device);
    }
    if let Some(ImageTarget { triple, arch }) = bare_code(&name, &data)? {
        return Ok(Contents::Device(vec![DeviceInput {
            source: name,
            // A library's code is nobody's in particular.
            kind: OffloadKind::None,
            triple,
            arch,
            data,
        }]));
    }
    Ok(host_object::read(name, data)?.map_or(Contents::Other, Contents::Host))
}

/// Whether `data` has to be read at all: nearly none has.
pub fn may_concern_devices(data: &[u8]) -> bool {
    is_device_code(data) || host_object::may_concern_devices(data)
}

/// Whether `data` is device code outside of any host object.
pub fn is_device_code(data: &[u8]) -> bool {
    data.starts_with(&MAGIC) || is_device_object(data) || device_triple(data).is_some()
}

/// Whether `data` is a relocatable object for a GPU.
fn is_device_object(data: &[u8]) -> bool {
    matches!(
        ImageFormat::detect(data),
        ImageFormat::CubinRelocatable | ImageFormat::HsacoRelocatable
    )
}

/// What bare bitcode, which is for every arch, or a bare object is for.
///
/// # Errors
/// [`ScanError::DeviceObject`] for an object that doesn't say.
fn bare_code(name: &str, data: &[u8]) -> Result<Option<ImageTarget>, ScanError> {
    if let Some(triple) = device_triple(data) {
        let arch = String::new();
        return Ok(Some(ImageTarget { triple, arch }));
    }
    image::object_target(data).map_err(|source| ScanError::DeviceObject {
        origin: name.into(),
        source,
    })
}

/// The triple of bare bitcode for a GPU. Bitcode for a CPU is host code until
/// someone says that it isn't. What can't be read is left to the host linker.
fn device_triple(data: &[u8]) -> Option<String> {
    if !offlink_llvm::is_bitcode(data) {
        return None;
    }
    let triple = offlink_llvm::Symbols::read_triple(data).ok()?;
    let is_nvidia = triple.split('-').next() == Some("nvptx64");
    (is_nvidia || offlink_hsaco::triple::is_amd(&triple)).then_some(triple)
}
