//! Why a device link was not run elsewhere, or failed there.

use std::path::PathBuf;
use thiserror::Error;

/// Why a device link was not run elsewhere, or failed there.
#[derive(Debug, Error)]
pub enum ElsewhereError {
    /// The options make no sense.
    #[error("{0}")]
    Settings(&'static str),
    /// The service's settings make no sense, or the service can't be used.
    #[cfg(feature = "remote")]
    #[error(transparent)]
    Service(#[from] offlink_remote::Error),
    /// The service has failed another link with this error, and is not tried again.
    #[cfg(feature = "remote")]
    #[error("{0}")]
    Gone(String),
    /// Something of the link can't be sent.
    #[error("the device link for {target} cannot be run elsewhere: {reason}")]
    Stays {
        /// The target.
        target: String,
        /// What can't be sent.
        reason: String,
    },
    /// The link was run and failed.
    #[error("device link for {target}, run elsewhere: {message}")]
    Failed {
        /// The target.
        target: String,
        /// What offlink said there.
        message: String,
        /// Its exit code.
        code: u8,
        /// All that was said there.
        stderr: String,
    },
    /// The link was run and made nothing.
    #[error("the device link for {target} was run elsewhere and left {what}")]
    NoImage {
        /// The target.
        target: String,
        /// What it left in place of an image.
        what: String,
    },
    /// An output of the distributor can't be read.
    #[error("the distributor made no '{}' for {target}: {source}", path.display())]
    Output {
        /// The target.
        target: String,
        /// The output.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
}

impl ElsewhereError {
    /// Whether the link may work out here.
    pub(super) fn can_be_made_good(&self) -> bool {
        match self {
            #[cfg(feature = "remote")]
            Self::Service(error) => error.is_of_service(),
            #[cfg(feature = "remote")]
            Self::Gone(_) => true,
            Self::Stays { .. } => true,
            _ => false,
        }
    }

    /// The exit code: for a link that failed elsewhere, that of offlink there.
    pub fn exit_code(&self) -> u8 {
        match self {
            Self::Settings(_) => 2,
            #[cfg(feature = "remote")]
            Self::Service(error) if !error.is_of_service() => 2,
            Self::Failed { code, .. } => *code,
            _ => 1,
        }
    }

    /// All that was said elsewhere.
    pub(in super::super) fn details(&self) -> Option<&str> {
        match self {
            Self::Failed { stderr, .. } => Some(stderr),
            _ => None,
        }
    }
}
