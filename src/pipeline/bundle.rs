//! Images as they go into offload binaries: with their triple and arch, and
//! nothing that depends on where they were made.

use super::device::DeviceImage;
use crate::device_input::DeviceInput;
use offlink_bundle::image::ImageFormat;
use offlink_bundle::offload_binary::{Image, ImageKind, OffloadKind};

/// Describes an image that a device link made.
pub fn linked(image: &DeviceImage) -> Image<'_> {
    let (kind, arch) = (OffloadKind::OpenMp, image.target.arch());
    let data: &[u8] = &image.data;
    Image::new(image_kind(data), kind, image.target.triple(), &arch, data)
}

/// Describes an image from a file or another bundle.
pub fn found(input: &DeviceInput) -> Image<'_> {
    let data: &[u8] = &input.data;
    Image::new(
        image_kind(data),
        input.kind,
        &input.triple,
        &input.arch,
        data,
    )
}

/// What an offload binary calls an image: clang-linker-wrapper 22 calls
/// everything that a device linker made an object, cubins too.
fn image_kind(image: &[u8]) -> ImageKind {
    match ImageFormat::detect(image) {
        ImageFormat::Bitcode => ImageKind::Bitcode,
        ImageFormat::Ptx => ImageKind::Ptx,
        ImageFormat::Fatbin => ImageKind::Fatbinary,
        _ => ImageKind::Object,
    }
}
