//! How many parts of big links are compiled at a time, whichever image they are of.

use std::num::{NonZeroU64, NonZeroUsize};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::{fs, thread};

/// What LLVM, and then ptxas, take at most for one instruction of a part, in bytes. For parts of 10000 to 1100000
/// instructions LLVM 22 and ptxas 13.0 took 0.4 and 1.2 KiB.
const PER_INSTRUCTION: u64 = 2 << 10;

/// What ptxas takes for no code at all, in bytes.
const AT_LEAST: u64 = 64 << 20;

/// The part of the available memory, in percent, that is taken.
const TAKEN: u64 = 80;

/// Cores and memory to be shared out.
pub(super) struct Budget {
    limit: usize,
    free: Mutex<Free>,
    returned: Condvar,
}

struct Free {
    bytes: u64,
    /// Those that are out.
    shares: usize,
}

/// A share of a [`Budget`], until it is dropped.
pub(super) struct Share<'a> {
    budget: &'a Budget,
    bytes: u64,
}

impl Budget {
    /// For so many parts at a time, or as many as there are cores, and as much memory as is said, in MiB, or most of
    /// what the machine has available.
    pub fn new(limit: Option<NonZeroUsize>, mebibytes: Option<NonZeroU64>) -> Self {
        let cores = || thread::available_parallelism().unwrap_or(NonZeroUsize::MIN);
        let bytes = mebibytes.map_or_else(available, |mebibytes| {
            mebibytes.get().saturating_mul(1 << 20)
        });
        Self {
            limit: limit.unwrap_or_else(cores).get(),
            free: Mutex::new(Free { bytes, shares: 0 }),
            returned: Condvar::new(),
        }
    }

    /// Waits for a core, and for the memory that a part of this many instructions takes. One that takes more than there
    /// is waits until it is alone.
    pub fn share(&self, instructions: u64) -> Share<'_> {
        let bytes = AT_LEAST.saturating_add(instructions.saturating_mul(PER_INSTRUCTION));
        let has_to_wait =
            |free: &mut Free| free.shares >= self.limit || free.shares > 0 && free.bytes < bytes;
        let mut free = self
            .returned
            .wait_while(self.lock(), has_to_wait)
            .unwrap_or_else(PoisonError::into_inner);
        let bytes = bytes.min(free.bytes);
        free.bytes -= bytes;
        free.shares += 1;
        Share {
            budget: self,
            bytes,
        }
    }

    fn lock(&self) -> MutexGuard<'_, Free> {
        // Whoever panicked has left numbers that are whole.
        self.free.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Share<'_> {
    fn drop(&mut self) {
        let mut free = self.budget.lock();
        free.bytes += self.bytes;
        free.shares -= 1;
        self.budget.returned.notify_all();
    }
}

/// `MemAvailable` of Linux's `/proc/meminfo`, less a reserve, in bytes; without limit where there is no such file.
fn available() -> u64 {
    let text = fs::read_to_string("/proc/meminfo").unwrap_or_default();
    kibibytes(&text).map_or(u64::MAX, |kibibytes| (kibibytes << 10) / 100 * TAKEN)
}

fn kibibytes(meminfo: &str) -> Option<u64> {
    let line = meminfo
        .lines()
        .find_map(|line| line.strip_prefix("MemAvailable:"))?;
    line.trim().strip_suffix(" kB")?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::thread;
    use std::time::Duration;

    /// The most shares of this size that are out at a time, of ten that are wanted and `limit` that may be.
    fn most_at_a_time(limit: usize, mebibytes: u64, instructions: u64) -> usize {
        let budget = Budget::new(NonZeroUsize::new(limit), NonZeroU64::new(mebibytes));
        let (out, most) = (AtomicUsize::new(0), AtomicUsize::new(0));
        thread::scope(|scope| {
            for _ in 0..10 {
                scope.spawn(|| {
                    let _share = budget.share(instructions);
                    most.fetch_max(out.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
                    thread::sleep(Duration::from_millis(20));
                    out.fetch_sub(1, Ordering::SeqCst);
                });
            }
        });
        most.into_inner()
    }

    #[test]
    fn shares_stay_within_cores_and_memory() {
        let instructions = 100 << 20;
        let bytes = AT_LEAST + instructions * PER_INSTRUCTION;
        assert_eq!(most_at_a_time(8, (bytes >> 20) * 3, instructions), 3);
        assert_eq!(most_at_a_time(2, (bytes >> 20) * 3, instructions), 2);
    }

    #[test]
    fn what_takes_more_than_there_is_runs_alone() {
        assert_eq!(most_at_a_time(8, 1, 1 << 20), 1);
        assert_eq!(most_at_a_time(8, 1, u64::MAX), 1);
    }

    #[test]
    fn available_memory_is_read() {
        let text = "MemTotal:  100 kB\nMemAvailable:   16384 kB\nBuffers: 1 kB\n";
        assert_eq!(kibibytes(text), Some(16384));
        assert_eq!(kibibytes(""), None);
    }
}
