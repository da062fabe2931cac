//! Links that end with the device side: the container of the images, or the
//! images themselves.

use super::bundle::{self, BundleError, Described};
use super::device::DeviceImage;
use super::group::REGISTERED;
use super::host::DEFAULT_HOST;
use crate::options::Options;
use crate::output_file::{self, OutputError};
use crate::request::Request;
use crate::target::{Target, TargetError};
use crate::wrapper_request::{ImageOutput, Product};
use offlink_bundle::offload_binary::OffloadKind;
use std::path::{Path, PathBuf};
use thiserror::Error;

/// The images can't be written as they are asked for.
#[derive(Debug, Error)]
pub enum ProductError {
    /// There is nothing to write.
    #[error("the inputs hold no device code, so '{}' was not made", output.display())]
    NoImages {
        /// The output.
        output: PathBuf,
    },
    /// One container can't hold images of several kinds.
    #[error(
        "--emit-fatbin-only makes one container, but the device code is of kinds {kinds}; make \
         one of each kind's objects"
    )]
    SeveralKinds {
        /// The kinds.
        kinds: String,
    },
    /// OpenMP's container is one for each image.
    #[error(
        "--emit-fatbin-only makes one file, but OpenMP has a container for each image, and there \
         are {0} images; make one of each target's objects"
    )]
    SeveralBinaries(usize),
    /// One file can't hold several images.
    #[error(
        "'{}' can hold one image, but there are images for {targets}; name a file for each with \
         --device-image-output=TRIPLE,ARCH FILE",
        output.display()
    )]
    SeveralImages {
        /// The output.
        output: PathBuf,
        /// The targets.
        targets: String,
    },
    /// An image has no file to go to.
    #[error("there is an image for {target}, but no --device-image-output={triple},{arch} FILE")]
    NoFile {
        /// The target.
        target: String,
        /// Its triple.
        triple: String,
        /// Its arch.
        arch: String,
    },
    /// A file has no image to hold.
    #[error("--device-image-output names {triple},{arch}, but the link makes images for {targets}")]
    NoImage {
        /// The triple.
        triple: String,
        /// The arch.
        arch: String,
        /// The targets that there are images for.
        targets: String,
    },
    /// A file is for a target that does not exist.
    #[error("--device-image-output: {0}")]
    Target(#[from] TargetError),
    /// The images don't fit into the container.
    #[error(transparent)]
    Bundle(#[from] BundleError),
    /// A file can't be written.
    #[error(transparent)]
    Output(#[from] OutputError),
}

/// Writes what `request` asks for instead of a program.
///
/// # Errors
/// [`ProductError`] when that is not possible; nothing is written then, or, if
/// the disk is at fault, only some of several images.
pub fn write(images: &[DeviceImage], request: &Request) -> Result<(), ProductError> {
    let output = &request.line.output;
    if images.is_empty() {
        let output = output.clone();
        return Err(ProductError::NoImages { output });
    }
    match &request.wrapper.product {
        Product::Images(outputs) if outputs.is_empty() => write_only(images, output),
        Product::Images(outputs) => write_each(images, outputs),
        Product::Bundle | Product::Linked => {
            let host = request.host_triple.as_deref().unwrap_or(DEFAULT_HOST);
            write_container(images, &request.options, host, output)
        }
    }
}

fn write_container(
    images: &[DeviceImage],
    options: &Options,
    host: &str,
    output: &Path,
) -> Result<(), ProductError> {
    let is_used = |kind: &OffloadKind| images.iter().any(|image| image.kinds.contains(kind));
    let kinds: Vec<OffloadKind> = REGISTERED.into_iter().filter(is_used).collect();
    let [kind] = kinds[..] else {
        let names: Vec<&str> = kinds.iter().map(|kind| kind.as_str()).collect();
        return Err(ProductError::SeveralKinds {
            kinds: names.join(" and "),
        });
    };
    if kind == OffloadKind::OpenMp && images.len() > 1 {
        return Err(ProductError::SeveralBinaries(images.len()));
    }
    let described: Vec<Described<'_>> = images
        .iter()
        .map(|image| Described::linked(kind, &image.target, &image.data))
        .collect();
    output_file::write(output, |out| {
        let runtime = options.spirv_runtime;
        bundle::write(kind, &described, options.compress, runtime, host, out)
            .map_err(ProductError::from)
    })
}

fn write_only(images: &[DeviceImage], output: &Path) -> Result<(), ProductError> {
    match images {
        [image] => Ok(output_file::write_bytes(output, &image.data)?),
        _ => Err(ProductError::SeveralImages {
            output: output.into(),
            targets: targets(images),
        }),
    }
}

fn write_each(images: &[DeviceImage], outputs: &[ImageOutput]) -> Result<(), ProductError> {
    let mut files: Vec<(Target, &Path)> = Vec::new();
    for ImageOutput { triple, arch, file } in outputs {
        let target = Target::parse(triple, arch)?;
        if !images.iter().any(|image| image.target == target) {
            return Err(ProductError::NoImage {
                triple: triple.clone(),
                arch: arch.clone(),
                targets: targets(images),
            });
        }
        files.push((target, file));
    }
    let mut pairs = Vec::new();
    for image in images {
        match files.iter().find(|(target, _)| *target == image.target) {
            Some((_, file)) => pairs.push((image, *file)),
            None => {
                return Err(ProductError::NoFile {
                    target: image.target.to_string(),
                    triple: image.target.triple().into(),
                    arch: image.target.arch(),
                });
            }
        }
    }
    for (image, file) in pairs {
        output_file::write_bytes(file, &image.data)?;
    }
    Ok(())
}

fn targets(images: &[DeviceImage]) -> String {
    let names: Vec<String> = images
        .iter()
        .map(|image| image.target.to_string())
        .collect();
    names.join(", ")
}
