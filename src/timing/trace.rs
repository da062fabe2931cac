//! Times in the format of Chrome's trace viewer (`chrome://tracing`, Perfetto).

use super::Span;
use crate::output_file::{self, OutputError};
use crate::wrapper_request::TimeTraceFile;
use serde_json::{Value, json};
use std::time::Duration;

/// Writes what took at least the granularity, and the whole.
///
/// # Errors
/// [`OutputError`] when the file can't be written.
pub(super) fn write(
    spans: &[Span],
    all: Duration,
    wanted: &TimeTraceFile,
) -> Result<(), OutputError> {
    let text = text(spans, all, wanted.granularity);
    output_file::write_bytes(&wanted.file, text.as_bytes())
}

/// One track for the phases, and one for each device link.
fn text(spans: &[Span], all: Duration, granularity: Duration) -> String {
    let mut tracks: Vec<Option<&str>> = vec![None];
    let mut events = vec![track_name(0, "offlink")];
    for span in spans.iter().filter(|span| span.wall >= granularity) {
        let job = span.job.as_deref();
        let track = tracks.iter().position(|known| *known == job);
        let track = track.unwrap_or_else(|| {
            tracks.push(job);
            events.push(track_name(tracks.len() - 1, job.unwrap_or_default()));
            tracks.len() - 1
        });
        let mut event = event(track, span.name, span.began, span.wall);
        if let Some(cpu) = span.cpu {
            event["args"]["cpu_us"] = microseconds(cpu).into();
        }
        if let Some(bytes) = span.peak_memory {
            event["args"]["peak_memory_bytes"] = bytes.into();
        }
        events.push(event);
    }
    events.push(event(0, "link", Duration::ZERO, all));
    json!({ "traceEvents": events }).to_string() + "\n"
}

fn event(track: usize, name: &str, began: Duration, wall: Duration) -> Value {
    let (began, wall) = (microseconds(began), microseconds(wall));
    json!({"ph": "X", "pid": 1, "tid": track + 1, "name": name, "ts": began, "dur": wall})
}

fn track_name(track: usize, name: &str) -> Value {
    let names = json!({ "name": name });
    json!({"ph": "M", "pid": 1, "tid": track + 1, "name": "thread_name", "args": names})
}

fn microseconds(time: Duration) -> u64 {
    u64::try_from(time.as_micros()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(granularity: Duration) -> Vec<(String, u64)> {
        let all = Duration::from_millis(66);
        let text = text(&super::super::example(), all, granularity);
        let trace: Value = serde_json::from_str(&text).unwrap();
        let events = trace["traceEvents"].as_array().unwrap().iter();
        events
            .filter(|event| event["ph"] == "X")
            .map(|event| {
                let name = event["name"].as_str().unwrap().to_owned();
                (name, event["tid"].as_u64().unwrap())
            })
            .collect()
    }

    #[test]
    fn device_links_have_tracks_and_short_spans_are_left_out() {
        let expected = |names: &[(&str, u64)]| -> Vec<(String, u64)> {
            names.iter().map(|(n, t)| ((*n).to_owned(), *t)).collect()
        };
        assert_eq!(
            names(Duration::from_millis(21)),
            expected(&[
                ("ptxas", 2),
                ("device link", 2),
                ("device links", 1),
                ("link", 1)
            ])
        );
        let all = names(Duration::ZERO);
        assert_eq!(all[0], ("scan".into(), 1));
        assert_eq!(all.len(), 6);
    }
}
