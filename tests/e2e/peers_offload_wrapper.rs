//! offlink as llvm-offload-wrapper. The peer writes bitcode that clang then
//! compiles; offlink writes the object.

use crate::peers::Pair;
use crate::workbench::Run;

/// The sections of an object that hold data, and the symbols that it needs.
fn shape(pair: &Pair, object: &str) -> (Vec<String>, Vec<String>) {
    let list = |program: &str, arguments: &[&str]| {
        pair.bench
            .command(program)
            .args(arguments)
            .arg(pair.bench.path(object))
            .succeeds()
    };
    let wanted = [
        ".llvm.offloading",
        ".nv_fatbin",
        ".nvFatBinSegment",
        ".hip_fatbin",
        ".hipFatBinSegment",
        "llvm_offload_entries",
    ];
    let headers = list("llvm-readelf-22", &["-SW"]);
    let sections = wanted
        .iter()
        .filter(|name| headers.contains(&format!(" {name} ")))
        .map(|name| (*name).to_owned())
        .collect();
    let symbols = list("llvm-nm-22", &["-uj"]);
    let mut symbols: Vec<String> = symbols.lines().map(str::to_owned).collect();
    symbols.sort();
    (sections, symbols)
}

fn same_object(kind: &str, file: &str, contents: &[u8]) {
    let pair = Pair::new("llvm-offload-wrapper-22");
    pair.write(file, contents);
    let line = format!("--kind={kind} {file} -o wrapped");
    pair.peer(&line).succeeds();
    pair.bench
        .command("clang-22")
        .args(["-c", "-fPIC", "-x", "ir", "peer/wrapped", "-o", "peer.o"])
        .succeeds();
    pair.offlink(&line).succeeds_silently();
    let (sections, symbols) = shape(&pair, "peer.o");
    let (own_sections, own_symbols) = shape(&pair, "own/wrapped");
    assert_eq!(sections, own_sections);
    assert!(sections.len() >= 2, "{sections:?}");
    let missing: Vec<_> = symbols
        .iter()
        .filter(|symbol| !own_symbols.contains(symbol))
        .collect();
    assert!(missing.is_empty(), "{missing:?} of {own_symbols:?}");
}

#[test]
fn cuda_and_hip() {
    same_object("cuda", "images.fatbin", b"any bytes");
    same_object("hip", "images.hipfb", b"any bytes");
}

#[test]
fn openmp() {
    let packer = Pair::new("llvm-offload-binary-22");
    packer.write("a.o", "A");
    packer.same("-o out --image=file=a.o,triple=nvptx64-nvidia-cuda,arch=sm_70,kind=openmp");
    let packed = std::fs::read(packer.own("out")).expect("an offload binary");
    same_object("openmp", "out", &packed);
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
