//! The host object that registers the images.

use super::bundle;
use super::device::DeviceImage;
use crate::output_file::{self, OutputError};
use offlink_bundle::host_object::{self, HostTarget, UnsupportedHost};
use offlink_bundle::offload_binary::Image;
use std::path::{Path, PathBuf};
use thiserror::Error;

/// The host that offlink writes objects for when nobody names another.
pub const DEFAULT_HOST: &str = "x86_64-unknown-linux-gnu";

/// The object can't be made.
#[derive(Debug, Error)]
pub enum RegisterError {
    /// No registration code for this host.
    #[error(transparent)]
    Host(#[from] UnsupportedHost),
    /// The images can't be put into it.
    #[error(transparent)]
    Object(#[from] host_object::Error),
    /// It can't be written.
    #[error(transparent)]
    Output(#[from] OutputError),
}

/// Writes the object for `images` into `dir` and returns its path; `None` if
/// there are no images.
///
/// # Errors
/// [`RegisterError`] when there is no registration code for the host triple or
/// the object can't be written.
pub fn write(
    images: &[DeviceImage],
    host_triple: Option<&str>,
    dir: &Path,
) -> Result<Option<PathBuf>, RegisterError> {
    if images.is_empty() {
        return Ok(None);
    }
    let path = dir.join("offlink.registration.o");
    let images: Vec<Image<'_>> = images.iter().map(bundle::linked).collect();
    write_object(&images, host_triple, &path)?;
    Ok(Some(path))
}

/// Writes the object for images that are already described.
///
/// # Errors
/// As [`write()`].
pub fn write_object(
    images: &[Image<'_>],
    host_triple: Option<&str>,
    path: &Path,
) -> Result<(), RegisterError> {
    let host = HostTarget::from_triple(host_triple.unwrap_or(DEFAULT_HOST))?;
    output_file::write(path, |out| {
        host_object::write(host, images, out).map_err(Into::into)
    })
}
