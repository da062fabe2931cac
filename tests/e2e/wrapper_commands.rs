//! `--dry-run`, `--wrapper-verbose` and `--print-wrapped-module` show what
//! LLVM's own wrapper shows for the same line.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::process::Command;

use crate::as_wrapper::{CUDA, HIP, openmp_unit, peer, runtime, unit, wrapper};
use crate::device_code::launcher;
use crate::workbench::{Run, Workbench, fixture};

/// Lines without what differs from run to run: the folder of temporary files,
/// their random endings, and the output's name, which offlink gives to all.
fn normal(printed: &str) -> Vec<String> {
    let lines = printed.lines().filter(|line| line.starts_with(" \""));
    lines
        .map(|line| {
            let words = line.split(' ').map(|word| {
                let parts = word.split_inclusive(['=', ',', '"']).map(normal_part);
                parts.collect::<String>()
            });
            words.collect::<Vec<_>>().join(" ")
        })
        .collect()
}

fn normal_part(part: &str) -> String {
    let is_temporary = part.starts_with("/tmp/") || part.contains("/offlink-");
    if !is_temporary {
        return part.to_owned();
    }
    let name = part.rsplit('/').next().unwrap_or(part);
    let name = name.strip_prefix("prog.").unwrap_or(name);
    let name = name
        .strip_prefix("prog-")
        .map_or(name.to_owned(), |rest| format!("-{rest}"));
    without_random_ending(&name)
}

/// `a-0f1e2d.o` → `a.o`.
fn without_random_ending(name: &str) -> String {
    let Some((stem, extension)) = name.rsplit_once('.') else {
        return name.to_owned();
    };
    let is_random = |end: &str| end.len() == 6 && end.bytes().all(|b| b.is_ascii_hexdigit());
    match stem.rsplit_once('-') {
        Some((rest, end)) if is_random(end) => match rest {
            "" => extension.to_owned(),
            _ => format!("{rest}.{extension}"),
        },
        _ => name.to_owned(),
    }
}

/// What a dry run prints must be the same from both.
fn prints_the_same(bench: &Workbench, arguments: &[&str]) -> Vec<String> {
    let dry = |mut command: Command| {
        let printed = command
            .env("TMPDIR", "/tmp")
            .arg("--dry-run")
            .args(arguments)
            .warns();
        normal(&printed)
    };
    let ours = dry(wrapper(bench));
    assert_eq!(ours, dry(peer(bench)), "{arguments:?}");
    ours
}

fn units(bench: &Workbench) {
    unit(bench, CUDA, "cuda", &["sm_80", "sm_90"]);
    unit(bench, CUDA, "cuda90", &["sm_90"]);
    unit(bench, HIP, "hip", &["gfx90a", "gfx1030"]);
    openmp_unit(bench, "openmp");
    runtime(bench);
}

#[test]
fn a_dry_run_prints_the_same_lines() {
    let bench = Workbench::new();
    units(&bench);
    let libraries = "-lm -L/usr/lib/x86_64-linux-gnu --rpath=/x --whole-archive --no-whole-archive";
    let lines = [
        "-o prog cuda.o cuda90.o",
        "-o prog cuda90.o cuda.o",
        &format!("-o prog cuda.o openmp.o hip.o {libraries}"),
        "-o prog hip.o --compress --compression-level=5",
        "-m elf_x86_64 -o prog hip.o -z now -u symbol",
        "-o prog cuda.o -mllvm -inline-threshold=10 --offload-opt=-unroll-threshold=9",
        "-o prog openmp.o --embed-bitcode",
        "-o prog runtime.o -lm -L/usr/lib/x86_64-linux-gnu",
        "-o prog hip.o --emit-fatbin-only",
        "-r -o prog hip.o cuda.o",
    ];
    for line in lines {
        let arguments: Vec<&str> = line.split(' ').collect();
        assert!(!prints_the_same(&bench, &arguments).is_empty());
    }
    let device = [
        "--device-compiler=-O2",
        "--device-compiler=nvptx64-nvidia-cuda=-v",
        "--device-linker=amdgcn-amd-amdhsa=zz",
        "--device-linker=foo=bar",
    ];
    let mut arguments = vec!["-o", "prog", "cuda.o"];
    arguments.extend(device);
    let printed = prints_the_same(&bench, &arguments);
    assert!(
        printed[0].ends_with("-Xlinker foo=bar -O2 -v"),
        "{printed:?}"
    );
}

/// What a dry run prints can be run. The inputs of the device links are there
/// if temporary files are kept.
#[test]
fn printed_commands_can_be_replayed() {
    let bench = Workbench::new();
    unit(&bench, CUDA, "cuda", &["sm_90"]);
    let printed = wrapper(&bench)
        .args([
            "--dry-run",
            "--save-temps",
            "-shared",
            "-o",
            "prog",
            "cuda.o",
        ])
        .warns();
    let device = printed.lines().next().expect("a line for the device");
    let path = crate::workbench::cuda().join("bin");
    let path = format!(
        "{}:{}",
        path.display(),
        std::env::var("PATH").expect("a PATH")
    );
    bench
        .command("sh")
        .env("PATH", path)
        .args(["-c", device.trim_start()])
        .succeeds();
    let image = std::fs::read(bench.path("prog.nvptx64.sm_90.img")).expect("an image");
    assert!(image.starts_with(b"\x7fELF"));
}

#[test]
fn verbose_prints_and_links() {
    let bench = Workbench::new();
    units(&bench);
    let line = ["-shared", "-o", "prog", "cuda.o"];
    let dry = wrapper(&bench).arg("--dry-run").args(line).warns();
    assert!(!bench.path("prog").exists(), "a dry run linked");
    let printed = wrapper(&bench).arg("--wrapper-verbose").args(line).warns();
    assert_eq!(normal(&printed), normal(&dry));
    assert!(bench.path("prog").exists());
}

/// A line without device code is printed, too, and then linked.
#[test]
fn verbose_without_device_code() {
    let bench = Workbench::new();
    runtime(&bench);
    let line = ["-shared", "-o", "prog", "runtime.o"];
    let printed = wrapper(&bench).arg("--wrapper-verbose").args(line).warns();
    assert!(
        printed.ends_with("-shared -o prog runtime.o\n"),
        "{printed}"
    );
    assert!(bench.path("prog").exists());
}

/// Names with blanks are quoted, where LLVM's wrapper prints them as they are.
#[test]
fn printed_names_are_quoted() {
    let bench = Workbench::new();
    let object = launcher(&bench, "none");
    std::fs::rename(object, bench.path("a b.o")).expect("a new name");
    let image = format!("--override-image=openmp={}", cpu_image(&bench).display());
    let printed = wrapper(&bench)
        .args(["--dry-run", &image, "-o", "prog", "a b.o"])
        .warns();
    assert!(printed.ends_with(" 'a b.o'\n"), "{printed}");
}

fn cpu_image(bench: &Workbench) -> PathBuf {
    let image = bench.path("cpu.so");
    bench
        .command("cc")
        .args(["-shared", "-fPIC", "-nostdlib", "-o"])
        .arg(&image)
        .arg(fixture("c/helper.c"))
        .succeeds_silently();
    image
}

/// The module's globals and functions by name; `i8`-arrays of images aside, all
/// that LLVM's wrapper defines or declares is there with the same names.
fn names_in(module: &str) -> BTreeSet<String> {
    let starts = ["@", "define ", "declare "];
    module
        .lines()
        .filter(|line| starts.iter().any(|start| line.starts_with(start)))
        .filter_map(|line| line.split('@').nth(1))
        .map(|rest| rest.split(['(', ' ']).next().unwrap_or(rest).to_owned())
        .collect()
}

fn module(mut command: Command, object: &str) -> String {
    let printed = command
        .args(["--print-wrapped-module", "-shared", "-o", "prog", object])
        .warns();
    let lines = printed.lines().filter(|line| !line.starts_with(" \""));
    lines.map(|line| format!("{line}\n")).collect()
}

#[test]
fn the_registration_code_as_ir() {
    let bench = Workbench::new();
    units(&bench);
    for object in ["cuda.o", "hip.o", "openmp.o"] {
        let ours = module(wrapper(&bench), object);
        bench
            .command("llvm-as-22")
            .args(["-o", "module.bc"])
            .arg(bench.write("module.ll", &ours))
            .succeeds_silently();
        bench
            .command("opt-22")
            .args(["-passes=verify", "-disable-output", "module.bc"])
            .succeeds_silently();
        let mut dry = peer(&bench);
        dry.arg("--dry-run");
        let theirs = names_in(&module(dry, object));
        let ours = names_in(&ours);
        // Declared there for both languages, and called for CUDA alone; CUDA 12
        // and newer have no surfaces and textures to register.
        let unused = |name: &&String| match object {
            "hip.o" => name.as_str() == "__cudaRegisterFatBinaryEnd",
            _ => name.ends_with("Surface") || name.ends_with("Texture"),
        };
        let missing: Vec<&String> = theirs
            .difference(&ours)
            .filter(|name| !unused(name))
            .collect();
        assert!(missing.is_empty(), "{object}: {missing:?}");
        assert!(!theirs.is_empty());
    }
}
