//! All the ways in which a line names a library: its device code is found
//! wherever the host linker finds the library.

use std::path::Path;

use crate::archives::{archive, library, links_and_runs, main_that_launches, object};
use crate::device_code::{AMD, CPU, LAUNCHED, RUNTIME, bitcode, embed, pack};
use crate::workbench::{Run, Workbench};

fn bench_with_library() -> Workbench {
    let bench = Workbench::new();
    library(&bench, "saxpy", &[CPU]);
    main_that_launches(&bench);
    bench
}

/// clang's own wrapper takes the shared library, in which there is no device
/// code, and the linker the static one.
#[test]
fn static_library_beside_a_shared_one() {
    let bench = bench_with_library();
    object(&bench, "empty", "int launch(void) { return 1; }\n");
    bench
        .command("cc")
        .args(["-shared", "empty.o", "-o", "libsaxpy.so"])
        .succeeds();
    links_and_runs(
        &bench,
        &["main.o", "-L.", "-Wl,-Bstatic", "-lsaxpy", "-Wl,-Bdynamic"],
    );
    links_and_runs(&bench, &["main.o", "-L.", "-l:libsaxpy.a"]);
}

/// clang's own wrapper reads `--library saxpy` as a `-L`.
#[test]
fn long_and_short_options() {
    let bench = bench_with_library();
    links_and_runs(&bench, &["main.o", "-L", ".", "-l", "saxpy"]);
    links_and_runs(
        &bench,
        &["main.o", "-Wl,--library-path,.", "-Wl,--library,saxpy"],
    );
    links_and_runs(&bench, &["main.o", "-Xlinker", "--library=saxpy", "-L."]);
}

#[test]
fn groups_and_whole_archives() {
    let bench = bench_with_library();
    let (start, end) = ("-Wl,--start-group", "-Wl,--end-group");
    links_and_runs(&bench, &[start, "libsaxpy.a", "main.o", end]);
    let whole = [
        "-Wl,--whole-archive",
        "libsaxpy.a",
        "-Wl,--no-whole-archive",
    ];
    links_and_runs(&bench, &[&["main.o"], &whole[..]].concat());
}

#[test]
fn thin_archive() {
    let bench = bench_with_library();
    std::fs::remove_file(bench.path("libsaxpy.a")).unwrap();
    bench
        .command("llvm-ar-22")
        .args(["rc", "--thin", "libsaxpy.a", "saxpy.o"])
        .succeeds();
    links_and_runs(&bench, &["main.o", "libsaxpy.a"]);
}

/// Archives in response files, also in files that others name.
#[test]
fn response_files() {
    let bench = bench_with_library();
    bench.write("inner.rsp", "'-L.' -lsaxpy\n");
    bench.write("outer.rsp", "main.o @inner.rsp\n");
    links_and_runs(&bench, &["@outer.rsp"]);
}

/// A text file that stands for the library.
#[test]
fn linker_script() {
    let bench = bench_with_library();
    std::fs::rename(bench.path("libsaxpy.a"), bench.path("libreal.a")).unwrap();
    bench.write("libsaxpy.so", "/* text */ INPUT ( -lreal )\n");
    links_and_runs(&bench, &["main.o", "-L.", "-lsaxpy"]);
    bench.write("libsaxpy.so", "GROUP(AS_NEEDED(libreal.a))\n");
    links_and_runs(&bench, &["main.o", "-L.", "-lsaxpy"]);
}

/// The program's main is in a library, and with it all that it needs.
#[test]
fn main_in_a_library() {
    let bench = bench_with_library();
    archive(&bench, "main", &[Path::new("main.o")]);
    links_and_runs(&bench, &["libmain.a", "libsaxpy.a"]);
}

/// The linker's own directories, here below a sysroot. clang's own wrapper
/// doesn't look there, and stops.
#[test]
fn directories_that_no_option_names() {
    let bench = bench_with_library();
    object(
        &bench,
        "user",
        "int launch(void); int (*user)(void) = launch;\n",
    );
    bench.folder("root/usr/lib");
    bench.folder("root/opt");
    for (place, option) in [("root/usr/lib", "-L=/none"), ("root/opt", "-L=/opt")] {
        let library = bench.path(place).join("libsaxpy.a");
        std::fs::copy(bench.path("libsaxpy.a"), &library).unwrap();
        bench
            .offlink()
            .args(["ld", "-shared", "--sysroot=root", option, "user.o"])
            .arg("--offlink-omptarget=none")
            .args(["-lsaxpy", "-o", "out.so"])
            .succeeds_silently();
        let listing = bench.offlink().args(["inspect", "out.so"]).succeeds();
        assert!(listing.starts_with("out.so: 1 image"), "{listing}");
        std::fs::remove_file(library).unwrap();
    }
}

/// An archive without an index is refused by GNU ld; lld looks into its
/// members.
#[test]
fn archive_without_an_index() {
    let bench = bench_with_library();
    std::fs::remove_file(bench.path("libsaxpy.a")).unwrap();
    bench
        .command("llvm-ar-22")
        .args(["rcS", "libsaxpy.a", "saxpy.o"])
        .succeeds();
    bench.link("ld.lld", bench.find("ld.lld-22"));
    bench
        .offlink()
        .args(["cc", "-B.", "-fuse-ld=lld", "main.o", "libsaxpy.a"])
        .args([RUNTIME, "-o", "program"])
        .succeeds_silently();
    assert_eq!(bench.program(bench.path("program")).succeeds(), LAUNCHED);
}

/// Code for a GPU in any mode and code for one mode of it are two images.
/// clang's own wrapper linked the first into the second as well.
#[test]
fn a_mode_of_a_gpu_is_a_target_of_its_own() {
    let bench = Workbench::new();
    let code = bitcode(&bench, "saxpy", AMD);
    let any = pack(&bench, &[AMD.image(&code)], "any.bin");
    let xnack = AMD.image(&code).replace("gfx90a,", "gfx90a:xnack+,");
    let xnack = pack(&bench, &[xnack], "xnack.bin");
    embed(&bench, &any, &[], "any.o");
    embed(&bench, &xnack, &["-Dmain=another"], "xnack.o");
    bench
        .offlink()
        .args(["cc", "any.o", "xnack.o", RUNTIME, "-o", "program"])
        .succeeds_silently();
    let listing = bench.offlink().args(["inspect", "program"]).succeeds();
    assert!(listing.starts_with("program: 2 images"), "{listing}");
    assert!(listing.contains("gfx90a:xnack+"), "{listing}");
}
