//! Finished images that take the place of all device links.

use super::plan::{Job, Plan, Work};
use crate::device_input::DeviceInput;
use crate::mapped_file::{self, ReadError};
use crate::target::{Target, TargetError};
use crate::wrapper_request::ImageOverride;
use offlink_bundle::image::{self, ImageTarget};
use std::path::PathBuf;
use thiserror::Error;

/// A file can't be taken as an image.
#[derive(Debug, Error)]
pub enum OverrideError {
    /// It can't be read.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// It does not say what it is for.
    #[error("cannot take '{}' as a device image: {source}", file.display())]
    Image {
        /// The file.
        file: PathBuf,
        /// What is wrong.
        source: image::Error,
    },
    /// It is for a device that offlink does not know.
    #[error("cannot take '{}' as a device image: {source}", file.display())]
    Target {
        /// The file.
        file: PathBuf,
        /// What is wrong.
        source: TargetError,
    },
}

/// A job for each file: its image is passed on, for the target that the file
/// itself names.
///
/// # Errors
/// [`OverrideError`] when a file can't be read or is no image.
pub fn plan(overrides: &[ImageOverride]) -> Result<Plan, OverrideError> {
    let mut jobs = Vec::new();
    for ImageOverride { kind, file } in overrides {
        let data = mapped_file::map(file)?;
        let ImageTarget { triple, arch } =
            image::target(&data).map_err(|source| OverrideError::Image {
                file: file.clone(),
                source,
            })?;
        let target = Target::parse(&triple, &arch).map_err(|source| OverrideError::Target {
            file: file.clone(),
            source,
        })?;
        let input = DeviceInput {
            source: file.display().to_string(),
            kind: *kind,
            triple,
            arch,
            data,
        };
        jobs.push(Job {
            target,
            kinds: vec![*kind],
            work: Work::PassOn(input),
        });
    }
    Ok(Plan { jobs })
}
