//! How long what took, as a table and for Chrome's trace viewer, and the line of
//! progress on a terminal.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

use crate::device_code::{AMD, CPU, NVIDIA, bitcode, launcher, launcher_with};
use crate::workbench::{Run, Workbench, cuda_tool};

/// The phases of a link, in order.
pub const PHASES: [&str; 6] = [
    "scan",
    "select",
    "device links",
    "register",
    "host link",
    "verify",
];

/// A program with images for two vendors' GPUs.
fn link(bench: &Workbench) -> Command {
    let images = [NVIDIA, AMD].map(|target| target.image(&bitcode(bench, "saxpy", target)));
    let object = launcher_with(bench, &images);
    let mut link = bench.offlink();
    link.args(["cc", "-shared", "-o", "program.so"])
        .args(["--offlink-omptarget=none"])
        .arg(object);
    link
}

/// The words of the line that begins with these words, behind them.
fn line<'a>(table: &'a str, start: &str) -> Vec<&'a str> {
    let mut lines = table.lines().map(str::trim);
    let rest = lines.find_map(|line| line.strip_prefix(start)?.strip_prefix("  "));
    let rest = rest.unwrap_or_else(|| panic!("no line of {start} in\n{table}"));
    rest.split_whitespace().collect()
}

fn number(word: &str) -> f64 {
    word.parse().expect("a number")
}

#[test]
fn the_table_has_phases_targets_and_their_steps() {
    let bench = Workbench::new();
    let table = link(&bench).arg("--offlink-time").warns();
    let all = number(line(&table, "all")[0]);
    let mut phases = 0.0;
    for phase in PHASES {
        phases += number(line(&table, phase)[0]);
    }
    assert!(phases > all / 2.0 && phases < all + 1.0, "{table}");
    for target in ["nvptx64-nvidia-cuda sm_90", "amdgcn-amd-amdhsa gfx90a"] {
        let [wall, "ms", cpu, "ms", memory, "MiB"] = line(&table, target)[..] else {
            panic!("{table}");
        };
        assert!(number(wall) > 0.0 && number(wall) < all, "{table}");
        assert!(number(cpu) > 0.0 && number(memory) > 1.0, "{table}");
    }
    for step in ["LLVM link", "read", "optimise", "emit", "ptxas", "lld"] {
        assert_eq!(line(&table, step)[3], "ms", "{table}");
    }
    assert_eq!(line(&table, "ptxas")[5], "MiB", "{table}");
}

#[test]
fn a_single_step_has_a_table_too() {
    let bench = Workbench::new();
    let table = bench
        .offlink()
        .arg("link")
        .args(CPU.arguments())
        .arg(bitcode(&bench, "saxpy", CPU))
        .args(["-o", "image.so", "--offlink-time"])
        .warns();
    assert!(number(line(&table, "device links")[0]) > 0.0, "{table}");
    assert!(number(line(&table, "optimise")[2]) > 0.0, "{table}");
}

/// Bitcode is linked once for all GPUs, and each image has the bytes that it has without the others.
#[test]
fn what_many_gpus_share_is_linked_once() {
    let bench = Workbench::new();
    let codes = ["caller", "helper"].map(|source| bitcode(&bench, source, NVIDIA));
    let steps = |table: &str, name: &str| {
        let lines = table.lines().map(str::trim_start);
        lines.filter(|line| line.starts_with(name)).count()
    };
    let images = codes.each_ref().map(|code| {
        let file = code.display();
        format!("--offlink-image=file={file},triple=nvptx64-nvidia-cuda")
    });
    let table = bench
        .offlink()
        .args(["cc", "-shared", "-o", "program.so"])
        .args(["--offlink-omptarget=none", "--offlink-time"])
        .arg("--offlink-archs=sm_80,sm_90,sm_100")
        .arg(launcher(&bench, "caller"))
        .args(images)
        .warns();
    assert_eq!(steps(&table, "LLVM link "), 1, "{table}");
    assert_eq!(steps(&table, "read "), 3, "{table}");
    bench
        .offlink()
        .args(["extract", "-o", "extracted", "program.so"])
        .succeeds_silently();
    for arch in ["sm_80", "sm_90", "sm_100"] {
        let table = bench
            .offlink()
            .args(["link", "--triple=nvptx64-nvidia-cuda", "-o", "alone.cubin"])
            .arg(format!("--arch={arch}"))
            .arg("--offlink-time")
            .args(&codes)
            .warns();
        assert_eq!(steps(&table, "LLVM link "), 1, "{table}");
        let image = format!("extracted/openmp-nvptx64-nvidia-cuda-{arch}/0000.cubin");
        let [together, alone] = [image.as_str(), "alone.cubin"]
            .map(|file| std::fs::read(bench.path(file)).expect("an image"));
        assert!(together == alone, "{arch}");
    }
}

/// Also for a line without device code, which the host linker takes over, and for
/// a link that fails.
#[test]
fn the_table_is_printed_whatever_comes_of_the_link() {
    let bench = Workbench::new();
    bench.write("main.c", "int main(void) { return 0; }\n");
    let plain = ["cc", "main.c", "-o", "main", "--offlink-time"];
    let table = bench.offlink().args(plain).warns();
    assert!(number(line(&table, "scan")[0]) >= 0.0, "{table}");
    let failed = link(&bench)
        .args(["--offlink-time", "--offlink-ptxas=/nowhere/ptxas"])
        .fails_with(1);
    assert!(number(line(&failed, "device links")[0]) > 0.0, "{failed}");
}

#[test]
fn the_trace_has_a_track_for_each_target() {
    let bench = Workbench::new();
    link(&bench)
        .arg("--offlink-time-trace=trace.json")
        .succeeds_silently();
    let trace = std::fs::read(bench.path("trace.json")).expect("a trace");
    let trace: serde_json::Value = serde_json::from_slice(&trace).expect("JSON");
    let events = trace["traceEvents"].as_array().expect("events");
    let mut tracks: BTreeMap<u64, &str> = BTreeMap::new();
    let mut ran: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for event in events {
        let track = event["tid"].as_u64().expect("a track");
        let name = event["name"].as_str().expect("a name");
        if event["ph"] == "M" {
            tracks.insert(track, event["args"]["name"].as_str().expect("a name"));
        } else {
            assert_eq!(event["ph"], "X");
            assert!(event["ts"].is_u64() && event["dur"].is_u64(), "{event}");
            if ["ptxas", "lld", "device link"].contains(&name) {
                let memory = event["args"]["peak_memory_bytes"].as_u64();
                assert!(memory > Some(1 << 20), "{event}");
            }
            ran.entry(tracks[&track]).or_default().push(name);
        }
    }
    assert_eq!(ran["offlink"], [&PHASES[..], &["link"]].concat());
    let llvm = ["LLVM link", "read", "optimise", "emit"];
    let nvidia = [&llvm[..], &["ptxas", "device link"]].concat();
    assert_eq!(ran["nvptx64-nvidia-cuda sm_90"], nvidia);
    let amd = [&llvm[..], &["lld", "device link"]].concat();
    assert_eq!(ran["amdgcn-amd-amdhsa gfx90a"], amd);
}

/// `offlink link` for an NVIDIA GPU on a terminal, with a ptxas that takes its
/// time; returns all that the terminal got.
fn on_terminal(bench: &Workbench, ptxas: &Path, term: &str) -> String {
    let words = [
        bench.offlink().get_program().display().to_string(),
        "link --triple=nvptx64-nvidia-cuda --arch=sm_90 -o image.cubin".into(),
        format!("--ptxas={}", ptxas.display()),
        bitcode(bench, "saxpy", NVIDIA).display().to_string(),
    ];
    let mut script = bench.command("script");
    script.env("TERM", term);
    script.args([
        "--quiet",
        "--return",
        "--command",
        &words.join(" "),
        "typescript",
    ]);
    script.stdin(std::process::Stdio::null()).succeeds()
}

#[test]
fn progress_is_for_terminals_and_long_links() {
    let bench = Workbench::new();
    let real = cuda_tool("ptxas");
    let script = format!("#!/bin/sh\nsleep 4; exec '{}' \"$@\"\n", real.display());
    let slow = bench.script("slow-ptxas", script);
    let shown = on_terminal(&bench, &slow, "xterm");
    assert!(shown.contains("offlink: 0/1 images"), "{shown:?}");
    assert!(shown.contains("nvptx64-nvidia-cuda sm_90"), "{shown:?}");
    // Its last word is that the line is cleared.
    let end = shown.trim_end_matches(['\r', '\n']);
    assert!(end.ends_with("\u{1b}[2K"), "{shown:?}");
    // Only the cursor moves: there are no colours.
    let colour = shown.split("\u{1b}[").skip(1).any(|code| {
        code.trim_start_matches(|c: char| c.is_ascii_digit() || c == ';')
            .starts_with('m')
    });
    assert!(!colour, "{shown:?}");

    assert_eq!(on_terminal(&bench, &slow, "dumb"), "");
    assert_eq!(on_terminal(&bench, &real, "xterm"), "");
    bench
        .offlink()
        .arg("link")
        .args(NVIDIA.arguments())
        .arg(format!("--ptxas={}", slow.display()))
        .arg(bitcode(&bench, "saxpy", NVIDIA))
        .args(["-o", "image.cubin"])
        .env("TERM", "xterm")
        .succeeds_silently();
}
