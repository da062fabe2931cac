//! The threads that LLVM runs on.
//!
//! LLVM recurses deeply on big functions, and a thread that hits a [`Fault`] is lost, so each piece of LLVM
//! work gets a thread of its own while the caller waits.

use std::sync::mpsc::sync_channel;
use std::{io, thread};

use crate::allocator;
use crate::fault::{self, Fault};

/// Address space for a worker's stack in bytes; pages that are never touched cost nothing.
const STACK_SIZE: usize = 256 << 20;

/// Why a piece of work gave no result.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Stopped {
    /// LLVM can't go on; the thread is parked.
    #[error("{0}")]
    Fault(Fault),
    /// The thread could not be started.
    #[error("cannot start a thread for LLVM: {0}")]
    Spawn(io::Error),
    /// The work panicked.
    #[error("the thread that LLVM ran on panicked")]
    Panic,
}

/// Runs `work` on a thread of its own and waits for its result or its fault.
///
/// The result travels through the same channel as a fault, since a faulted thread can't be joined.
pub(crate) fn run<T: Send + 'static>(
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, Stopped> {
    allocator::give_back();
    let (result, outcome) = sync_channel(1);
    let faults = result.clone();
    thread::Builder::new()
        .name("llvm".into())
        .stack_size(STACK_SIZE)
        .spawn(move || {
            fault::report_to(Box::new(move |fault| faults.send(Err(fault)).is_ok()));
            let value = work();
            // The caller only stops waiting once it has had one message.
            let _ = result.send(Ok(value));
        })
        .map_err(Stopped::Spawn)?;
    match outcome.recv() {
        Ok(Ok(value)) => Ok(value),
        Ok(Err(fault)) => Err(Stopped::Fault(fault)),
        Err(_) => Err(Stopped::Panic),
    }
}
