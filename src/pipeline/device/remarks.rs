//! What LLVM and tools say about a link that works out.

use crate::report;
use serde::{Deserialize, Serialize};
use std::sync::{Mutex, PoisonError};

/// One thing that was said.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Remark {
    /// For those who want details.
    Detail(String),
    /// What a tool printed, as it is: its user asked for it.
    Printed(String),
}

/// What was said about one image. It is shown at once, and kept, as it belongs to
/// the image wherever that comes from.
#[derive(Debug)]
pub(super) struct Remarks {
    verbose: bool,
    said: Mutex<Vec<Remark>>,
}

impl Remarks {
    /// With `verbose`, details are shown too.
    pub(super) fn new(verbose: bool) -> Self {
        let said = Mutex::default();
        Self { verbose, said }
    }

    pub(super) fn add(&self, remark: Remark) {
        match &remark {
            Remark::Detail(text) if self.verbose => report::note(text),
            Remark::Detail(_) => {}
            Remark::Printed(text) => report::raw(text),
        }
        self.lock().push(remark);
    }

    /// Takes over what was said about a part of the image, and shown by then.
    pub(super) fn take_over(&self, of_part: &Remarks) {
        self.lock().extend(of_part.all());
    }

    /// All that was said so far.
    pub(super) fn all(&self) -> Vec<Remark> {
        self.lock().clone()
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Vec<Remark>> {
        self.said.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
