//! What ran when and what it took: the phases of an invocation, and the steps of
//! its device links. There are few of them, so they are always noted.

mod table;
mod trace;

use crate::Error;
use crate::options::Options;
use crate::wrapper_request::TimeTraceFile;
use offlink_llvm::Step;
use std::sync::{LazyLock, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use wait4::ResourceUsage;

static START: LazyLock<Instant> = LazyLock::new(Instant::now);
static SPANS: Mutex<Vec<Span>> = Mutex::new(Vec::new());

/// Something that ran.
#[derive(Clone, Debug)]
struct Span {
    /// The device link that it was for, by its target; `None` for a phase.
    job: Option<String>,
    name: &'static str,
    /// Since the invocation began.
    began: Duration,
    wall: Duration,
    /// User and system time.
    cpu: Option<Duration>,
    /// The most memory that was resident, in bytes.
    peak_memory: Option<u64>,
}

/// The name of the span of a whole device link.
const JOB: &str = "device link";

/// Lets time begin; what comes before is not counted.
pub fn start() {
    LazyLock::force(&START);
}

/// Does `work`, a phase of the invocation.
pub fn phase<T>(name: &'static str, work: impl FnOnce() -> T) -> T {
    let began = Instant::now();
    let result = work();
    note(None, name, began, began.elapsed(), None, None);
    result
}

/// Does `work`, which is all of one device link. Its memory is that of this
/// process, so device links that run at the same time share it.
pub fn job<T>(target: &str, work: impl FnOnce() -> T) -> T {
    let began = Instant::now();
    let result = work();
    let peak = own_peak_memory();
    note(Some(target), JOB, began, began.elapsed(), None, peak);
    result
}

/// Notes what libLLVM did for the device link.
pub fn llvm_steps(target: &str, steps: &[Step]) {
    for step in steps {
        let Step {
            name,
            began,
            wall,
            cpu,
        } = *step;
        note(Some(target), name, began, wall, Some(cpu), None);
    }
}

/// Notes that a tool ran until now, for the device link of a target or as a phase.
/// Linux counts as a program's memory also that of its parent when it was started.
pub fn tool(job: Option<&str>, name: &'static str, began: Instant, usage: &ResourceUsage) {
    let cpu = usage.utime + usage.stime;
    let peak = Some(usage.maxrss);
    note(job, name, began, began.elapsed(), Some(cpu), peak);
}

fn note(
    job: Option<&str>,
    name: &'static str,
    began: Instant,
    wall: Duration,
    cpu: Option<Duration>,
    peak_memory: Option<u64>,
) {
    let span = Span {
        job: job.map(str::to_owned),
        name,
        began: began.saturating_duration_since(*START),
        wall,
        cpu,
        peak_memory,
    };
    spans().push(span);
}

fn spans() -> MutexGuard<'static, Vec<Span>> {
    // A push is all that happens under the lock.
    SPANS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The `outcome` of the invocation, after its times were told.
///
/// # Errors
/// That of `outcome`, else those of [`report`].
pub fn reported<T>(
    outcome: Result<T, Error>,
    options: &Options,
    of_wrapper: Option<&TimeTraceFile>,
) -> Result<T, Error> {
    let told = report(options, of_wrapper);
    outcome.and_then(|outcome| told.map(|()| outcome))
}

/// Tells what the options want to know: on stderr, and in trace files, of which
/// clang-linker-wrapper's options may ask for one, too.
///
/// # Errors
/// [`Error::Output`] when a file can't be written.
pub fn report(options: &Options, of_wrapper: Option<&TimeTraceFile>) -> Result<(), Error> {
    let own = options.time_trace.as_ref().map(|file| TimeTraceFile {
        file: file.clone(),
        granularity: Duration::ZERO,
    });
    if !options.time && own.is_none() && of_wrapper.is_none() {
        return Ok(());
    }
    let spans = spans();
    let all = START.elapsed();
    for wanted in own.iter().chain(of_wrapper) {
        trace::write(&spans, all, wanted)?;
    }
    if options.time {
        crate::report::raw(&table::text(&spans, all, own_peak_memory()));
    }
    Ok(())
}

/// The most memory that this process has had resident, in bytes, as Linux tells
/// it in `/proc/self/status`.
fn own_peak_memory() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("VmHWM:"))?;
    let kib: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kib * 1024)
}

#[cfg(test)]
fn example() -> Vec<Span> {
    let ms = Duration::from_millis;
    let phase = |name, began, wall| Span {
        job: None,
        name,
        began: ms(began),
        wall: ms(wall),
        cpu: None,
        peak_memory: None,
    };
    let step = |name, began, wall, cpu: Option<u64>, peak_memory| Span {
        job: Some("nvptx64-nvidia-cuda sm_90".into()),
        name,
        began: ms(began),
        wall: ms(wall),
        cpu: cpu.map(ms),
        peak_memory,
    };
    vec![
        phase("scan", 0, 2),
        step("optimise", 3, 20, Some(19), None),
        step("ptxas", 23, 40, Some(30), Some(90 << 20)),
        step(JOB, 2, 62, None, Some(70 << 20)),
        phase("device links", 2, 63),
    ]
}
