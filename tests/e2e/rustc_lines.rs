//! The forms of line in which rustc calls a linker, by the linker's name and by
//! the flavor that is named for it.

use std::path::Path;

use crate::cargo_linker::Workspace;
use crate::workbench::{Run, Workbench, offlink};

/// Links the workspace's program with more arguments for rustc and runs it.
fn links_and_runs(workspace: &Workspace, rustc: &[&str]) {
    let arguments = [&["rustc", "-p", "program", "--"], rustc].concat();
    workspace.cargo("", &arguments).succeeds_silently();
    let program = workspace.built("debug", "program");
    let printed = workspace.bench.program(&program).succeeds();
    assert_eq!(printed, "saxpy: right\n", "{rustc:?}");
    std::fs::remove_file(program).expect("a program to remove");
}

/// What a compiler driver adds to its line and rustc leaves out of a linker's.
fn start_files(bench: &Workbench) -> Vec<String> {
    let found = |name: &str| {
        let printed = bench
            .command("cc")
            .arg(format!("-print-file-name={name}"))
            .succeeds();
        printed.trim().to_owned()
    };
    let files = ["Scrt1.o", "crti.o", "crtbeginS.o", "crtendS.o", "crtn.o"];
    let libraries = ["libc.so", "libgcc_s.so"].map(found);
    let folders = libraries.iter().filter_map(|file| Path::new(file).parent());
    files
        .map(|file| format!("-Clink-arg={}", found(file)))
        .into_iter()
        .chain(folders.map(|folder| format!("-L{}", folder.display())))
        .chain(["-Clink-arg=--dynamic-linker=/lib64/ld-linux-x86-64.so.2".into()])
        .collect()
}

#[test]
fn for_a_linker_instead_of_a_driver() {
    let workspace = Workspace::new(None);
    let bench = &workspace.bench;
    let start_files = start_files(bench);
    let start_files: Vec<&str> = start_files.iter().map(String::as_str).collect();
    let runs = |rustc: &[&str]| links_and_runs(&workspace, &[rustc, &start_files].concat());

    for flavor in ["-Clinker-flavor=ld", "-Clinker-flavor=ld.lld"] {
        runs(&[flavor]);
    }
    // rustc takes the flavor from such a name.
    for name in ["ld", "ld.lld", "lld", "rust-lld"] {
        let linker = bench.link(name, offlink());
        runs(&[&format!("-Clinker={}", linker.display())]);
    }
}

/// offlink finds the real linker though it stands before that in PATH.
#[test]
fn under_the_name_of_the_linker_that_it_calls() {
    let bench = Workbench::new();
    let path = format!("{}:{}", bench.path("").display(), bench.path_with_offlink());
    for (name, question, answer) in [
        ("ld", "--version", "GNU ld"),
        ("ld.lld", "--version", "LLD"),
        ("cc", "-dumpmachine", "x86_64"),
    ] {
        // It would call itself for ever.
        let printed = bench
            .command("timeout")
            .arg("60")
            .arg(bench.link(name, offlink()))
            .arg(question)
            .env("PATH", &path)
            .succeeds_silently();
        assert!(printed.contains(answer), "{printed}");
    }
}

/// A line of more than 2 MiB, for which rustc writes a file of its own form, in
/// folders whose names need care.
#[test]
fn in_a_file_of_one_argument_a_line() {
    let workspace = Workspace::new(None);
    let folder = workspace.bench.folder("it's \"a\" \\ folder");
    let long = "x".repeat(90);
    let arguments: String = (0..25_000)
        .map(|i| format!("-Clink-arg=-Wl,-L,{}/{long}/{i}\n", folder.display()))
        .collect();
    let file = workspace.bench.write("arguments", arguments);
    links_and_runs(&workspace, &[&format!("@{}", file.display())]);
}
