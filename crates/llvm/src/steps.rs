//! How long the steps of a compile took.

use std::time::{Duration, Instant};

use rustix::time::{ClockId, clock_gettime};

/// A step of a compile.
#[derive(Debug, Clone, Copy)]
pub struct Step {
    /// `LLVM link`, `read`, `split`, `optimise` or `emit`.
    pub name: &'static str,
    /// When it began.
    pub began: Instant,
    /// How long it took.
    pub wall: Duration,
    /// How long its thread was computing.
    pub cpu: Duration,
}

/// The steps of a compile, one behind the other, all on the thread that this was made on.
pub(crate) struct Steps {
    done: Vec<Step>,
    began: Instant,
    cpu_at_begin: Duration,
}

impl Steps {
    /// The first step begins now.
    pub(crate) fn begin() -> Self {
        Steps {
            done: Vec::new(),
            began: Instant::now(),
            cpu_at_begin: thread_cpu(),
        }
    }

    /// A step ends, and the next one begins.
    pub(crate) fn end(&mut self, name: &'static str) {
        let (now, cpu) = (Instant::now(), thread_cpu());
        self.done.push(Step {
            name,
            began: self.began,
            wall: now - self.began,
            cpu: cpu.saturating_sub(self.cpu_at_begin),
        });
        (self.began, self.cpu_at_begin) = (now, cpu);
    }

    pub(crate) fn done(self) -> Vec<Step> {
        self.done
    }
}

/// What the calling thread has computed so far.
fn thread_cpu() -> Duration {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    // A clock that counts up from 0 is not negative.
    Duration::try_from(time).unwrap_or_default()
}
