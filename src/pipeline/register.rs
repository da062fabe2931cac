//! The host objects that register the images, one for each offload kind.

use super::bundle::{self, BundleError, Described};
use super::device::DeviceImage;
use super::group::REGISTERED;
use super::work_dir::WorkDir;
use crate::mapped_file::{self, ReadError};
use crate::options::Compress;
use crate::output_file::{self, OutputError};
use crate::request::OutputKind;
use offlink_bundle::host_object::{self, HostTarget, UnsupportedHost};
use offlink_bundle::offload_binary::{Image, OffloadKind};
use std::path::{Path, PathBuf};
use thiserror::Error;

/// The host that offlink writes objects for when nobody names another.
pub const DEFAULT_HOST: &str = "x86_64-unknown-linux-gnu";

/// An object can't be made.
#[derive(Debug, Error)]
pub enum RegisterError {
    /// No registration code for this host.
    #[error(transparent)]
    Host(#[from] UnsupportedHost),
    /// The images can't be put into their container.
    #[error(transparent)]
    Bundle(#[from] BundleError),
    /// The container can't be put into the object.
    #[error(transparent)]
    Object(#[from] host_object::Error),
    /// A file can't be written.
    #[error(transparent)]
    Output(#[from] OutputError),
    /// A file that was just written can't be read.
    #[error(transparent)]
    Read(#[from] ReadError),
}

/// Writes an object for each kind that has images and returns their
/// paths, by kind in ascending order. A relocatable link wants others than a
/// final one.
///
/// # Errors
/// [`RegisterError`] when there is no registration code for the host triple or
/// an object can't be written.
pub fn write(
    images: &[DeviceImage],
    compress: Compress,
    host_triple: Option<&str>,
    output_kind: OutputKind,
    work_dir: &WorkDir,
) -> Result<Vec<PathBuf>, RegisterError> {
    let host = host_triple.unwrap_or(DEFAULT_HOST);
    let mut objects = Vec::new();
    for kind in REGISTERED {
        let of_kind: Vec<Described<'_>> = images
            .iter()
            .filter(|image| image.kinds.contains(&kind))
            .map(|image| Described::linked(kind, &image.target, &image.data))
            .collect();
        if of_kind.is_empty() {
            continue;
        }
        let object = object_file(kind, work_dir);
        if kind == OffloadKind::OpenMp {
            write_openmp(&of_kind, host, output_kind, &object)?;
        } else {
            let container = container_file(kind, work_dir);
            output_file::write(&container, |out| {
                bundle::write(kind, &of_kind, compress, host, out).map_err(RegisterError::from)
            })?;
            write_container(kind, &mapped_file::map(&container)?, host, &object)?;
        }
        objects.push(object);
    }
    Ok(objects)
}

/// The object that registers the images of a kind, by the name that LLVM's
/// wrapper has for it.
pub fn object_file(kind: OffloadKind, work_dir: &WorkDir) -> PathBuf {
    work_dir.file(&format!("{}.image.wrapper.o", kind.as_str()))
}

/// The container of the images of CUDA or HIP.
pub fn container_file(kind: OffloadKind, work_dir: &WorkDir) -> PathBuf {
    work_dir.file(match kind {
        OffloadKind::Cuda => "fatbin",
        _ => "hipfb",
    })
}

/// Writes the object for images of OpenMP, each in an offload binary of its own.
///
/// # Errors
/// As [`write()`].
pub fn write_openmp(
    images: &[Described<'_>],
    host: &str,
    output_kind: OutputKind,
    object: &Path,
) -> Result<(), RegisterError> {
    let host = HostTarget::from_triple(host)?;
    let images: Vec<Image<'_>> = images.iter().map(Described::to_image).collect();
    output_file::write(object, |out| {
        let written = match output_kind {
            OutputKind::Relocatable => {
                host_object::openmp::write_for_relocatable_link(host, &images, out)
            }
            _ => host_object::openmp::write(host, &images, out),
        };
        written.map_err(RegisterError::from)
    })
}

/// Writes the object for a fatbin (CUDA) or a HIP bundle.
///
/// # Errors
/// As [`write()`].
pub fn write_container(
    kind: OffloadKind,
    container: &[u8],
    host: &str,
    object: &Path,
) -> Result<(), RegisterError> {
    let host = HostTarget::from_triple(host)?;
    output_file::write(object, |out| {
        let written = match kind {
            OffloadKind::Hip => host_object::hip::write(host, container, out),
            _ => host_object::cuda::write(host, container, out),
        };
        written.map_err(RegisterError::from)
    })
}
