//! Programs for macOS: they can't be run here, so what is registered is read from
//! the programs.

use std::process::Command;

use crate::macos_program::Program;
use crate::macos_units::{CUDA, HIP, OPENMP, bench, compile, start, unit, unit_source};
use crate::workbench::{Run, Workbench, offlink, repository};

const ARCHS: [&str; 2] = ["arm64", "x86_64"];

/// From 12 on, pointers are links of chains and constructors are offsets.
const SYSTEMS: [&str; 2] = ["11.0", "13.0"];

/// A link as one of ld64.lld's lines.
fn link(bench: &Workbench, arch: &str, system: &str) -> Command {
    let mut link = bench.offlink();
    link.args(["ld", "--offlink-host-linker=ld64.lld-22"])
        .args(["--offlink-cc=clang-22", "-arch", arch])
        .args(["-platform_version", "macos", system, system])
        .args(["-L.", "-lSystem", "-o", "program"]);
    link
}

/// The kernels of the entries, and those of the images, that `offlink inspect`
/// finds in a file.
fn kernels(bench: &Workbench, file: &str) -> (Vec<String>, Vec<String>) {
    let printed = bench.offlink().arg("inspect").arg(file).succeeds();
    let mut entries = Vec::new();
    let mut images = Vec::new();
    for line in printed.lines().skip(1) {
        match line.trim().strip_prefix("entry ") {
            Some(entry) => entries.extend(entry.split_whitespace().next().map(str::to_owned)),
            None => {
                let kernels = line.split_once(" bytes").expect("an image").1;
                images.extend(kernels.split_whitespace().map(str::to_owned));
            }
        }
    }
    entries.sort();
    images.sort();
    (entries, images)
}

/// The program in `program` has these kernels, and entries for them.
fn has_kernels(bench: &Workbench, expected: &[&str]) {
    let (entries, images) = kernels(bench, "program");
    assert_eq!(entries, expected);
    assert_eq!(images, expected);
    std::fs::remove_file(bench.path("program")).expect("a program");
}

/// The descriptor is found by its count and its pointers to the entries.
#[test]
fn openmp() {
    let bench = bench();
    for arch in ARCHS {
        let objects = [
            start(&bench, arch, &["first", "second"]),
            unit(&bench, arch, OPENMP, "first"),
            unit(&bench, arch, OPENMP, "second"),
        ];
        for system in SYSTEMS {
            for strip in [&[][..], &["-dead_strip"]] {
                link(&bench, arch, system)
                    .args(strip)
                    .args(&objects)
                    .succeeds_silently();
                let program = Program::read(&bench.path("program"));
                let (first, entries) = program.entries();
                assert_eq!(entries.len(), 2 * 56);
                let end = first + 2 * 56;
                for (entry, name) in [(first, "first"), (first + 56, "second")] {
                    assert_eq!(program.bytes(entry + 8, 4), [1, 0, 1, 0]);
                    let text = program.pointer(entry + 24);
                    assert_eq!(program.bytes(text, name.len() as u64), name.as_bytes());
                }
                let (start, data) = program
                    .section("__DATA_CONST", "__const")
                    .or_else(|| program.section("__DATA", "__const"))
                    .expect("constants");
                let descriptor = (start..start + data.len() as u64 - 31)
                    .step_by(8)
                    .find(|at| program.word(*at) == 1 && program.word(at + 8) != 0)
                    .expect("a descriptor of one image");
                let ends = |at: u64| [program.pointer(at), program.pointer(at + 8)];
                assert_eq!(ends(descriptor + 16), [first, end], "{arch} {system}");
                let row = program.pointer(descriptor + 8);
                assert_eq!(ends(row + 16), [first, end]);
                let [image, image_end] = ends(row);
                let image = program.bytes(image, image_end - image);
                assert!(image.starts_with(b"\x7fELF"));
                program.has_one_constructor();
                has_kernels(&bench, &["first", "second"]);
            }
        }
    }
}

fn registers_a_container(
    kind: (&str, u16),
    wrapper: (&str, u32),
    container: (&str, &[u8]),
    alignment: u64,
) {
    let bench = bench();
    for arch in ARCHS {
        let objects = [
            start(&bench, arch, &["first", "second"]),
            unit(&bench, arch, kind, "first"),
            unit(&bench, arch, kind, "second"),
        ];
        for system in SYSTEMS {
            let mut command = link(&bench, arch, system);
            command.arg("-dead_strip").args(&objects);
            command.succeeds_silently();
            let program = Program::read(&bench.path("program"));
            assert_eq!(program.entries().1.len(), 2 * 56);
            let (segment, contents) = program.section(wrapper.0, "__fatbin").expect("a wrapper");
            let header = [wrapper.1.to_le_bytes(), 1_u32.to_le_bytes()].concat();
            assert_eq!(contents[..8], header);
            let (blob, bytes) = program
                .section(wrapper.0, container.0)
                .expect("a container");
            assert_eq!(program.pointer(segment + 8), blob);
            assert_eq!(blob % alignment, 0);
            assert!(bytes.starts_with(container.1));
            program.has_one_constructor();
            has_kernels(&bench, &["first", "second"]);
        }
    }
}

#[test]
fn hip() {
    let container = ("__hip_fatbin", &b"__CLANG_OFFLOAD_BUNDLE__"[..]);
    registers_a_container(HIP, ("__HIP", 0x4849_5046), container, 4096);
}

#[test]
fn cuda_programs() {
    let container = ("__nv_fatbin", &0xba55_ed50_u32.to_le_bytes()[..]);
    registers_a_container(CUDA, ("__NV_CUDA", 0x4662_43b1), container, 16);
}

/// The linker keeps one of the entries of a name.
#[test]
fn entries_of_one_name() {
    let bench = bench();
    let again = unit_source(&bench, OPENMP, "first").replace("use_first", "use_again");
    let objects = [
        start(&bench, "arm64", &["first", "again"]),
        unit(&bench, "arm64", OPENMP, "first"),
        // Its device code is in the other.
        compile(
            &bench,
            "arm64",
            "again",
            again.split_once(";\n").expect("two statements").1,
            &[],
        ),
    ];
    link(&bench, "arm64", "13.0")
        .args(&objects)
        .succeeds_silently();
    has_kernels(&bench, &["first"]);
}

#[test]
fn archives() {
    let bench = bench();
    for arch in ARCHS {
        let members = ["first", "second"].map(|kernel| unit(&bench, arch, OPENMP, kernel));
        let mut archiver = bench.command("llvm-ar-22");
        archiver.args(["--format=darwin", "rcs", "libunits.a"]);
        archiver.args(&members).succeeds();
        let archive = std::fs::read(bench.path("libunits.a")).expect("an archive");
        let one = start(&bench, arch, &["second"]);
        for form in [&["-lunits"][..], &["libunits.a"]] {
            let mut command = link(&bench, arch, "13.0");
            command.arg(&one).args(form).succeeds_silently();
            has_kernels(&bench, &["second"]);
        }
        for form in [
            &["-force_load", "libunits.a"][..],
            &["-all_load", "-lunits"],
        ] {
            let mut command = link(&bench, arch, "13.0");
            command.arg(&one).args(form).succeeds_silently();
            has_kernels(&bench, &["first", "second"]);
        }
        let mut archiver = bench.command("llvm-ar-22");
        archiver.args(["--format=darwin", "rcs", "libmain.a"]);
        archiver.arg(&one).succeeds();
        let mut command = link(&bench, arch, "13.0");
        command.args(["libmain.a", "-lunits"]).succeeds_silently();
        has_kernels(&bench, &["second"]);
        std::fs::remove_file(bench.path("libmain.a")).expect("an archive");
        assert_eq!(
            std::fs::read(bench.path("libunits.a")).expect("an archive"),
            archive
        );
        std::fs::remove_file(bench.path("libunits.a")).expect("an archive");
    }
}

/// An archive below the sysroot, found before one of the same name elsewhere.
#[test]
fn archives_below_the_sysroot() {
    let bench = bench();
    bench.folder("sdk/usr/lib");
    std::fs::rename(
        bench.path("libSystem.tbd"),
        bench.path("sdk/usr/lib/libSystem.tbd"),
    )
    .expect("a system");
    let unit = unit(&bench, "arm64", OPENMP, "first");
    let mut archiver = bench.command("llvm-ar-22");
    archiver.args(["--format=darwin", "rcs", "sdk/usr/lib/libunits.a"]);
    archiver.arg(unit).succeeds();
    let mut command = link(&bench, "arm64", "13.0");
    command.args(["-syslibroot", "sdk", "-lunits"]);
    command.arg(start(&bench, "arm64", &["first"]));
    command.succeeds_silently();
    has_kernels(&bench, &["first"]);
}

#[test]
fn file_lists() {
    let bench = bench();
    let objects = [
        start(&bench, "arm64", &["first"]),
        unit(&bench, "arm64", OPENMP, "first"),
    ];
    let names = objects.map(|object| object.display().to_string() + "\n");
    bench.write("list", names.concat());
    let mut command = link(&bench, "arm64", "13.0");
    command.args(["-filelist", "list"]).succeeds_silently();
    has_kernels(&bench, &["first"]);
}

/// clang as the host linker, and the copies in the midst of its arguments.
#[test]
fn drivers() {
    let bench = bench();
    let start = start(&bench, "arm64", &["first"]);
    let unit = unit(&bench, "arm64", OPENMP, "first");
    for form in [
        &["first-arm64.o"][..],
        &["-Wl,-force_load,libunit.a"],
        &["-Xlinker", "-force_load", "-Xlinker", "libunit.a"],
        &["-lunit", "-Wl,-dead_strip", "-dynamiclib"],
    ] {
        let mut archiver = bench.command("llvm-ar-22");
        archiver.args(["--format=darwin", "rcs", "libunit.a"]);
        archiver.arg(&unit).succeeds();
        let mut command = bench.offlink();
        command
            .args(["cc", "--offlink-host-linker=clang-22"])
            .args(["--target=arm64-apple-macos11", "-fuse-ld=lld", "-L."])
            .arg(&start)
            .args(form)
            .args(["-o", "program"])
            .succeeds_silently();
        has_kernels(&bench, &["first"]);
    }
}

/// As clang sends it for macOS, with an option of LLVM's for the host: LLVM's
/// wrapper takes that for devices, does not find the system's library (216940),
/// and aborts when it makes the registration code.
#[test]
fn clangs_wrapper() {
    let bench = bench();
    bench.folder("wrapper");
    bench.link("wrapper/clang-linker-wrapper", offlink());
    for arch in ARCHS {
        let mut command = bench.command("clang-22");
        command
            .args(["-B", "wrapper", "--offload-link", "-fuse-ld=lld", "-v"])
            .args([&format!("--target={arch}-apple-macos11"), "-L."])
            .arg(start(&bench, arch, &["first"]))
            .arg(unit(&bench, arch, OPENMP, "first"))
            .args(["-lSystem", "-o", "program"]);
        let said = command.warns();
        let option = "-mllvm -enable-linkonceodr-outlining";
        let host = said.lines().find(|line| line.contains(".entries/"));
        let host = host.unwrap_or_else(|| panic!("no line of the host linker: {said}"));
        assert!(host.contains(option), "{host}");
        has_kernels(&bench, &["first"]);
    }
}

/// Nothing may get lost without a word.
#[test]
fn what_can_not_be_linked_is_refused() {
    let bench = bench();
    let main = start(&bench, "arm64", &["first"]);
    let unit = unit(&bench, "arm64", OPENMP, "first");
    let refused = |arguments: &[&str]| {
        let mut command = link(&bench, "arm64", "13.0");
        let error = command.arg(&main).args(arguments).fails_with(1);
        assert_eq!(error.lines().count(), 1, "{error}");
        assert!(!bench.path("program").exists());
        error
    };

    let source = unit_source(&bench, OPENMP, "first");
    let lost = source.replace("\"first\"", "\"lost\"");
    compile(&bench, "arm64", "lost", &lost, &[]);
    let error = refused(&["lost-arm64.o"]);
    assert!(error.contains("no device image defines openmp kernel 'lost', which 'lost-arm64.o'"));

    compile(&bench, "arm64", "bitcode", &source, &["-flto"]);
    let error = refused(&["bitcode-arm64.o"]);
    assert!(
        error.contains("'bitcode-arm64.o' is bitcode for macOS"),
        "{error}"
    );

    let mut archiver = bench.command("llvm-ar-22");
    archiver.args(["--format=darwin", "rcs", "libunit.a"]);
    archiver.arg(&unit).succeeds();
    let error = refused(&["-hidden-lunit"]);
    assert!(
        error.contains("drop the offload entries of './libunit.a'"),
        "{error}"
    );

    let mut archiver = bench.command("llvm-ar-22");
    archiver.args(["--format=gnu", "--thin", "rcs", "thin.a"]);
    archiver.arg(&unit).succeeds();
    assert!(refused(&["thin.a"]).contains("the thin archive 'thin.a'"));

    let other = self::unit(&bench, "x86_64", OPENMP, "first");
    let mut lipo = bench.command("llvm-lipo-22");
    lipo.arg("-create").args([&unit, &other]);
    lipo.args(["-output", "universal.o"]).succeeds();
    assert!(refused(&["universal.o"]).contains("'universal.o' is a universal file"));

    // clang hands on what the linker opens by itself.
    bench.write("list", format!("{}\n", unit.display()));
    let mut driver = bench.offlink();
    driver.args(["cc", "--offlink-host-linker=clang-22", "-fuse-ld=lld"]);
    driver.args(["--target=arm64-apple-macos11", "-L.", "-Wl,-filelist,list"]);
    let error = driver.arg(&main).fails_with(1);
    assert!(error.contains("no copy can stand in for"), "{error}");

    let asks = "__asm__(\".linker_option \\\"-lunit\\\"\\n\");";
    compile(&bench, "arm64", "asks", asks, &[]);
    let error = refused(&["asks-arm64.o"]);
    assert!(
        error.contains("'asks-arm64.o' asks for './libunit.a'"),
        "{error}"
    );

    let error = refused(&["first-x86_64.o"]);
    assert!(
        error.contains("is an object for x86_64-apple-macosx"),
        "{error}"
    );
    assert!(refused(&["first-arm64.o", "-r"]).contains("relocatable link for macOS"));
    assert!(refused(&["first-arm64.o", "--offlink-dry-run"]).contains("leave out"));
}

/// What single steps make fits with more of its kind into one program.
#[test]
fn two_registration_objects() {
    let bench = bench();
    let bundle = repository().join("crates/bundle/tests/data/hip-plain.hipfb");
    for arch in ARCHS {
        for object in ["one.o", "two.o"] {
            let mut wrap = bench.offlink();
            wrap.args(["wrap", "--cc=clang-22", "-o", object]);
            wrap.arg(format!("--host-triple={arch}-apple-macos11"));
            wrap.arg(&bundle).succeeds_silently();
        }
        let mut link = bench.command("ld64.lld-22");
        link.args(["-arch", arch, "-platform_version", "macos", "13.0", "13.0"]);
        link.args(["-L.", "-lSystem", "-o", "program", "one.o", "two.o"]);
        link.arg(start(&bench, arch, &[])).succeeds_silently();
        let program = Program::read(&bench.path("program"));
        assert_eq!(program.entries().1.len(), 0);
        assert_eq!(program.constructors().len(), 2);
    }
}

/// A link without device code is the host linker's.
#[test]
fn no_device_code() {
    let bench = bench();
    let mut command = link(&bench, "arm64", "13.0");
    command.arg(start(&bench, "arm64", &[])).succeeds_silently();
    assert_eq!(kernels(&bench, "program"), (vec![], vec![]));
}

/// Debug information names objects, of which the linker gets copies.
#[test]
fn the_same_program_each_time() {
    let bench = bench();
    let source = unit_source(&bench, OPENMP, "first");
    let unit = compile(&bench, "arm64", "first", &source, &["-g"]);
    let main = start(&bench, "arm64", &["first"]);
    let programs = [1, 2].map(|_| {
        let mut command = link(&bench, "arm64", "13.0");
        command.args([&main, &unit]).succeeds_silently();
        std::fs::read(bench.path("program")).expect("a program")
    });
    assert!(programs[0] == programs[1], "two links made two programs");
    let symbols = bench
        .command("llvm-nm-22")
        .args(["-a", "program"])
        .succeeds();
    let named = symbols.lines().find(|line| line.contains(" OSO "));
    let named = named.expect("the name of an object");
    assert!(
        named.ends_with(" program.entries/0/first-arm64.o"),
        "{named}"
    );
}
