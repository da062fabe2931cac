//! How long each phase of a link took, in the format of Chrome's trace viewer.

use crate::output_file::{self, OutputError};
use crate::wrapper_request::TimeTraceFile;
use serde_json::json;
use std::time::{Duration, Instant};

/// The phases of one link so far.
#[derive(Debug)]
pub struct TimeTrace {
    start: Instant,
    phases: Vec<Phase>,
}

#[derive(Debug)]
struct Phase {
    name: &'static str,
    began: Duration,
    took: Duration,
}

impl TimeTrace {
    /// Begins now.
    pub fn start() -> Self {
        Self {
            start: Instant::now(),
            phases: Vec::new(),
        }
    }

    /// Does `work` and notes how long it took.
    pub fn phase<T>(&mut self, name: &'static str, work: impl FnOnce() -> T) -> T {
        let began = self.start.elapsed();
        let result = work();
        let took = self.start.elapsed().saturating_sub(began);
        self.phases.push(Phase { name, began, took });
        result
    }

    /// Writes the phases that took at least the granularity, and the whole.
    ///
    /// # Errors
    /// [`OutputError`] when the file can't be written.
    pub fn write(&self, wanted: &TimeTraceFile) -> Result<(), OutputError> {
        output_file::write_bytes(&wanted.file, self.text(wanted.granularity).as_bytes())
    }

    fn text(&self, granularity: Duration) -> String {
        let event = |name: &str, began: Duration, took: Duration| {
            let (began, took) = (microseconds(began), microseconds(took));
            json!({"ph": "X", "pid": 1, "tid": 1, "name": name, "ts": began, "dur": took})
        };
        let mut events: Vec<serde_json::Value> = self
            .phases
            .iter()
            .filter(|phase| phase.took >= granularity)
            .map(|phase| event(phase.name, phase.began, phase.took))
            .collect();
        events.push(event("link", Duration::ZERO, self.start.elapsed()));
        json!({ "traceEvents": events }).to_string() + "\n"
    }
}

fn microseconds(time: Duration) -> u64 {
    u64::try_from(time.as_micros()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_phases_are_left_out() {
        let mut trace = TimeTrace::start();
        assert_eq!(trace.phase("short", || 7), 7);
        trace.phase("long", || std::thread::sleep(Duration::from_millis(20)));
        let names = |granularity| -> Vec<String> {
            let text = trace.text(granularity);
            let trace: serde_json::Value = serde_json::from_str(&text).unwrap();
            let events = trace["traceEvents"].as_array().unwrap().iter();
            events
                .map(|event| event["name"].as_str().unwrap().to_owned())
                .collect()
        };
        assert_eq!(names(Duration::from_millis(10)), ["long", "link"]);
        assert_eq!(names(Duration::ZERO), ["short", "long", "link"]);
    }
}
