//! Relocatable links: device code is linked once, and the object registers it
//! whatever links that object then.

use std::path::Path;

use crate::archives::{archive, object};
use crate::device_code::{CPU, LAUNCHED, NVIDIA, RUNTIME, bitcode, embed, pack};
use crate::workbench::{Run, Workbench};

/// `<name>.o`, which a relocatable link made of an object that defines `<name>`
/// and holds saxpy.
fn relocatable(bench: &Workbench, name: &str, arguments: &[&str]) {
    let images = [CPU, NVIDIA].map(|target| target.image(&bitcode(bench, "saxpy", target)));
    let packed = pack(bench, &images, "saxpy.bin");
    embed(bench, &packed, &[&format!("-Dmain={name}")], "part.o");
    bench
        .offlink()
        .args(arguments)
        .args(["-r", "part.o", "-o", &format!("{name}.o")])
        .succeeds_silently();
}

fn main_that_calls_both(bench: &Workbench) {
    object(
        bench,
        "main",
        "int first(void), second(void); int main(void) { return first() || second(); }\n",
    );
}

fn launches_twice(bench: &Workbench) {
    let printed = bench.program(bench.path("program")).succeeds();
    assert_eq!(printed, LAUNCHED.repeat(2));
}

/// Each registers its own entries; the final link is by any linker.
#[test]
fn two_in_one_program_without_offlink() {
    let bench = Workbench::new();
    main_that_calls_both(&bench);
    bench.link("ld.lld", bench.find("ld.lld-22"));
    relocatable(&bench, "first", &["cc"]);
    relocatable(&bench, "second", &["ld", "-m", "elf_x86_64"]);
    for linker in [&["-B.", "-fuse-ld=bfd"][..], &["-B.", "-fuse-ld=lld"]] {
        bench
            .command("cc")
            .args(linker)
            .args([
                "-Wl,--gc-sections",
                "main.o",
                "first.o",
                "second.o",
                RUNTIME,
            ])
            .args(["-o", "program"])
            .succeeds();
        launches_twice(&bench);
        let listing = bench.offlink().args(["inspect", "program"]).succeeds();
        assert!(listing.starts_with("program: 4 images"), "{listing}");
    }
}

#[test]
fn made_by_lld() {
    let bench = Workbench::new();
    main_that_calls_both(&bench);
    let lld = format!(
        "--offlink-host-linker={}",
        bench.find("ld.lld-22").display()
    );
    relocatable(&bench, "first", &["ld", &lld]);
    relocatable(
        &bench,
        "second",
        &["ld", &lld, "--gc-sections", "-u", "second"],
    );
    bench
        .command("cc")
        .args(["main.o", "first.o", "second.o", RUNTIME, "-o", "program"])
        .succeeds();
    launches_twice(&bench);
}

/// Its device code is not linked again, also when it is in a library.
#[test]
fn linked_again_through_offlink() {
    let bench = Workbench::new();
    main_that_calls_both(&bench);
    relocatable(&bench, "first", &["cc"]);
    archive(&bench, "first", &[Path::new("first.o")]);
    embed(
        &bench,
        &bench.path("saxpy.bin"),
        &["-Dmain=second"],
        "second.o",
    );
    bench
        .offlink()
        .args(["cc", "main.o", "second.o", "libfirst.a", RUNTIME])
        .args(["-o", "program"])
        .succeeds_silently();
    launches_twice(&bench);

    // Once more relocatable, with all that the first object had.
    bench
        .offlink()
        .args(["cc", "-r", "first.o", "second.o", "-o", "both.o"])
        .succeeds_silently();
    bench
        .command("cc")
        .args(["main.o", "both.o", RUNTIME, "-o", "program"])
        .succeeds();
    launches_twice(&bench);
}

/// The sections of an object, for all kinds of images.
#[test]
fn no_device_code_is_left_and_entries_are_renamed() {
    for kind in ["openmp", "cuda", "hip"] {
        let bench = Workbench::new();
        let code = bitcode(&bench, "saxpy", NVIDIA);
        let image = NVIDIA
            .image(&code)
            .replace("kind=openmp", &format!("kind={kind}"));
        let packed = pack(&bench, &[image], "saxpy.bin");
        embed(&bench, &packed, &[], "part.o");
        let kind_number = match kind {
            "cuda" => 2,
            "hip" => 4,
            _ => 1,
        };
        relabel(&bench, "part.o", kind_number);
        bench
            .offlink()
            .args(["ld", "-r", "part.o", "-o", "out.o"])
            .succeeds_silently();
        let listing = bench
            .command("llvm-readelf-22")
            .args(["-SsW", "out.o"])
            .succeeds();
        let words: Vec<&str> = listing.split_whitespace().collect();
        for gone in [
            ".llvm.offloading",
            "llvm_offload_entries",
            "__start_llvm_offload_entries",
        ] {
            assert!(!words.contains(&gone), "{kind}: {gone}\n{listing}");
        }
        let renamed = words
            .iter()
            .find(|word| word.starts_with("llvm_offload_entries_"))
            .unwrap_or_else(|| panic!("{kind}: {listing}"));
        assert!(
            words.contains(&&*format!("__stop_{renamed}")),
            "{kind}: {listing}"
        );
    }
}

/// Writes the offload kind into the one entry of an object.
fn relabel(bench: &Workbench, name: &str, kind: u8) {
    let path = bench.path(name);
    let mut bytes = std::fs::read(&path).unwrap();
    // Version 1, kind 1, no flags: where the entry has them.
    let entry = [0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 1, 0, 0, 0, 0, 0];
    let place = bytes
        .windows(16)
        .position(|window| window == entry)
        .unwrap();
    bytes[place + 10] = kind;
    std::fs::write(path, bytes).unwrap();
}

/// The dry run prints the steps of a relocatable link too.
#[test]
fn as_the_dry_run_prints_it() {
    let bench = Workbench::new();
    relocatable(&bench, "whole", &["cc"]);
    let commands = bench
        .offlink()
        .args(["cc", "--offlink-dry-run", "-r", "part.o", "-o", "steps.o"])
        .succeeds_silently();
    bench
        .command("sh")
        .env("PATH", bench.path_with_offlink())
        .env("CUDA_HOME", crate::workbench::cuda())
        .args(["-ec", &commands])
        .succeeds_silently();
    let read = |name: &str| std::fs::read(bench.path(name)).unwrap();
    assert!(read("whole.o") == read("steps.o"), "the outputs differ");
}
