//! The reports as lines for people.

use super::devices::Devices;
use super::program::Report;
use super::tools::Found;
use crate::inspect::{count, entry_count};
use std::fmt::Write;

/// What a link would use.
pub fn tools(found: &Found) -> String {
    let mut text = String::new();
    for tool in &found.tools {
        let _ = write!(text, "{:<19}", tool.name);
        if let (Some(path), Some(rule)) = (&tool.path, tool.rule) {
            let _ = write!(text, " {path} ({rule})");
        }
        if let Some(version) = &tool.version {
            let _ = write!(text, ": {version}");
        }
        if let Some(problem) = &tool.problem {
            let _ = write!(text, " missing: {problem}");
        }
        text.push('\n');
    }
    text.push_str("targets\n");
    for target in &found.targets {
        let state = if target.missing.is_empty() {
            "ready".to_owned()
        } else {
            format!("not without {}", target.missing.join(" and "))
        };
        let _ = writeln!(text, "  {:<25} {state}", target.target);
    }
    text.push_str("devices\n");
    devices(&mut text, &found.devices);
    text
}

fn devices(text: &mut String, devices: &Devices) {
    for device in &devices.found {
        let _ = writeln!(text, "  {device}");
    }
    notes(text, &devices.notes);
}

fn notes(text: &mut String, notes: &[String]) {
    for note in notes {
        let _ = writeln!(text, "  note: {note}");
    }
}

/// Where programs run.
pub fn programs(reports: &[Report]) -> String {
    reports.iter().map(program).collect()
}

fn program(report: &Report) -> String {
    let mut text = format!(
        "{}: {}, {}\n",
        report.file,
        count(report.images.len(), "image"),
        entry_count(report.entries)
    );
    for (number, image) in (1..).zip(&report.images) {
        let target = format!("{} {}", image.triple, image.arch);
        let _ = writeln!(
            text,
            "  image {number}: {} {} {}",
            image.kind,
            target.trim(),
            image.format
        );
    }
    for kind in &report.kinds {
        for device in &kind.devices {
            let takes = device
                .image
                .map_or("no image".into(), |number| format!("image {number}"));
            let _ = writeln!(text, "  {}, {}: {takes}", device.device, kind.kind);
            for reason in &device.reasons {
                let _ = writeln!(text, "    {reason}");
            }
        }
    }
    if let Some(library) = &report.libomptarget {
        let _ = writeln!(text, "  libomptarget: {library}");
    }
    notes(&mut text, &report.notes);
    for problem in &report.problems {
        let _ = writeln!(text, "problem: {problem}");
    }
    for kind in &report.kinds {
        let _ = writeln!(text, "{}: {}", kind.kind, kind.verdict);
    }
    text
}
