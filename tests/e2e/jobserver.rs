//! Device links under the jobserver of the make or cargo that started offlink.

use std::fs::{File, OpenOptions};
use std::io::{Read, Write};
use std::path::{Path, PathBuf};

use crate::device_code::{bitcode, launcher_with, nvidia};
use crate::workbench::{Run, Workbench, cuda_tool};

const ARCHS: [&str; 5] = ["sm_75", "sm_80", "sm_86", "sm_89", "sm_90"];

/// A ptxas that notes how many of its kind run while it does.
fn counting_ptxas(bench: &Workbench) -> PathBuf {
    let running = bench.folder("running");
    let script = format!(
        "#!/bin/sh\ntouch {running}/$$\nsleep 0.4\nls {running} | wc -l >>{counts}\n\
         {ptxas} \"$@\"\ncode=$?\nrm {running}/$$\nexit $code\n",
        running = running.display(),
        counts = bench.path("counts").display(),
        ptxas = cuda_tool("ptxas").display(),
    );
    bench.script("ptxas", script)
}

/// A jobserver of GNU make 4.4's sort with so many tokens, which lives as long as the
/// file is open.
fn jobserver(bench: &Workbench, tokens: &[u8]) -> (File, String) {
    let path = bench.path("jobserver");
    bench.command("mkfifo").arg(&path).succeeds();
    let options = OpenOptions::new().read(true).write(true).open(&path);
    let mut pipe = options.expect("the jobserver");
    pipe.write_all(tokens).expect("tokens");
    (pipe, format!("-j --jobserver-auth=fifo:{}", path.display()))
}

/// The most of them that ran at a time.
fn most(counts: &Path) -> usize {
    let counts = std::fs::read_to_string(counts).expect("counts");
    let numbers = counts
        .lines()
        .map(|line| line.trim().parse().expect("a number"));
    numbers.max().expect("a count")
}

/// One job runs on the token that offlink was started with, each other on one of the
/// jobserver's, which gets all back.
#[test]
fn each_job_but_one_holds_a_token() {
    for tokens in [&b""[..], b"++"] {
        let bench = Workbench::new();
        let (mut pipe, makeflags) = jobserver(&bench, tokens);
        let code = bitcode(&bench, "saxpy", nvidia("sm_75"));
        let images = ARCHS.map(|arch| nvidia(arch).image(&code));
        bench
            .offlink()
            .args(["cc", "-o", "program"])
            .arg(launcher_with(&bench, &images))
            .env("MAKEFLAGS", makeflags)
            .env("OFFLINK_PTXAS", counting_ptxas(&bench))
            .succeeds_silently();

        assert_eq!(most(&bench.path("counts")), tokens.len() + 1);
        let mut returned = [0; 3];
        // One more, so that a read of fewer tokens does not wait for ever.
        pipe.write_all(b"-").expect("a token");
        let count = pipe.read(&mut returned).expect("tokens");
        assert_eq!(count, tokens.len() + 1);
    }
}
