//! The cache of device images, by whole links.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use crate::cargo_linker::Workspace;
use crate::device_code::{
    CPU, LAUNCHED, NVIDIA, RUNTIME, bitcode, bitcode_by, embed, launcher_with, pack, saxpy_images,
};
use crate::workbench::{Run, Workbench, cuda, cuda_tool, system_libllvm};

/// A host program with device code, a cache, and a ptxas that counts its runs.
struct Relink {
    bench: Workbench,
    object: PathBuf,
}

impl Relink {
    fn of(images: impl Fn(&Workbench) -> Vec<String>) -> Relink {
        let bench = Workbench::new();
        // As long as there is a file `slow`, ptxas doesn't come to its end.
        let script = format!(
            "#!/bin/sh\necho run >>{log}\nwhile [ -e {slow} ]; do sleep 0.05; done\nexec {real} \"$@\"\n",
            log = bench.path("log").display(),
            slow = bench.path("slow").display(),
            real = cuda_tool("ptxas").display()
        );
        executable(&bench.write("ptxas", script));
        let object = launcher_with(&bench, &images(&bench));
        Relink { bench, object }
    }

    fn new() -> Relink {
        Relink::of(saxpy_images)
    }

    fn for_nvidia() -> Relink {
        Relink::of(|bench| vec![NVIDIA.image(&bitcode(bench, "saxpy", NVIDIA))])
    }

    fn link(&self, arguments: &[&str]) -> Command {
        let mut command = self.bench.offlink();
        command
            .arg("cc")
            .arg(&self.object)
            .arg(format!(
                "--offlink-ptxas={}",
                self.bench.path("ptxas").display()
            ))
            .arg("--offlink-cache-dir=cache")
            .args([RUNTIME, "-o", "program"])
            .args(arguments);
        command
    }

    /// What the explained link says.
    fn explained(&self, arguments: &[&str]) -> String {
        let mut link = self.link(&["--offlink-explain-cache"]);
        link.args(arguments).warns()
    }

    fn program(&self) -> Vec<u8> {
        std::fs::read(self.bench.path("program")).expect("a program")
    }

    /// How often ptxas was run since the last time.
    fn runs(&self) -> usize {
        let log = self.bench.path("log");
        let runs = std::fs::read_to_string(&log).unwrap_or_default();
        let _ = std::fs::remove_file(log);
        runs.lines().count()
    }

    /// Waits until ptxas runs, which needs its `slow`.
    fn wait_for_ptxas(&self) {
        let start = Instant::now();
        while !self.bench.path("log").exists() {
            assert!(start.elapsed() < Duration::from_secs(60), "no ptxas ran");
            thread::sleep(Duration::from_millis(10));
        }
    }

    /// The files of one part of the cache.
    fn files(&self, part: &str) -> Vec<PathBuf> {
        let dir = self.bench.path("cache/v1").join(part);
        let mut files = Vec::new();
        for below in std::fs::read_dir(dir).expect("a cache") {
            let below = below.expect("an entry").path();
            let entries = std::fs::read_dir(below).expect("a folder");
            files.extend(entries.map(|entry| entry.expect("an entry").path()));
        }
        files
    }

    fn cache(&self, arguments: &[&str]) -> Command {
        let mut command = self.bench.offlink();
        command.args(["cache", "--cache-dir=cache"]).args(arguments);
        command
    }
}

fn executable(path: &Path) {
    use std::os::unix::fs::PermissionsExt;
    let mode = std::fs::Permissions::from_mode(0o755);
    std::fs::set_permissions(path, mode).expect("a changed mode");
}

/// Whatever has no part in the images: folder, output, jobs, locale.
#[test]
fn a_relink_runs_no_tool_and_opens_no_llvm() {
    let relink = Relink::new();
    let traced = |folder: &str, name: &str, cache: &str| {
        let log = relink.bench.folder(name).join("loaded");
        relink
            .link(&[&format!("--offlink-cache-dir={cache}")])
            .current_dir(relink.bench.folder(folder))
            .env("LD_DEBUG", "files")
            .env("LD_DEBUG_OUTPUT", &log)
            .succeeds_silently();
        let logs = std::fs::read_dir(log.parent().expect("a folder")).expect("a folder");
        let opens_llvm = logs.into_iter().any(|log| {
            let text = std::fs::read(log.expect("a log").path()).expect("a log");
            String::from_utf8_lossy(&text).contains("libLLVM")
        });
        let program = relink.bench.path(folder).join("program");
        (std::fs::read(program).expect("a program"), opens_llvm)
    };
    let uncached = traced("one", "none", "none");
    assert_eq!(relink.runs(), 1);
    let first = traced("one", "first", "../cache");
    assert_eq!(relink.runs(), 1);
    assert!(first.1, "the trace does not show libLLVM");
    let second = traced("two", "second", "../cache");
    assert_eq!(relink.runs(), 0);
    assert!(!second.1, "libLLVM was opened");
    assert!(first.0 == uncached.0 && second.0 == uncached.0);

    relink
        .link(&["--offlink-jobs=1"])
        .env("LC_ALL", "C.UTF-8")
        .succeeds_silently();
    assert_eq!(relink.runs(), 0);
    let program = relink.bench.path("program");
    assert_eq!(relink.bench.program(program).succeeds(), LAUNCHED);
}

#[test]
fn other_host_code_changes_nothing() {
    let mut relink = Relink::new();
    relink.link(&[]).succeeds_silently();
    assert_eq!(relink.runs(), 1);
    let packed = pack(&relink.bench, &saxpy_images(&relink.bench), "again.bin");
    relink.object = embed(&relink.bench, &packed, &["-O0", "-g"], "other-host.o");
    let said = relink.explained(&[]);
    assert_eq!(said.matches("taken from the cache").count(), 3, "{said}");
    assert_eq!(relink.runs(), 0);
}

#[test]
fn every_change_makes_the_image_anew_and_is_named() {
    let mut relink = Relink::for_nvidia();
    let first = relink.explained(&[]);
    assert!(first.contains("made, for the first time"), "{first}");
    assert_eq!(relink.runs(), 1);
    let changed = |relink: &Relink, arguments: &[&str], what: &str| {
        let said = relink.explained(arguments);
        let line = format!(
            "nvptx64-nvidia-cuda sm_90: made anew, since these differ from the last time: {what}\n"
        );
        assert!(said.contains(&line), "{said}");
        assert_eq!(relink.runs(), 1, "{what}");
        let again = relink.explained(arguments);
        assert!(again.contains("taken from the cache"), "{again}");
        assert_eq!(relink.runs(), 0, "{what}");
        // The first link's entry is still there.
        relink.link(&[]).succeeds_silently();
        assert_eq!(relink.runs(), 0, "{what}");
    };
    changed(&relink, &["--offlink-opt-level=1"], "optimisation level");

    let libdevice = cuda().join("nvvm/libdevice/libdevice.10.bc");
    let mut other = std::fs::read(libdevice).expect("libdevice");
    other.extend([0; 4]);
    relink.bench.folder("other");
    let other = relink.bench.write("other/libdevice.10.bc", other);
    let other = format!("--offlink-libdevice={}", other.display());
    changed(&relink, &[&other], "libdevice");

    let llvm = system_libllvm(&relink.bench, "libLLVM.so.22.1");
    let llvm = format!("--offlink-llvm={}", llvm.display());
    changed(&relink, &[&llvm], "libLLVM");

    let ptxas = std::fs::read(relink.bench.path("ptxas")).expect("ptxas");
    let other = relink
        .bench
        .write("other/ptxas", [&ptxas, &b"# other\n"[..]].concat());
    executable(&other);
    let other = format!("--offlink-ptxas={}", other.display());
    changed(&relink, &[&other], "ptxas");

    let old = relink.object.clone();
    let code = bitcode_by("clang-19", &relink.bench, "saxpy", NVIDIA);
    let packed = pack(&relink.bench, &[NVIDIA.image(&code)], "other.bin");
    relink.object = embed(&relink.bench, &packed, &[], "other.o");
    let said = relink.explained(&[]);
    let named = format!("last time: bitcode 1 ('{}')", relink.object.display());
    assert!(said.contains(&named), "{said}");
    assert_eq!(relink.runs(), 1);
    relink.object = old;
    relink.link(&[]).succeeds_silently();
    assert_eq!(relink.runs(), 0);
}

#[test]
fn damaged_entries_are_put_aside_and_made_anew() {
    let relink = Relink::for_nvidia();
    relink.link(&[]).succeeds_silently();
    let right = relink.program();
    assert_eq!(relink.runs(), 1);
    for part in ["content", "records"] {
        for damage in [
            |data: &mut Vec<u8>| data[100] ^= 1,
            |data: &mut Vec<u8>| data.truncate(100),
        ] {
            let [entry] = &relink.files(part)[..] else {
                panic!("more than one entry");
            };
            let sound = std::fs::read(entry).expect("an entry");
            let mut data = sound.clone();
            damage(&mut data);
            std::fs::write(entry, data).expect("a damaged entry");
            let said = relink.link(&["--offlink-verbose"]).warns();
            assert!(said.contains("it is damaged"), "{said}");
            assert_eq!(relink.runs(), 1);
            assert!(relink.program() == right);
            assert_eq!(std::fs::read(entry).expect("an entry"), sound);
            relink.link(&[]).succeeds_silently();
            assert_eq!(relink.runs(), 0);
        }
    }
}

#[test]
fn two_links_at_once_make_an_image_once() {
    let relink = Relink::for_nvidia();
    relink.bench.write("slow", "");
    let spawn = |name: &str| {
        let mut link = relink.link(&["-o", name]);
        link.stderr(Stdio::piped()).spawn().expect("offlink")
    };
    let first = spawn("first");
    relink.wait_for_ptxas();
    let second = spawn("second");
    thread::sleep(Duration::from_millis(500));
    std::fs::remove_file(relink.bench.path("slow")).expect("a file");
    for link in [first, second] {
        let output = link.wait_with_output().expect("an end");
        assert!(
            output.status.success() && output.stderr.is_empty(),
            "{output:?}"
        );
    }
    assert_eq!(relink.runs(), 1);
    let read = |name: &str| std::fs::read(relink.bench.path(name)).expect("a program");
    assert!(read("first") == read("second"));
}

#[test]
fn who_waits_goes_on_when_the_other_is_killed() {
    let relink = Relink::for_nvidia();
    relink.bench.write("slow", "");
    let mut first = relink.link(&["-o", "first"]);
    first.env("TMPDIR", relink.bench.folder("temporary"));
    let mut first = first.spawn().expect("offlink");
    relink.wait_for_ptxas();
    let mut second = relink.link(&["-o", "second"]).spawn().expect("offlink");
    thread::sleep(Duration::from_millis(500));
    assert_eq!(relink.runs(), 1, "the second did not wait");
    first.kill().expect("a kill");
    first.wait().expect("an end");
    relink.wait_for_ptxas();
    std::fs::remove_file(relink.bench.path("slow")).expect("a file");
    assert!(second.wait().expect("an end").success());
    assert!(!relink.bench.path("first").exists());
    relink.runs();
    relink.link(&["-o", "third"]).succeeds_silently();
    assert_eq!(relink.runs(), 0);
}

/// At each write and renaming in turn the disk is full, or the power goes.
#[test]
fn no_fault_while_an_image_is_kept_does_harm() {
    let relink = Relink::for_nvidia();
    relink
        .link(&["--offlink-cache-dir=none"])
        .succeeds_silently();
    let right = relink.program();
    let mut outcomes = Vec::new();
    for fault in [
        "write:error=ENOSPC",
        "write:signal=SIGKILL",
        "renameat:error=EACCES",
        "renameat:signal=SIGKILL",
    ] {
        for number in 1.. {
            // The digests of programs stay, since they take long.
            for part in ["records", "content", "last"] {
                let _ = std::fs::remove_dir_all(relink.bench.path("cache/v1").join(part));
            }
            let link = relink.link(&["--offlink-jobs=1"]);
            let mut traced = relink.bench.command("strace");
            let (call, _) = fault.split_once(':').expect("a call");
            traced
                .args(["-qq", "-o", "trace", "-e", &format!("trace={call}")])
                .args(["-e", &format!("inject={fault}:when={number}")])
                .arg(link.get_program())
                .args(link.get_args())
                .env("TMPDIR", relink.bench.folder("temporary"))
                .env("CUDA_HOME", cuda());
            let output = traced.output().expect("strace");
            let trace = std::fs::read_to_string(relink.bench.path("trace")).expect("a trace");
            if trace.lines().count() < number {
                break;
            }
            if output.status.success() {
                assert!(relink.program() == right, "{fault}, number {number}");
            }
            outcomes.push(output.status.success());
            relink.link(&[]).succeeds_silently();
            assert!(relink.program() == right, "{fault}, number {number}");
            relink.runs();
            relink.link(&[]).succeeds_silently();
            assert_eq!(relink.runs(), 0, "{fault}, number {number}");
        }
    }
    // Of faults in the cache the user sees nothing, of others an error.
    assert!(
        outcomes.contains(&true) && outcomes.contains(&false),
        "{outcomes:?}"
    );
}

/// Even root may not write there then.
fn without_privileges(link: Command) -> Command {
    let mut command = Command::new("setpriv");
    command.args(["--bounding-set=-dac_override", "--inh-caps=-dac_override"]);
    command.arg(link.get_program()).args(link.get_args());
    command.env_clear();
    for (name, value) in link.get_envs() {
        if let Some(value) = value {
            command.env(name, value);
        }
    }
    command.current_dir(link.get_current_dir().expect("a folder"));
    command
}

#[test]
fn a_cache_that_can_only_be_read_serves_and_does_not_disturb() {
    use std::os::unix::fs::PermissionsExt;
    let relink = Relink::for_nvidia();
    relink.link(&[]).succeeds_silently();
    let right = relink.program();
    assert_eq!(relink.runs(), 1);
    let set_mode = |mode: &str| {
        let mut chmod = relink.bench.command("chmod");
        chmod.args(["-R", mode, "cache"]).succeeds();
    };
    set_mode("a-w");
    let is_root = relink.bench.command("id").arg("-u").succeeds().trim() == "0";
    let run = |arguments: &[&str]| {
        let link = relink.link(arguments);
        if is_root {
            without_privileges(link)
        } else {
            link
        }
    };
    run(&[]).succeeds_silently();
    assert_eq!(relink.runs(), 0);
    assert!(relink.program() == right);
    run(&["--offlink-opt-level=1"]).succeeds_silently();
    let said = run(&["--offlink-opt-level=1", "--offlink-verbose"]).warns();
    assert_eq!(said.matches("cache: ").count(), 1, "{said}");
    assert_eq!(relink.runs(), 2);
    set_mode("u+w");
    let mode = std::fs::metadata(relink.bench.path("cache")).expect("a cache");
    assert_ne!(mode.permissions().mode() & 0o200, 0);
}

/// ptxas is asked to tell about registers.
#[test]
fn what_a_tool_printed_is_printed_again() {
    let relink = Relink::for_nvidia();
    let code = bitcode(&relink.bench, "saxpy", NVIDIA);
    let link = || {
        let mut link = relink.bench.offlink();
        link.arg("link")
            .args(NVIDIA.arguments())
            .arg(format!("--ptxas={}", relink.bench.path("ptxas").display()))
            .args(["--ptxas-arg=-v", "--offlink-cache-dir=cache", "-o", "image"])
            .arg(&code);
        link.warns()
    };
    let said = link();
    assert!(said.contains("registers"), "{said}");
    assert_eq!(link(), said);
    assert_eq!(relink.runs(), 1);
}

/// What a link is to leave behind it can't leave without being carried out.
#[test]
fn temporary_files_that_are_wanted_are_made() {
    let relink = Relink::for_nvidia();
    relink.link(&[]).succeeds_silently();
    relink.runs();
    relink
        .link(&["--offlink-save-temps=temps"])
        .succeeds_silently();
    assert_eq!(relink.runs(), 1);
    let ptx = relink
        .bench
        .path("temps/program.0-nvptx64-nvidia-cuda-sm_90.ptx");
    assert!(ptx.is_file());
}

#[test]
fn what_may_read_a_file_is_not_looked_for() {
    let relink = Relink::for_nvidia();
    let code = bitcode(&relink.bench, "saxpy", NVIDIA);
    relink.bench.write("options", "-v\n");
    let said = relink
        .bench
        .offlink()
        .arg("link")
        .args(NVIDIA.arguments())
        .args(["--ptxas-arg=--options-file", "--ptxas-arg=options"])
        .args([
            "--offlink-cache-dir=cache",
            "--offlink-explain-cache",
            "-o",
            "image",
        ])
        .arg(&code)
        .warns();
    assert!(
        said.contains("not looked for: 'options' may name a file"),
        "{said}"
    );
}

#[test]
fn the_cache_is_looked_after() {
    let relink = Relink::new();
    let missing = relink.cache(&["stat"]).fails_with(1);
    assert!(
        missing.contains("there is no cache in 'cache'"),
        "{missing}"
    );
    relink.link(&[]).succeeds_silently();
    let stat = || -> serde_json::Value {
        let text = relink.cache(&["stat", "--json"]).succeeds_silently();
        serde_json::from_str(&text).expect("JSON")
    };
    assert_eq!(stat()["entries"], 3);
    assert_eq!(stat()["quarantined"], 0);
    assert_eq!(
        relink.cache(&["verify"]).succeeds_silently(),
        "right entries: 3\n"
    );

    let entry = &relink.files("content")[0];
    std::fs::write(entry, "other").expect("a damaged entry");
    relink.cache(&["verify"]).fails_with(1);
    assert_eq!(stat()["entries"], 2);
    assert_eq!(stat()["quarantined"], 1);

    relink.cache(&["prune", "--max-age=1h"]).succeeds_silently();
    assert_eq!(stat()["entries"], 2);
    let pruned = relink.cache(&["prune", "--max-size=0"]).succeeds_silently();
    assert!(pruned.starts_with("removed 2 entries"), "{pruned}");
    assert_eq!(stat()["bytes"], 0);
    let wrong = relink.cache(&["prune", "--max-size=much"]).fails_with(2);
    assert!(wrong.contains("--max-size"), "{wrong}");
}

#[test]
fn without_a_word_there_is_none() {
    let relink = Relink::for_nvidia();
    let said = relink.explained(&["--offlink-cache-dir=none"]);
    assert!(said.contains("cache: none is in use"), "{said}");
    let by_variable = |arguments: &[&str]| {
        let mut link = relink.bench.offlink();
        link.arg("cc")
            .arg(&relink.object)
            .args([RUNTIME, "-o", "program"]);
        link.env("OFFLINK_CACHE_DIR", relink.bench.path("cache"));
        link.args(arguments).succeeds_silently();
    };
    by_variable(&["--offlink-cache-dir=none"]);
    assert!(!relink.bench.path("cache").exists());
    by_variable(&[]);
    assert_eq!(relink.files("records").len(), 1);
}

/// By itself in the target directory: for programs, and for what build scripts link.
#[test]
fn under_cargo_there_is_one() {
    let workspace = Workspace::new(None);
    let build = |more: &[&str]| {
        let build = ["build", "-p", "program", "-p", "plugin"];
        workspace
            .cargo("", &[&build[..], more].concat())
            .succeeds_silently();
    };
    let bench = &workspace.bench;
    build(&[]);
    let stat = || {
        let mut stat = bench.offlink();
        stat.env("CARGO_TARGET_DIR", bench.path("target"));
        stat.args(["cache", "stat", "--json"]).succeeds_silently()
    };
    let entries = |text: &str| -> u64 {
        let stat: serde_json::Value = serde_json::from_str(text).expect("JSON");
        stat["entries"].as_u64().expect("a number")
    };
    let before = entries(&stat());
    assert!(before > 0);
    // The host's code is compiled anew, and the device's is the same.
    build(&["--config", "profile.dev.opt-level=1"]);
    assert_eq!(entries(&stat()), before);

    let code = bitcode(bench, "saxpy", CPU);
    bench
        .offlink()
        .arg("link")
        .args(CPU.arguments())
        .arg("--emit=bc")
        .arg(&code)
        .arg("-o")
        .arg(bench.path("target/debug/build/x/out/image"))
        .env("CARGO_MANIFEST_DIR", bench.path(""))
        .succeeds_silently();
    assert_eq!(entries(&stat()), before + 1);
}
