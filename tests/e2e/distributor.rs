//! Device links by a distributor, which is called as LLVM's DTLTO calls one.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::device_code::{NVIDIA, RUNTIME, bitcode, launcher_with, saxpy_images};
use crate::device_libraries::math;
use crate::workbench::{Run, Workbench, cuda_tool};

/// A distributor that runs the jobs one by one, in another folder and without what the
/// environment says of tools; each input and output has to be as it says.
const SERIAL: &str = r#"#!/usr/bin/env python3
import json, os, subprocess, sys
*arguments, name = sys.argv[1:]
work = json.load(open(name))
log = open(os.environ.get("LOG", "log"), "a")
print("arguments", *arguments, file=log)
print("output", work["common"]["linker_output"], file=log)
assert set(work) == {"common", "jobs"}
for job in work["jobs"]:
    for path in work["common"]["inputs"] + job["inputs"]:
        assert os.path.isabs(path) and os.path.isfile(path), path
    [output] = job["outputs"]
    assert not os.path.exists(output), output
    if "--lose" in arguments:
        continue
    if "--spoil" in arguments:
        open(output, "w").write("spoilt")
        continue
    line = work["common"]["args"] + job["args"]
    subprocess.run(line, check=True, cwd="/", env={"PATH": "/usr/bin:/bin"})
    assert os.path.isfile(output), output
    print("job", file=log)
if "--fail" in arguments:
    sys.exit("no worker is free")
"#;

pub fn distributor(bench: &Workbench) -> PathBuf {
    bench.script("distribute", SERIAL)
}

fn link(bench: &Workbench, program: &Path, output: &str) -> Command {
    let mut command = bench.offlink();
    command.args(["cc", RUNTIME, "-o", output]).arg(program);
    command
}

pub fn log(bench: &Workbench) -> String {
    std::fs::read_to_string(bench.path("log")).unwrap_or_default()
}

#[test]
fn the_program_has_the_same_bytes() {
    let bench = Workbench::new();
    let distributor = distributor(&bench);
    let mut images = saxpy_images(&bench);
    images.push(NVIDIA.image(&math(&bench, NVIDIA, &[])));
    let program = launcher_with(&bench, &images);
    link(&bench, &program, "here").succeeds_silently();
    let distributed = |output: &str| {
        let mut command = link(&bench, &program, output);
        command
            .arg(format!("--offlink-distributor={}", distributor.display()))
            .args([
                "--offlink-distributor-arg=-a",
                "--offlink-distributor-arg=b c",
            ])
            .arg("--offlink-cache-dir=cache");
        command
    };
    distributed("there").succeeds_silently();
    let read = |name: &str| std::fs::read(bench.path(name)).expect("a program");
    assert!(read("here") == read("there"));
    // The CPU's image is made here.
    assert_eq!(log(&bench), "arguments -a b c\noutput there\njob\njob\n");
    // What is in the cache is not distributed again.
    distributed("there").succeeds_silently();
    assert!(read("here") == read("there"));
    assert_eq!(log(&bench), "arguments -a b c\noutput there\njob\njob\n");
}

#[test]
fn tools_with_launchers_and_hermetic_links() {
    let bench = Workbench::new();
    let distributor = distributor(&bench);
    let input = bitcode(&bench, "saxpy", NVIDIA);
    let llvm = crate::workbench::system_libllvm(&bench, "libLLVM.so.22.1");
    bench.write(
        "offlink.toml",
        format!(
            "hermetic = true\n[environment]\nPATH = '/usr/bin:/bin'\nLOG = '{}'\n[tools]\n\
             llvm = '{}'\nptxas = ['/usr/bin/env', 'A=b', '{}']\n",
            bench.path("log").display(),
            llvm.display(),
            cuda_tool("ptxas").display()
        ),
    );
    let hermetic = |output: &str| {
        let mut command = bench.offlink();
        command
            .args(["link", "--toolchain=offlink.toml", "-o", output])
            .args(NVIDIA.arguments())
            .arg(&input);
        command
    };
    hermetic("here").succeeds_silently();
    hermetic("there")
        .arg(format!("--distributor={}", distributor.display()))
        .succeeds_silently();
    let read = |name: &str| std::fs::read(bench.path(name)).expect("an image");
    assert!(read("here") == read("there"));
    assert_eq!(log(&bench), "arguments\noutput there\njob\n");
}

#[test]
fn failures_are_told() {
    let bench = Workbench::new();
    let distributor = distributor(&bench);
    let input = bitcode(&bench, "saxpy", NVIDIA);
    let link = |distributor: &Path, argument: &str| {
        let mut command = bench.offlink();
        command
            .args(["link", "-o", "image"])
            .args(NVIDIA.arguments())
            .arg(format!("--distributor={}", distributor.display()))
            .arg(format!("--distributor-arg={argument}"))
            .arg(&input);
        command
    };
    let says = |argument: &str, code: i32, reason: &str| {
        let said = link(&distributor, argument).fails_with(code);
        assert!(said.contains(reason) && said.lines().count() == 1, "{said}");
        assert!(!bench.path("image").exists());
    };
    says("--fail", 3, "the distributor exited with status 1");
    says("--fail", 3, "no worker is free");
    says("--lose", 1, "the distributor made no ");
    says("--spoil", 1, "6 bytes of the format 'unknown'");
    let said = link(Path::new("nowhere"), "").fails_with(3);
    assert!(
        said.contains("cannot start the distributor ('./nowhere')"),
        "{said}"
    );
}
