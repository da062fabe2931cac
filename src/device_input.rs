//! Device code as it was found, before it is linked.

use bytes::Bytes;
use offlink_bundle::offload_binary::{Image, OffloadKind};

/// One piece of device code with what its container says about it.
#[derive(Clone, Debug)]
pub struct DeviceInput {
    /// Where it was found, for messages: `a.o`, `libx.a(m.o)`.
    pub source: String,
    /// The language or model that launches it.
    pub kind: OffloadKind,
    /// The target triple.
    pub triple: String,
    /// The arch or target ID; empty when the container names none.
    pub arch: String,
    /// The code: bitcode, PTX or an object.
    pub data: Bytes,
}

impl DeviceInput {
    /// Takes an image out of a parsed offload binary. `container` are the bytes
    /// that were parsed: uncompressed code is shared with them, not copied.
    pub fn from_image(source: &str, container: &Bytes, image: Image<'_>) -> Self {
        let triple = image.triple().to_owned();
        let arch = image.arch().to_owned();
        let data = match image.data {
            std::borrow::Cow::Borrowed(data) => container.slice_ref(data),
            std::borrow::Cow::Owned(data) => Bytes::from(data),
        };
        Self {
            source: source.into(),
            kind: image.offload_kind,
            triple,
            arch,
            data,
        }
    }
}
