//! What can go wrong between offlink and a service.

use std::path::PathBuf;
use thiserror::Error as ThisError;
use tonic::Status;

/// A service did not do what was asked of it, or can't be asked.
#[derive(Debug, ThisError)]
pub enum Error {
    /// The address makes no sense.
    #[error("'{address}' is no address of a service: {reason}")]
    Address {
        /// The address.
        address: String,
        /// What is wrong with it.
        reason: String,
    },
    /// A certificate or key can't be read.
    #[error("cannot read '{}': {source}", path.display())]
    Certificate {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// There is no way to talk to any service.
    #[error("cannot start the connection's threads: {0}")]
    Threads(std::io::Error),
    /// The service can't be reached, or refuses.
    #[error("the service at {address} {what}: {reason}")]
    Service {
        /// Its address.
        address: String,
        /// What was asked of it.
        what: &'static str,
        /// What it answered.
        reason: String,
    },
    /// The service is another kind of service.
    #[error("the service at {address} {reason}")]
    Unfit {
        /// Its address.
        address: String,
        /// What it lacks.
        reason: &'static str,
    },
    /// What came back is not what was to come.
    #[error("the service at {address} sent other bytes than those of the digest {digest}")]
    Damaged {
        /// Its address.
        address: String,
        /// What was asked for.
        digest: String,
    },
}

impl Error {
    /// Whether the service is at fault, and not the settings: so that the work can
    /// be done without it.
    pub fn is_of_service(&self) -> bool {
        matches!(
            self,
            Self::Service { .. } | Self::Unfit { .. } | Self::Damaged { .. }
        )
    }
}

/// A status as one line: its code and message with the last cause, which for a
/// connection is what the system said.
pub(crate) fn line(status: &Status) -> String {
    let mut text = format!("{:?}", status.code());
    if !status.message().is_empty() {
        text += &format!(", {}", status.message());
    }
    let mut cause = std::error::Error::source(status);
    while let Some(next) = cause.and_then(std::error::Error::source) {
        cause = Some(next);
    }
    if let Some(cause) = cause.map(ToString::to_string)
        && !text.contains(&cause)
    {
        text += &format!(": {cause}");
    }
    text
}
