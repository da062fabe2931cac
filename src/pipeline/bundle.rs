//! Images in the containers that their runtimes read: offload binaries for
//! OpenMP, fatbins for CUDA, bundles for HIP. Nothing in them depends on where
//! the images were made.

use crate::device_input::DeviceInput;
use crate::options::Compress;
use crate::target::Target;
use offlink_bundle::fatbin;
use offlink_bundle::hip_bundle::{self, Id};
use offlink_bundle::host_object::Platform;
use offlink_bundle::image::ImageFormat;
use offlink_bundle::offload_binary::{self, Image, ImageKind, OffloadKind};
use std::io::Write;
use thiserror::Error;

/// One image with what its container says about it.
#[derive(Clone, Debug)]
pub struct Described<'a> {
    /// Who launches its kernels.
    pub kind: OffloadKind,
    /// The device triple.
    pub triple: String,
    /// The arch or target ID.
    pub arch: String,
    /// The image.
    pub data: &'a [u8],
}

/// Images don't fit into their container.
#[derive(Debug, Error)]
pub enum BundleError {
    /// They don't fit into an offload binary.
    #[error("cannot make an offload binary: {0}")]
    OffloadBinary(#[from] offload_binary::WriteError),
    /// An image is none for a fatbin.
    #[error("cannot put the image for {arch} into a fatbin: {source}")]
    FatbinImage {
        /// The architecture.
        arch: String,
        /// What is wrong.
        source: fatbin::ImageError,
    },
    /// The fatbin can't be written.
    #[error("cannot make a fatbin: {0}")]
    Fatbin(#[from] fatbin::WriteError),
    /// The HIP bundle can't be written.
    #[error("cannot make a HIP bundle: {0}")]
    HipBundle(#[from] hip_bundle::WriteError),
}

impl<'a> Described<'a> {
    /// An image that a device link made, for one of the kinds that it is
    /// registered for.
    pub fn linked(kind: OffloadKind, target: &Target, data: &'a [u8]) -> Self {
        let (triple, arch) = (target.triple().into(), target.arch());
        Self {
            kind,
            triple,
            arch,
            data,
        }
    }

    /// An image from a file or another container.
    pub fn found(input: &'a DeviceInput) -> Self {
        let (triple, arch) = (input.triple.clone(), input.arch.clone());
        Self {
            kind: input.kind,
            triple,
            arch,
            data: &input.data,
        }
    }

    /// The image as it goes into an offload binary.
    pub fn to_image(&self) -> Image<'a> {
        Image::new(
            image_kind(self.data),
            self.kind,
            &self.triple,
            &self.arch,
            self.data,
        )
    }
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

/// Writes the container that the runtime of this kind reads.
///
/// # Errors
/// [`BundleError`] when an image does not fit into it.
pub fn write(
    kind: OffloadKind,
    images: &[Described<'_>],
    compress: Compress,
    host_triple: &str,
    out: &mut impl Write,
) -> Result<(), BundleError> {
    match kind {
        OffloadKind::Cuda => fatbin(images, compress, out),
        OffloadKind::Hip => hip_bundle(images, compress, host_triple, out),
        _ => offload_binary(images, offload_binary::Version::V1, out),
    }
}

/// Writes offload binaries of this version of the format.
///
/// # Errors
/// [`BundleError::OffloadBinary`] when the images don't fit.
pub fn offload_binary(
    images: &[Described<'_>],
    version: offload_binary::Version,
    out: &mut impl Write,
) -> Result<(), BundleError> {
    let images: Vec<Image<'_>> = images.iter().map(Described::to_image).collect();
    Ok(offload_binary::write(&images, version, out)?)
}

/// Writes a fatbin. PTX is compressed in any case, as `fatbinary` does it;
/// cubins only if that is asked for, since a driver has to inflate them at
/// each start.
///
/// # Errors
/// [`BundleError`] when an image is neither a cubin nor PTX, or is not for the
/// architecture that it is said to be for.
pub fn fatbin(
    images: &[Described<'_>],
    compress: Compress,
    out: &mut impl Write,
) -> Result<(), BundleError> {
    let mut entries = Vec::with_capacity(images.len());
    for image in images {
        let mut entry = fatbin::Entry::from_image(&image.arch, image.data).map_err(|source| {
            BundleError::FatbinImage {
                arch: image.arch.clone(),
                source,
            }
        })?;
        if compress.cuda || entry.is_compressed_by_default() {
            entry.compression = fatbin::Compression::ZSTD;
        }
        entries.push(entry);
    }
    Ok(fatbin::write(&entries, out)?)
}

/// Writes a HIP bundle: the host's empty entry, then the images on multiples of
/// 4096 bytes, as clang-linker-wrapper 22 has them made.
///
/// # Errors
/// [`BundleError::HipBundle`] when it can't be written.
pub fn hip_bundle(
    images: &[Described<'_>],
    compress: Compress,
    host_triple: &str,
    out: &mut impl Write,
) -> Result<(), BundleError> {
    // The host's name means nothing to the runtime. Where it is that of a host
    // it is spelled in one way; clang 22 sends the device's for a bundle alone.
    let host_triple =
        Platform::from_triple(host_triple).map_or(super::host::DEFAULT_HOST, Platform::triple);
    let host = hip_bundle::Entry {
        id: Id::host(host_triple).to_string(),
        data: (&[][..]).into(),
    };
    let of_devices = images.iter().map(|image| hip_bundle::Entry {
        id: Id::hip(&image.triple, &image.arch).to_string(),
        data: image.data.into(),
    });
    let entries: Vec<hip_bundle::Entry<'_>> = std::iter::once(host).chain(of_devices).collect();
    let default = hip_bundle::Compression::DEFAULT;
    let compression = compress.hip.then(|| hip_bundle::Compression {
        level: compress.level.unwrap_or(default.level),
        ..default
    });
    Ok(hip_bundle::write(
        &entries,
        hip_bundle::ALIGNMENT,
        compression,
        out,
    )?)
}
