//! Images in the containers that their runtimes read: offload binaries for
//! OpenMP and SYCL, fatbins for CUDA, bundles for HIP. Nothing in them depends on where
//! the images were made.

use crate::device_input::DeviceInput;
use crate::options::Compress;
use crate::spirv_runtime::SpirvRuntime;
use crate::target::Target;
use offlink_bundle::fatbin;
use offlink_bundle::hip_bundle::{self, Id};
use offlink_bundle::host_object::Platform;
use offlink_bundle::image::{self, ImageFormat};
use offlink_bundle::offload_binary::{self, Image, ImageKind, OffloadKind, Version};
use offlink_bundle::sycl_symbols;
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
    /// An image can't be put into the form that its runtime reads.
    #[error("cannot prepare the image for {triple}: {source}")]
    Image {
        /// The device triple.
        triple: String,
        /// What is wrong.
        source: image::Error,
    },
    /// Images have more kernels than their runtime can count.
    #[error("the image for {triple} has too many kernels for SYCL's runtime")]
    TooManyKernels {
        /// The device triple.
        triple: String,
    },
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

    /// The image as it goes into an offload binary: SPIR-V for Intel's OpenMP in
    /// its container, SYCL's with the names of its kernels.
    ///
    /// # Errors
    /// [`BundleError`] for SPIR-V that can't be read.
    pub fn to_image(&self, runtime: SpirvRuntime) -> Result<Image<'a>, BundleError> {
        let (triple, arch) = (&self.triple, &self.arch);
        let failed = |source| BundleError::Image {
            triple: triple.clone(),
            source,
        };
        if self.kind == OffloadKind::Sycl {
            let names = image::kernels(self.data).map_err(failed)?;
            let names = names.iter().map(String::as_str);
            let (image_kind, symbols) = match runtime {
                // Kind none, from which the runtime goes by the bytes, is what
                // clang-sycl-linker 22 writes.
                SpirvRuntime::Llvm22 => (ImageKind::None, Some(sycl_symbols::text(names))),
                SpirvRuntime::Llvm24 => (ImageKind::SpirV, sycl_symbols::table(names)),
            };
            let symbols = symbols.ok_or_else(|| BundleError::TooManyKernels {
                triple: triple.clone(),
            })?;
            let mut image = Image::new(image_kind, self.kind, triple, arch, self.data);
            image.strings.push((sycl_symbols::KEY.into(), symbols));
            return Ok(image);
        }
        let mut image = Image::new(image_kind(self.data), self.kind, triple, arch, self.data);
        if self.is_for_intels_openmp() {
            image.data = match runtime {
                SpirvRuntime::Llvm22 => image::one_omp(self.data).map_err(failed)?.into(),
                SpirvRuntime::Llvm24 => nested(triple, self.data)?.into(),
            };
        }
        Ok(image)
    }

    fn is_for_intels_openmp(&self) -> bool {
        self.kind == OffloadKind::OpenMp
            && self.triple.split('-').nth(1) == Some("intel")
            && ImageFormat::detect(self.data) == ImageFormat::SpirV
    }
}

/// The container that LLVM 24's OpenMP runtime reads for Intel: an offload
/// binary with the version of its own layout (`containerizeOpenMPSPIRVImage` in
/// LLVM's `Frontend/Offloading/Utility.cpp`, autumn of 2026).
fn nested(triple: &str, module: &[u8]) -> Result<Vec<u8>, BundleError> {
    let mut image = Image::new(ImageKind::SpirV, OffloadKind::OpenMp, triple, "", module);
    image.strings = vec![
        ("triple".into(), triple.into()),
        ("version".into(), b"1.0".to_vec()),
    ];
    let mut container = Vec::new();
    offload_binary::write(&[image], Version::V2, &mut container)?;
    Ok(container)
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

/// The version of offload binaries that a runtime of this kind is given. SYCL's
/// of LLVM 24 gets all images as one.
pub fn version(kind: OffloadKind, runtime: SpirvRuntime) -> Version {
    match (kind, runtime) {
        (OffloadKind::Sycl, SpirvRuntime::Llvm24) => Version::V2,
        _ => Version::V1,
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
    runtime: SpirvRuntime,
    host_triple: &str,
    out: &mut impl Write,
) -> Result<(), BundleError> {
    match kind {
        OffloadKind::Cuda => fatbin(images, compress, out),
        OffloadKind::Hip => hip_bundle(images, compress, host_triple, out),
        _ => offload_binary(images, version(kind, runtime), runtime, out),
    }
}

/// Writes offload binaries of this version of the format.
///
/// # Errors
/// [`BundleError`] when the images don't fit.
pub fn offload_binary(
    images: &[Described<'_>],
    version: Version,
    runtime: SpirvRuntime,
    out: &mut impl Write,
) -> Result<(), BundleError> {
    let images: Result<Vec<Image<'_>>, BundleError> =
        images.iter().map(|image| image.to_image(runtime)).collect();
    Ok(offload_binary::write(&images?, version, out)?)
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
