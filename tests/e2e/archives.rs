//! Device code in static libraries: a member's code belongs to the link when
//! the host linker takes that member.

use std::path::{Path, PathBuf};

use crate::device_code::{CPU, LAUNCHED, NVIDIA, RUNTIME, Target, bitcode, embed, pack};
use crate::workbench::{Run, Workbench};

/// `lib<name>.a` with one member, which defines `launch` and holds saxpy.
pub fn library(bench: &Workbench, name: &str, targets: &[Target]) -> PathBuf {
    let images: Vec<String> = targets
        .iter()
        .map(|target| target.image(&bitcode(bench, "saxpy", *target)))
        .collect();
    let packed = pack(bench, &images, &format!("{name}.bin"));
    let member = embed(bench, &packed, &["-Dmain=launch"], &format!("{name}.o"));
    archive(bench, name, &[&member])
}

pub fn archive(bench: &Workbench, name: &str, members: &[&Path]) -> PathBuf {
    let library = bench.path(format!("lib{name}.a"));
    bench
        .command("llvm-ar-22")
        .arg("rc")
        .arg(&library)
        .args(members)
        .succeeds();
    library
}

pub fn object(bench: &Workbench, name: &str, source: &str) -> PathBuf {
    let source = bench.write(&format!("{name}.c"), source);
    let object = bench.path(format!("{name}.o"));
    bench
        .command("cc")
        .arg("-c")
        .arg(source)
        .arg("-o")
        .arg(&object)
        .succeeds();
    object
}

pub fn main_that_launches(bench: &Workbench) -> PathBuf {
    object(
        bench,
        "main",
        "int launch(void); int main(void) { return launch(); }\n",
    )
}

pub fn links_and_runs(bench: &Workbench, arguments: &[&str]) {
    let program = bench.path("program");
    bench
        .offlink()
        .arg("cc")
        .args(arguments)
        .args([RUNTIME, "-o"])
        .arg(&program)
        .succeeds_silently();
    assert_eq!(bench.program(&program).succeeds(), LAUNCHED);
}

/// clang's own wrapper makes no image here, since no object of the line itself
/// holds device code.
#[test]
fn kernel_in_a_library() {
    let bench = Workbench::new();
    library(&bench, "saxpy", &[CPU, NVIDIA]);
    main_that_launches(&bench);
    links_and_runs(&bench, &["main.o", "-L.", "-lsaxpy"]);
}

/// clang's own wrapper links the device code twice, and fails.
#[test]
fn library_named_twice() {
    let bench = Workbench::new();
    library(&bench, "saxpy", &[CPU, NVIDIA]);
    main_that_launches(&bench);
    links_and_runs(
        &bench,
        &["main.o", "-L.", "-lsaxpy", "libsaxpy.a", "-lsaxpy"],
    );
}

/// A member that the program does not need may clash with the others.
#[test]
fn unneeded_member_is_left_out() {
    let bench = Workbench::new();
    let packed = pack(
        &bench,
        &[CPU.image(&bitcode(&bench, "saxpy", CPU))],
        "images.bin",
    );
    let needed = embed(&bench, &packed, &["-Dmain=launch"], "needed.o");
    let unneeded = embed(&bench, &packed, &["-Dmain=another"], "unneeded.o");
    archive(&bench, "both", &[&unneeded, &needed]);
    main_that_launches(&bench);
    links_and_runs(&bench, &["main.o", "-L.", "-lboth"]);
}

/// What a source file needs shows only after it is compiled, and offlink does
/// not compile. A kernel must not get lost for that.
#[test]
fn source_file_on_the_line() {
    let bench = Workbench::new();
    library(&bench, "saxpy", &[CPU, NVIDIA]);
    main_that_launches(&bench);
    let stderr = bench
        .offlink()
        .args(["cc", "main.c", "-L.", "-lsaxpy", RUNTIME, "-o", "program"])
        .fails_with(1);
    assert!(stderr.contains("offlink: error: "), "{stderr}");
    assert!(
        !bench.path("program").exists(),
        "the program was left behind"
    );
}

/// Another object has the function that the library's member has.
#[test]
fn member_that_an_object_stands_in_for_is_left_out() {
    let bench = Workbench::new();
    library(&bench, "saxpy", &[CPU, NVIDIA]);
    main_that_launches(&bench);
    object(&bench, "own", "int launch(void) { return 0; }\n");
    bench
        .offlink()
        .args(["cc", "main.o", "own.o", "-L.", "-lsaxpy", "-o", "program"])
        .succeeds_silently();
}

/// Nothing of the library is needed: the program is an ordinary one.
#[test]
fn unneeded_library() {
    let bench = Workbench::new();
    library(&bench, "saxpy", &[CPU, NVIDIA]);
    object(&bench, "plain", "int main(void) { return 0; }\n");
    bench
        .offlink()
        .args(["cc", "plain.o", "-L.", "-lsaxpy", "-o", "program"])
        .succeeds_silently();
    let listing = bench.offlink().args(["inspect", "program"]).succeeds();
    assert_eq!(listing, "program: 0 images, 0 entries\n");
}
