//! offlink as llvm-offload-wrapper. Both write bitcode that clang compiles; the
//! objects register the same with stand-ins for the runtimes.

use std::path::PathBuf;

use crate::peers::Pair;
use crate::workbench::{Run, repository};

fn source(name: &str) -> PathBuf {
    repository().join("crates/bundle/tests/data").join(name)
}

/// Compiles `wrapped` of a folder for a host.
fn compile(pair: &Pair, folder: &str, host: &str) -> PathBuf {
    let object = pair.bench.path(format!("{folder}-{host}.o"));
    pair.bench
        .command("clang-22")
        .arg(format!("--target={host}"))
        .args(["-Wno-override-module", "-c", "-O1", "-x", "ir", "-o"])
        .arg(&object)
        .arg(format!("{folder}/wrapped"))
        .succeeds_silently();
    object
}

/// What a program of `object` and the stand-in `runtime` prints, without addresses.
fn prints(pair: &Pair, object: &PathBuf, host: &str, runtime: &str, image: &str) -> String {
    let gcc = format!("{host}-gcc");
    pair.bench
        .command(&gcc)
        .args(["-w", "-fPIC", "-c", "-o", "entries.o"])
        .arg(pair.bench.write("entries.c", ENTRIES))
        .succeeds();
    pair.bench
        .command(&gcc)
        .args(["-w", "-o", "program", "entries.o"])
        .args([object, &source(runtime)])
        .succeeds();
    let mut program = match host.split('-').next() {
        Some("x86_64") => pair.bench.command(pair.bench.path("program")),
        processor => {
            let mut qemu = pair
                .bench
                .command(format!("qemu-{}", processor.unwrap_or_default()));
            qemu.args(["-L", &format!("/usr/{host}"), "program"]);
            qemu
        }
    };
    for variable in ["CUDA_FATBIN", "HIP_FATBIN"] {
        program.env(variable, image);
    }
    let printed = program.arg(image).succeeds();
    // LLVM leaves the alignment of containers open.
    let is_kept = |word: &&str| !word.contains("=+0x") && !word.starts_with("aligned=");
    let words = |line: &str| {
        line.split(' ')
            .filter(is_kept)
            .collect::<Vec<_>>()
            .join(" ")
    };
    printed.lines().map(|line| words(line) + "\n").collect()
}

/// Kernels and variables of all three languages.
const ENTRIES: &str = "
struct entry { unsigned long reserved; unsigned short version, kind; unsigned flags;
               void *address; const char *name; unsigned long size, data; void *auxiliary; };
static char object[8];
__attribute__((section(\"llvm_offload_entries\"), used, aligned(8))) static struct entry entries[] = {
  {0, 1, 1, 0, object, \"omp-kernel\", 0, 0, 0}, {0, 1, 2, 0, object, \"cuda-kernel\", 0, 0, 0},
  {0, 1, 4, 0, object, \"hip-kernel\", 0, 0, 0}, {0, 1, 1, 16, object, \"omp-variable\", 8, 0, 0},
  {0, 1, 2, 24, object, \"cuda-variable\", 8, 0, 0}, {0, 1, 4, 8, object, \"hip-variable\", 8, 0, 0},
  {0, 1, 4, 1, object, \"managed\", 8, 8, object}, {0, 1, 4, 35, object, \"texture\", 8, 2, 0}};
";

/// Both make modules of `file` that register the image `image` as `expected` says.
fn registers_the_same(pair: &Pair, kind: &str, runtime: &str, image: &str, expected: &[&str]) {
    let image = pair.own(image).display().to_string();
    for (host, triple) in [
        ("x86_64-linux-gnu", ""),
        ("aarch64-linux-gnu", "--triple=aarch64-linux-gnu"),
        ("riscv64-linux-gnu", "--triple=riscv64-linux-gnu"),
    ] {
        let line = format!("--kind={kind} file -o wrapped {triple}");
        pair.peer(&line).succeeds();
        pair.offlink(&line).succeeds_silently();
        let bitcode = std::fs::read(pair.own("wrapped")).expect("a module");
        assert!(bitcode.starts_with(b"BC\xc0\xde"), "{host}");
        let [theirs, own] = ["peer", "own"].map(|folder| {
            let object = compile(pair, folder, host);
            prints(pair, &object, host, runtime, &image)
        });
        assert_eq!(theirs, own, "{host}");
        for expected in expected {
            assert!(own.contains(expected), "{host}: {own}");
        }
    }
}

#[test]
fn cuda_and_hip() {
    for kind in ["cuda", "hip"] {
        let pair = Pair::new("llvm-offload-wrapper-22");
        pair.write("file", "any \"bytes\\\0\u{1}");
        let expected = [
            format!("{kind}RegisterFatBinary"),
            " as expected\n".to_owned(),
            format!("name={kind}-kernel "),
            format!("name={kind}-variable "),
            format!("main\n{kind}UnregisterFatBinary"),
        ];
        let expected = expected.each_ref().map(String::as_str);
        registers_the_same(&pair, kind, "registration/runtime.c", "file", &expected);
    }
}

fn offload_binary(image: &str) -> Vec<u8> {
    let packer = Pair::new("llvm-offload-binary-22");
    packer.write("a.o", image);
    packer.same("-o out --image=file=a.o,triple=nvptx64-nvidia-cuda,arch=sm_70,kind=openmp");
    std::fs::read(packer.own("out")).expect("an offload binary")
}

#[test]
fn openmp() {
    let pair = Pair::new("llvm-offload-wrapper-22");
    pair.write("file", offload_binary("the image"));
    pair.write("image", "the image");
    let expected = [
        "images 1",
        "omp-kernel",
        "omp-variable",
        "main\nend\nunregister",
    ];
    registers_the_same(&pair, "openmp", "runtime.c", "image", &expected);
}

/// In a program for Windows the ends of the entries are entries themselves, as in
/// offlink's own objects, or linkers might drop them.
#[test]
fn for_windows() {
    let pair = Pair::new("llvm-offload-wrapper-22");
    pair.write("file", offload_binary("the image"));
    for kind in ["cuda", "hip", "openmp"] {
        let host = "x86_64-pc-windows-msvc";
        let line = format!("--kind={kind} --triple={host} file -o wrapped");
        pair.peer(&line).succeeds();
        pair.offlink(&line).succeeds_silently();
        let undefined = ["peer", "own"].map(|folder| {
            let object = compile(&pair, folder, host);
            let names = pair
                .bench
                .command("llvm-nm-22")
                .arg("-uj")
                .arg(object)
                .succeeds();
            let mut names: Vec<String> = names.lines().map(str::to_owned).collect();
            names.retain(|name| !name.contains("InitModule"));
            names.sort();
            names
        });
        assert!(undefined[0].len() >= 3, "{undefined:?}");
        let missing: Vec<_> = undefined[0]
            .iter()
            .filter(|name| !undefined[1].contains(name) && !name.contains("RegisterFatBinaryEnd"))
            .filter(|name| !name.contains("Surface") && !name.contains("Texture"))
            .collect();
        assert!(missing.is_empty(), "{missing:?}");
        let dump = pair
            .bench
            .command("llvm-objdump-22")
            .arg("-h")
            .arg(pair.bench.path(format!("own-{host}.o")))
            .succeeds();
        for end in ["llvm_offload_entries$OA", "llvm_offload_entries$OZ"] {
            let row = dump
                .lines()
                .find(|line| line.contains(end))
                .expect("an end");
            assert!(row.contains(" 00000038 "), "{row}");
        }
    }
}

#[test]
fn prints_help_and_version_like_the_peer() {
    let pair = Pair::new("llvm-offload-wrapper-22");
    for line in ["--help", "--help-hidden", "--help-list", "--version"] {
        let [_, own] = pair.same_code(&[], line);
        assert!(own.contains("offlink"), "{line}: {own}");
    }
}

#[test]
fn fails_as_the_peer_does() {
    let pair = Pair::new("llvm-offload-wrapper-22");
    pair.write("a", "A");
    for (line, message) in [
        ("", "--kind"),
        ("--kind=openmp -o x", "file to wrap"),
        ("--kind=sycl -o x a", "'sycl'"),
        ("--kind=hip -o x a a", "single"),
        ("--kind=cuda a", "-o FILE"),
        ("--kind=cuda nope -o x", "nope"),
        ("-o x a", "--kind"),
        ("--what", "--what"),
    ] {
        pair.offlink_fails(line, message);
        if line != "--kind=cuda a" {
            pair.both_fail(line, message);
        }
    }
}

/// The peer wraps whatever it is given, and the program fails when it starts.
#[test]
fn what_openmp_can_not_load_is_refused() {
    let pair = Pair::new("llvm-offload-wrapper-22");
    pair.write("a.o", "A");
    pair.offlink_fails("--kind=openmp a.o -o x", "can't be wrapped");
    pair.offlink_fails("--kind=cuda a.o -o x --triple=avr-unknown-unknown", "avr");
}
