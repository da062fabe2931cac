//! Times as a table for people.

use super::{JOB, Span};
use std::fmt::Write;
use std::time::Duration;

/// The phases and the device links, these with their steps in the order in which
/// they ended.
pub(super) fn text(spans: &[Span], all: Duration, peak_memory: Option<u64>) -> String {
    let whole = Span {
        job: None,
        name: "all",
        began: Duration::ZERO,
        wall: all,
        cpu: None,
        peak_memory,
    };
    let mut rows = vec![Row::head("phase")];
    let phases = spans.iter().filter(|span| span.job.is_none());
    rows.extend(phases.chain([&whole]).map(|span| Row::of(2, span)));
    let jobs: Vec<&Span> = spans.iter().filter(|span| span.name == JOB).collect();
    if !jobs.is_empty() {
        rows.push(Row::head("device link"));
    }
    for job in jobs {
        let is_step = |span: &&Span| span.job == job.job && span.name != JOB;
        let steps: Vec<&Span> = spans.iter().filter(is_step).collect();
        rows.push(Row {
            name: format!("  {}", job.job.as_deref().unwrap_or_default()),
            wall: milliseconds(job.wall),
            cpu: milliseconds(steps.iter().filter_map(|step| step.cpu).sum()),
            memory: memory(
                steps
                    .iter()
                    .copied()
                    .chain([job])
                    .filter_map(|s| s.peak_memory)
                    .max(),
            ),
        });
        rows.extend(steps.into_iter().map(|step| Row::of(4, step)));
    }
    let width = rows.iter().map(|row| row.name.chars().count()).max();
    let width = width.unwrap_or_default();
    let mut text = String::new();
    for Row {
        name,
        wall,
        cpu,
        memory,
    } in rows
    {
        let line = format!("{name:<width$}  {wall:>12}  {cpu:>12}  {memory:>12}");
        // Writing to a String can't fail.
        let _ = writeln!(text, "{}", line.trim_end());
    }
    text
}

struct Row {
    name: String,
    wall: String,
    cpu: String,
    memory: String,
}

impl Row {
    fn head(of: &str) -> Self {
        Self {
            name: format!("offlink: {of}"),
            wall: "wall".into(),
            cpu: "CPU".into(),
            memory: "peak memory".into(),
        }
    }

    fn of(indent: usize, span: &Span) -> Self {
        Self {
            name: format!("{:indent$}{}", "", span.name),
            wall: milliseconds(span.wall),
            cpu: span.cpu.map(milliseconds).unwrap_or_default(),
            memory: memory(span.peak_memory),
        }
    }
}

fn milliseconds(time: Duration) -> String {
    format!("{:.1} ms", time.as_secs_f64() * 1000.0)
}

fn memory(bytes: Option<u64>) -> String {
    let mib = |bytes| format!("{:.1} MiB", bytes as f64 / f64::from(1 << 20));
    bytes.map(mib).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_device_link_has_the_sums_of_its_steps() {
        let text = text(&super::super::example(), Duration::from_millis(66), None);
        let line = |start: &str| -> Vec<&str> {
            let line = text.lines().find(|line| line.trim().starts_with(start));
            line.unwrap().split_whitespace().collect()
        };
        assert_eq!(line("scan"), ["scan", "2.0", "ms"]);
        assert_eq!(line("all"), ["all", "66.0", "ms"]);
        assert_eq!(
            line("nvptx64")[2..],
            ["62.0", "ms", "49.0", "ms", "90.0", "MiB"]
        );
        assert!(text.contains("\n    ptxas "), "{text}");
    }
}
