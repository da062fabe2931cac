//! A line at the bottom of the terminal that says what a long link is doing.

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::io::IsTerminal;
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// A link that takes no longer than this shows nothing.
const PATIENCE: Duration = Duration::from_secs(2);

/// How often the line is drawn.
const BEAT: Duration = Duration::from_millis(100);

/// The line that is on the terminal.
static SHOWN: Mutex<Option<ProgressBar>> = Mutex::new(None);

/// The device links of one invocation. The line disappears with it.
pub struct Progress {
    state: Arc<Mutex<State>>,
    drawer: Option<(Sender<()>, JoinHandle<()>)>,
}

/// Which device links are done and which run.
#[derive(Default)]
struct State {
    done: u64,
    running: Vec<String>,
}

impl Progress {
    /// Begins to watch `count` device links. Where stderr is no terminal that can
    /// move its cursor, nothing is ever shown.
    pub fn start(count: usize) -> Self {
        let state = Arc::new(Mutex::new(State::default()));
        let is_dumb = std::env::var_os("TERM").is_none_or(|term| term == "dumb");
        if is_dumb || !std::io::stderr().is_terminal() {
            let drawer = None;
            return Self { state, drawer };
        }
        let (stop, stopped) = mpsc::channel::<()>();
        let seen = Arc::clone(&state);
        let began = Instant::now();
        let draw = move || {
            let mut wait = PATIENCE;
            while stopped.recv_timeout(wait) == Err(RecvTimeoutError::Timeout) {
                wait = BEAT;
                let mut shown = lock(&SHOWN);
                let bar = shown.get_or_insert_with(|| bar(count as u64, began));
                let state = lock(&seen);
                bar.set_position(state.done);
                bar.set_message(state.running.join(", "));
                bar.tick();
            }
            if let Some(bar) = lock(&SHOWN).take() {
                bar.finish_and_clear();
            }
        };
        let thread = std::thread::Builder::new().spawn(draw);
        // Without a thread to draw it there is no line.
        let drawer = thread.ok().map(|thread| (stop, thread));
        Self { state, drawer }
    }

    /// Does the device link of `target`.
    pub fn during<T>(&self, target: &str, work: impl FnOnce() -> T) -> T {
        lock(&self.state).running.push(target.to_owned());
        let result = work();
        let mut state = lock(&self.state);
        if let Some(at) = state.running.iter().position(|running| running == target) {
            state.running.remove(at);
        }
        state.done += 1;
        result
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        if let Some((stop, thread)) = self.drawer.take() {
            drop(stop);
            // It panics only if offlink has a defect, which was told by then.
            let _ = thread.join();
        }
    }
}

/// Lets `print` write to the terminal while no line of progress is in its way.
pub fn aside<T>(print: impl FnOnce() -> T) -> T {
    match &*lock(&SHOWN) {
        Some(bar) => bar.suspend(print),
        None => print(),
    }
}

fn bar(count: u64, began: Instant) -> ProgressBar {
    let bar = ProgressBar::with_draw_target(Some(count), ProgressDrawTarget::stderr());
    // No colours, so that NO_COLOR is met.
    let style = ProgressStyle::with_template("offlink: {pos}/{len} images, {elapsed}: {wide_msg}");
    // The template is known to be one; its default would be as good.
    bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
    bar.with_elapsed(began.elapsed())
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // Nothing is left half done under these locks.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
