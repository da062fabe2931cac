//! What the bytes of a file, or of a member of an archive, are to a device link.

use super::ScanError;
use super::containers::offload_binary;
use super::host_object::{self, HostObject};
use crate::device_input::DeviceInput;
use bytes::Bytes;
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
    if let Some(triple) = device_triple(&data) {
        return Ok(Contents::Device(vec![DeviceInput {
            source: name,
            // A library's code is nobody's in particular, and for every arch.
            kind: OffloadKind::None,
            triple,
            arch: String::new(),
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
    data.starts_with(&MAGIC) || device_triple(data).is_some()
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
