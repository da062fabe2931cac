//! Device links as actions of the Remote Execution API.

use super::super::cached::ImageCache;
use super::super::key::Stage;
use super::super::remarks::Remark;
use super::super::{Context, DeviceError, DeviceImage, Linked, Setting, cached};
use super::parcel::{Parcel, stays};
use super::root::{IMAGE, Packed, Packer};
use super::{Candidate, ElsewhereError, candidates, checked, or_here, warn};
use crate::options::Elsewhere;
use crate::progress::Progress;
use crate::timing;
use bytes::Bytes;
use offlink_remote::{Client, Outcome, Service};
use std::collections::BTreeMap;
use std::num::NonZeroUsize;
use std::sync::OnceLock;

/// The most links at a time. A link that waits for a service costs nothing here.
const JOBS: NonZeroUsize = NonZeroUsize::new(64).unwrap();

/// Has the service run the links that are not in the cache.
pub(super) fn link(
    setting: &Setting<'_>,
    address: &str,
    progress: &Progress,
) -> Result<BTreeMap<usize, DeviceImage>, DeviceError> {
    let candidates = candidates(setting);
    if candidates.is_empty() {
        return Ok(BTreeMap::new());
    }
    let wanted = &setting.options.elsewhere;
    let remote = Remote {
        client: Client::new(&service(wanted, address)?).map_err(ElsewhereError::from)?,
        packer: Packer::new(setting.cache.as_ref().map(ImageCache::programs)),
        failure: OnceLock::new(),
    };
    let limit = wanted.jobs.unwrap_or(JOBS);
    let outcomes = offlink_jobs::map(&candidates, Some(limit), |_, candidate| {
        let target = candidate.target.to_string();
        let outcome = progress.during(&target, || {
            timing::job(&target, || {
                setting.with_context(candidate.target, |context| {
                    let (target, link) = (candidate.target, candidate.link);
                    cached::get_or_make(Stage::Image, target, link, context, || {
                        remote.run(candidate, context)
                    })
                })
            })
        });
        or_here(outcome, candidate, setting)
    })?;
    let mut images = BTreeMap::new();
    let mut reasons = Vec::new();
    for (candidate, outcome) in candidates.iter().zip(outcomes) {
        match outcome {
            Ok(image) => {
                images.insert(candidate.position, image);
            }
            Err(reason) => reasons.push(reason),
        }
    }
    warn(&reasons);
    Ok(images)
}

fn service(wanted: &Elsewhere, address: &str) -> Result<Service, ElsewhereError> {
    let identity = match (&wanted.certificate, &wanted.key) {
        (Some(certificate), Some(key)) => Some((certificate.clone(), key.clone())),
        (None, None) => None,
        _ => {
            return Err(ElsewhereError::Settings(
                "--offlink-remote-cert and --offlink-remote-key go together; give both",
            ));
        }
    };
    Ok(Service {
        address: address.into(),
        instance: wanted.instance.clone(),
        headers: wanted.headers.clone(),
        ca: wanted.ca.clone(),
        identity,
        platform: wanted.platform.clone(),
    })
}

/// The service, and what all links that go there have in common.
struct Remote<'a> {
    client: Client,
    packer: Packer<'a>,
    /// Why it has failed a link, so that it is not tried with others.
    failure: OnceLock<String>,
}

impl Remote<'_> {
    fn run(&self, candidate: &Candidate<'_>, context: &Context<'_>) -> Result<Linked, DeviceError> {
        let target = candidate.target;
        let parcel = Parcel::new(target, candidate.link, context)?;
        let Packed { action, origins } = self.packer.pack(&parcel)?;
        if let Some(failure) = self.failure.get() {
            return Err(ElsewhereError::Gone(failure.clone()).into());
        }
        let outcome = self.client.run(&action).map_err(|error| {
            self.failure.get_or_init(|| error.to_string());
            ElsewhereError::from(error)
        })?;
        let said = said(&outcome, &origins);
        if outcome.exit_code != 0 {
            let failure = failed(candidate, outcome.exit_code, said);
            return Err(match failure {
                // It was not found here either, where it may be looked for.
                ElsewhereError::Failed {
                    code: 4, message, ..
                } if !parcel.is_hermetic => stays(target, &message),
                failure => failure.into(),
            });
        }
        if !said.is_empty() {
            context.remarks.add(Remark::Printed(said));
        }
        let image = outcome
            .outputs
            .get(IMAGE)
            .cloned()
            .unwrap_or_else(Bytes::new);
        Ok(checked(candidate, image)?.into())
    }
}

/// What the command printed, with the user's names for its inputs.
fn said(outcome: &Outcome, origins: &[(String, String)]) -> String {
    let mut text = String::from_utf8_lossy(&outcome.stderr).into_owned();
    for (name, origin) in origins {
        text = text.replace(name, origin);
    }
    text
}

fn failed(candidate: &Candidate<'_>, exit_code: i32, stderr: String) -> ElsewhereError {
    /// What offlink ends with if a link fails.
    const OWN: [i32; 5] = [1, 2, 3, 4, 70];
    let mut lines = stderr
        .lines()
        .map(str::trim)
        .filter(|line| !line.is_empty());
    let own = stderr
        .lines()
        .find_map(|line| line.strip_prefix("offlink: error: "));
    let message = match own.or_else(|| lines.next()) {
        Some(line) if OWN.contains(&exit_code) => line.to_owned(),
        line => format!(
            "the command ended with {exit_code}: {}",
            line.unwrap_or("it said nothing; the worker may lack memory")
        ),
    };
    let code = u8::try_from(exit_code).ok();
    ElsewhereError::Failed {
        target: candidate.target.to_string(),
        message,
        // A command that was killed is a tool that failed.
        code: code.filter(|_| OWN.contains(&exit_code)).unwrap_or(3),
        stderr,
    }
}
