//! The library that OpenMP's images are registered with, where no line names it.

use std::path::{Path, PathBuf};

use crate::device_code::{CPU, LAUNCHED, RUNTIME, bitcode, launcher, launcher_with};
use crate::workbench::{Run, Workbench, system_libllvm};

/// The launcher with an image for the CPU.
fn object(bench: &Workbench) -> PathBuf {
    launcher_with(bench, &[CPU.image(&bitcode(bench, "saxpy", CPU))])
}

/// What readelf shows of the dynamic section.
fn dynamic(bench: &Workbench, program: &Path) -> String {
    bench.command("readelf").arg("-d").arg(program).succeeds()
}

/// The system's libomptarget, by its full name in a folder of its own.
fn in_folder(bench: &Workbench, folder: &str) -> PathBuf {
    let system = system_libllvm(bench, "libomptarget.so.22.1");
    let copy = bench.folder(folder).join("libomptarget.so.22.1");
    std::fs::copy(system, &copy).expect("a copy");
    copy
}

#[test]
fn is_found_and_needs_no_rpath_where_the_loader_looks() {
    let bench = Workbench::new();
    let object = object(&bench);
    for arguments in [&[][..], &["-Wl,--as-needed", "-fuse-ld=lld"]] {
        let program = bench.path("program");
        let mut link = bench.offlink();
        // clang knows where its lld is, whatever name that has on PATH.
        link.args(["cc", "--offlink-host-linker=clang-22"])
            .args(arguments);
        link.arg(&object).arg("-o").arg(&program);
        link.succeeds_silently();
        assert_eq!(bench.program(&program).succeeds(), LAUNCHED);
        let dynamic = dynamic(&bench, &program);
        assert!(dynamic.contains("[libomptarget.so.22.1]"), "{dynamic}");
        assert!(!dynamic.contains("PATH"), "{dynamic}");
    }
}

#[test]
fn a_named_one_is_taken_with_an_rpath() {
    let bench = Workbench::new();
    let object = object(&bench);
    let copy = in_folder(&bench, "a,b");
    let link = |option: &str| {
        let mut link = bench.offlink();
        link.env("OFFLINK_OMPTARGET", &copy)
            .args(["cc", option, "-o", "program"])
            .arg(&object)
            .succeeds_silently();
        let program = bench.path("program");
        (
            bench.program(&program).succeeds(),
            dynamic(&bench, &program),
        )
    };
    let folder = copy.parent().expect("a folder").canonicalize();
    let folder = folder.expect("a path").display().to_string();
    let (printed, dynamic) = link("-O1");
    assert_eq!(printed, LAUNCHED);
    assert!(dynamic.contains(&format!("[{folder}]")), "{dynamic}");
    let (_, dynamic) = link("--offlink-rpath=none");
    assert!(!dynamic.contains("PATH"), "{dynamic}");
    let (_, dynamic) = link("--offlink-rpath=$ORIGIN/../lib");
    assert!(dynamic.contains("[$ORIGIN/../lib]"), "{dynamic}");
}

#[test]
fn lines_of_linkers_and_libraries_get_it_too() {
    let bench = Workbench::new();
    let packed = crate::device_code::pack(
        &bench,
        &[CPU.image(&bitcode(&bench, "saxpy", CPU))],
        "images.bin",
    );
    let object = crate::device_code::embed(&bench, &packed, &["-Dmain=start"], "start.o");
    let copy = in_folder(&bench, "runtime");
    for personality in ["ld", "cc"] {
        bench
            .offlink()
            .arg(personality)
            .arg(format!("--offlink-omptarget={}", copy.display()))
            .args(["-shared", "-o", "libstart.so"])
            .arg(&object)
            .succeeds_silently();
        let dynamic = dynamic(&bench, &bench.path("libstart.so"));
        assert!(dynamic.contains("[libomptarget.so.22.1]"), "{dynamic}");
        assert!(dynamic.contains("/runtime]"), "{dynamic}");
    }

    let caller = bench.write(
        "main.c",
        "int start(void); int main(void) { return start(); }\n",
    );
    bench
        .offlink()
        .args(["cc", "-o", "program", "-Wl,-rpath,$ORIGIN"])
        .args([&caller, &bench.path("libstart.so")])
        .succeeds_silently();
    assert_eq!(bench.program(bench.path("program")).succeeds(), LAUNCHED);
}

/// The host linker's arguments, which `echo` prints in place of one.
fn host_line(bench: &Workbench, arguments: &[&str], object: &Path) -> String {
    bench
        .offlink()
        .args(["cc", "--offlink-dry-run"])
        .args(arguments)
        .args(["-o", "program"])
        .arg(object)
        .succeeds()
        .lines()
        .last()
        .expect("the host link")
        .to_owned()
}

#[test]
fn nothing_is_added_to_a_line_that_brings_one() {
    let bench = Workbench::new();
    let object = object(&bench);
    let times = |line: &str| line.matches("libomptarget").count();
    assert_eq!(times(&host_line(&bench, &[], &object)), 1);
    assert_eq!(times(&host_line(&bench, &[RUNTIME], &object)), 1);
    assert_eq!(times(&host_line(&bench, &["-lomptarget"], &object)), 0);
    assert_eq!(times(&host_line(&bench, &["-Wl,-lomptarget"], &object)), 0);
    assert_eq!(times(&host_line(&bench, &["-r"], &object)), 0);
    assert_eq!(
        times(&host_line(&bench, &["--offlink-omptarget=none"], &object)),
        0
    );

    // By what is in it, whatever it is called.
    let source = bench.write("own.c", "void __tgt_register_lib(void *it) {}\n");
    let cc = |arguments: &[&str]| {
        let mut cc = bench.command("cc");
        cc.args(arguments).arg(&source).succeeds();
    };
    cc(&["-c", "-o", "own.o"]);
    cc(&["-shared", "-fPIC", "-o", "libown.so"]);
    bench
        .command("ar")
        .args(["rcs", "libstatic.a", "own.o"])
        .succeeds();
    for own in ["own.o", "libown.so", "libstatic.a"] {
        assert_eq!(times(&host_line(&bench, &[own], &object)), 0, "{own}");
    }
}

#[test]
fn without_any_the_error_says_what_to_do() {
    let bench = Workbench::new();
    let root = bench.folder("root");
    let fails = |arguments: &[&str]| {
        let mut link = bench.offlink();
        link.args(["cc", "-o", "program"])
            .args(arguments)
            .arg(launcher(&bench, "saxpy"))
            .arg(format!(
                "--offlink-image={}",
                CPU.image(&bitcode(&bench, "saxpy", CPU))
            ))
            .fails_with(1)
    };
    let sysroot = format!("--sysroot={}", root.display());
    let stderr = fails(&[&sysroot]);
    for part in [
        "no libomptarget for x86_64-unknown-linux-gnu",
        "root/usr/lib/x86_64-linux-gnu",
        "liboffload-22",
        "rustup component add offload",
        "--offlink-omptarget=none",
    ] {
        assert!(stderr.contains(part), "no {part} in {stderr}");
    }
    assert_eq!(stderr.lines().count(), 1, "{stderr}");
    let stderr = fails(&["--offlink-omptarget=absent.so"]);
    assert!(
        stderr.contains("there is no libomptarget 'absent.so'"),
        "{stderr}"
    );

    // One that reads other entries is none.
    let folder = bench.folder("root/usr/lib/llvm-19/lib");
    let mut cc = bench.command("cc");
    cc.args(["-shared", "-Wl,-soname,libomptarget.so.19.1", "-o"])
        .arg(folder.join("libomptarget.so.19.1"))
        .args(["-x", "c", "/dev/null"])
        .succeeds();
    let stderr = fails(&[&sysroot]);
    assert!(
        stderr.contains("libomptarget.so.19.1, which does not read"),
        "{stderr}"
    );
}
