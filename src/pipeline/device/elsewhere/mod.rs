//! Device links that are run elsewhere: by a service of the Remote Execution API, or
//! by a program that distributes them. Each is the command `offlink link` with its
//! tools and inputs; what comes back is as good as what is made here, and goes into
//! the same cache.

mod distributor;
mod error;
mod parcel;
#[cfg(feature = "remote")]
mod remote;
#[cfg(feature = "remote")]
mod root;

pub use error::ElsewhereError;

use super::super::plan::{DeviceLink, Job, Work};
use super::{Context, DeviceError, DeviceImage, Linked, Setting};
use crate::options::Emit;
use crate::progress::Progress;
use crate::report;
use crate::target::{Device, Target};
use bytes::Bytes;
use offlink_bundle::image::ImageFormat;
use std::collections::BTreeMap;

/// A job that is to be run elsewhere.
struct Candidate<'a> {
    position: usize,
    target: &'a Target,
    link: &'a DeviceLink,
}

/// The images of the jobs that were run elsewhere, by the jobs' positions. The others
/// are to be made here.
///
/// # Errors
/// [`DeviceError`] of a link that failed there; with `--offlink-remote-fallback=never`
/// also if one can't be run there.
pub(super) fn link(
    setting: &Setting<'_>,
    progress: &Progress,
) -> Result<BTreeMap<usize, DeviceImage>, DeviceError> {
    let wanted = &setting.options.elsewhere;
    match (&wanted.remote, &wanted.distributor) {
        (None, None) => Ok(BTreeMap::new()),
        (Some(_), Some(_)) => Err(ElsewhereError::Settings(
            "--offlink-remote and --offlink-distributor exclude each other; leave out one",
        )
        .into()),
        (None, Some(program)) => distributor::link(setting, program),
        #[cfg(feature = "remote")]
        (Some(address), None) => remote::link(setting, address, progress),
        #[cfg(not(feature = "remote"))]
        (Some(_), None) => {
            let _ = progress;
            Err(ElsewhereError::Settings(
                "--offlink-remote is not in this offlink, which was built without the feature \
                 'remote'; build one with it",
            )
            .into())
        }
    }
}

/// The jobs that anybody may run. Images for CPUs come from a compiler driver, which
/// starts programs that nobody knows beforehand, and bitcode comes with names that
/// only the compile knows; both are made here, as they need no slow tool.
fn candidates<'a>(setting: &Setting<'a>) -> Vec<Candidate<'a>> {
    let jobs = setting.jobs.iter().enumerate();
    let candidates = jobs.filter_map(|(position, Job { target, work, .. })| match work {
        Work::Link(link) if parcel::is_for_anywhere(target, link) => Some(Candidate {
            position,
            target,
            link,
        }),
        _ => None,
    });
    candidates.collect()
}

/// What came back, if it has the form of what the link makes.
fn checked(candidate: &Candidate<'_>, data: Bytes) -> Result<Bytes, ElsewhereError> {
    let emit = candidate.link.options.emit;
    let format = ImageFormat::detect(&data);
    let is_right = match candidate.target.device() {
        Device::Nvptx(_) if emit == Emit::Ptx => format == ImageFormat::Ptx,
        Device::Nvptx(_) => matches!(
            format,
            ImageFormat::CubinFinal | ImageFormat::CubinRelocatable
        ),
        Device::Amdgcn(_) => matches!(
            format,
            ImageFormat::HsacoFinal | ImageFormat::HsacoRelocatable
        ),
        Device::SpirV => format == ImageFormat::SpirV,
        Device::X86_64(_) => false,
    };
    if is_right {
        return Ok(data);
    }
    Err(ElsewhereError::NoImage {
        target: candidate.target.to_string(),
        what: match data.len() {
            0 => "no image".into(),
            size => format!("{size} bytes of the format '{format}' in place of an image"),
        },
    })
}

/// What `outcome` is for the whole link: nothing, if this job is to be run here.
fn or_here(
    outcome: Result<Linked, DeviceError>,
    candidate: &Candidate<'_>,
    setting: &Setting<'_>,
) -> Result<Result<DeviceImage, ElsewhereError>, DeviceError> {
    match outcome {
        Ok(linked) => Ok(Ok(setting.image(candidate.position, linked))),
        Err(DeviceError::Elsewhere(error)) if error.can_be_made_good() => {
            if setting.options.elsewhere.never_here {
                return Err(error.into());
            }
            Ok(Err(error))
        }
        Err(error) => Err(error),
    }
}

/// Tells why jobs are run here: the first reason, which most likely is that of all.
fn warn(reasons: &[ElsewhereError]) {
    let Some(first) = reasons.first() else {
        return;
    };
    let links = match reasons.len() {
        1 => "1 device link is".into(),
        many => format!("{many} device links are"),
    };
    report::warning(&format!("{first}; {links} made here instead"));
}
