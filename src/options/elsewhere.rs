//! Options for device links that are run elsewhere: by a service of the Remote
//! Execution API, or by a program that distributes them.

use super::split_once;
use super::table::{OwnOption, path};
use std::ffi::{OsStr, OsString};
use std::num::NonZeroUsize;
use std::path::PathBuf;

/// Where device links are run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Elsewhere {
    /// The address of a service.
    pub remote: Option<String>,
    /// The name of the service's instance.
    pub instance: String,
    /// What every call of the service carries.
    pub headers: Vec<(String, String)>,
    /// The authority that the service's certificate is from.
    pub ca: Option<PathBuf>,
    /// The certificate that the service knows this side by.
    pub certificate: Option<PathBuf>,
    /// That one's private key.
    pub key: Option<PathBuf>,
    /// What the service's workers have to be like.
    pub platform: Vec<(String, String)>,
    /// The most links at a time that the service is asked for.
    pub jobs: Option<NonZeroUsize>,
    /// A link that can't be run elsewhere is an error, in place of being run here.
    pub never_here: bool,
    /// The program that distributes links.
    pub distributor: Option<PathBuf>,
    /// What it is given before the file of the links.
    pub distributor_arguments: Vec<OsString>,
}

/// Adds a name with its value.
fn pair(list: &mut Vec<(String, String)>, value: &OsStr) -> bool {
    let (name, value) = split_once(value, b'=');
    match (name.to_str(), value.and_then(OsStr::to_str)) {
        (Some(name), Some(value)) if !name.is_empty() => {
            list.push((name.into(), value.into()));
            true
        }
        _ => false,
    }
}

pub(super) const TABLE: &[OwnOption] = &[
    OwnOption {
        name: "remote",
        hint: Some("grpc[s]://HOST:PORT"),
        variable: Some("OFFLINK_REMOTE"),
        help: "run device links on this service of the Remote Execution API (docs/REMOTE.md)",
        apply: |options, value| {
            options.elsewhere.remote = value.to_str().map(str::to_owned);
            Ok(!value.is_empty() && options.elsewhere.remote.is_some())
        },
    },
    OwnOption {
        name: "remote-instance",
        hint: Some("NAME"),
        variable: Some("OFFLINK_REMOTE_INSTANCE"),
        help: "the name of the service's instance",
        apply: |options, value| {
            options.elsewhere.instance = value.to_string_lossy().into_owned();
            Ok(value.to_str().is_some())
        },
    },
    OwnOption {
        name: "remote-header",
        hint: Some("NAME=VALUE"),
        variable: Some("OFFLINK_REMOTE_HEADER"),
        help: "what every call of the service carries, such as a key; may be repeated",
        apply: |options, value| Ok(pair(&mut options.elsewhere.headers, value)),
    },
    OwnOption {
        name: "remote-ca",
        hint: Some("FILE"),
        variable: Some("OFFLINK_REMOTE_CA"),
        help: "the authority of the service's certificate, as PEM (default: the system's)",
        apply: |options, value| path(&mut options.elsewhere.ca, value),
    },
    OwnOption {
        name: "remote-cert",
        hint: Some("FILE"),
        variable: Some("OFFLINK_REMOTE_CERT"),
        help: "the certificate that the service knows this side by, as PEM",
        apply: |options, value| path(&mut options.elsewhere.certificate, value),
    },
    OwnOption {
        name: "remote-key",
        hint: Some("FILE"),
        variable: Some("OFFLINK_REMOTE_KEY"),
        help: "the private key of that certificate, as PEM",
        apply: |options, value| path(&mut options.elsewhere.key, value),
    },
    OwnOption {
        name: "remote-platform",
        hint: Some("NAME=VALUE"),
        variable: None,
        help: "what the service's workers have to be like; may be repeated",
        apply: |options, value| Ok(pair(&mut options.elsewhere.platform, value)),
    },
    OwnOption {
        name: "remote-jobs",
        hint: Some("N"),
        variable: Some("OFFLINK_REMOTE_JOBS"),
        help: "the most device links at a time that the service is asked for (default 64)",
        apply: |options, value| {
            options.elsewhere.jobs = value.to_str().and_then(|text| text.parse().ok());
            Ok(options.elsewhere.jobs.is_some())
        },
    },
    OwnOption {
        name: "remote-fallback",
        hint: Some("here|never"),
        variable: Some("OFFLINK_REMOTE_FALLBACK"),
        help: "what is done with links that can't be run elsewhere: they are run here, with a \
               warning, or are errors",
        apply: |options, value| {
            options.elsewhere.never_here = value == "never";
            Ok(value == "never" || value == "here")
        },
    },
    OwnOption {
        name: "distributor",
        hint: Some("PROGRAM"),
        variable: None,
        help: "hand the device links as JSON to this program, in the form of LLVM's DTLTO",
        apply: |options, value| path(&mut options.elsewhere.distributor, value),
    },
    OwnOption {
        name: "distributor-arg",
        hint: Some("ARG"),
        variable: None,
        help: "an argument for the distributor, before the name of the JSON file; may be repeated",
        apply: |options, value| {
            options.elsewhere.distributor_arguments.push(value.into());
            Ok(true)
        },
    },
];
