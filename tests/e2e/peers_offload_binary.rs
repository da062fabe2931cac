//! offlink as llvm-offload-binary and clang-offload-packager.

use crate::peers::Pair;
use crate::workbench::{Run, Workbench};

fn pair(program: &str) -> Pair {
    let pair = Pair::new(program);
    pair.write("a.o", "AAAA");
    pair.write("b.bc", "BBBBB");
    pair.write("c.o", b"BC\xc0\xdexyz");
    pair
}

const PACK: &str = "-o out --image=file=a.o,triple=nvptx64-nvidia-cuda,arch=sm_70,kind=openmp \
                    --image=file=b.bc,triple=t,arch=x,arch=y,kind=hip \
                    --image=file=c.o,triple=t,arch=z,kind=metal";

#[test]
fn packs_the_same_bytes() {
    for program in ["llvm-offload-binary-22", "clang-offload-packager-22"] {
        let pair = pair(program);
        pair.same(PACK);
        pair.same("-o no-triple --image=file=a.o");
        pair.same("--o=bare-key --image file=a.o,feature");
        pair.same("-o first -o last --image=file=a.o");
        pair.same("-o empty --print-all-options");
        pair.write("line", "-o 'by file' --image=file=a.o,triple=t");
        pair.same("@line");
    }
}

#[test]
fn extracts_the_same_files() {
    let pair = pair("llvm-offload-binary-22");
    pair.same(PACK);
    pair.same("out");
    pair.same("out --image=triple=t");
    pair.same("out --image=file=one,arch=sm_70 --image=file=other,triple=t,arch=x,y");
    pair.same("out --image=kind=openmp,file=by-kind");
    pair.same("out --image=file=none,arch=sm_90");
    pair.same("out --image=file=last-of-two,triple=t");
    pair.same("out --archive --image=file=two.a,kind=openmp");
    pair.same("out --archive --image=file=none.a,arch=sm_90");
    pair.same("a.o --image=file=not-there,triple=t");
}

#[test]
fn extracts_from_objects() {
    let pair = pair("llvm-offload-binary-22");
    pair.same(PACK);
    pair.write("host.c", "int main(void) { return 0; }");
    pair.bench
        .command("clang-22")
        .args(["-c", "-Xclang", "-fembed-offload-object=own/out"])
        .args(["own/host.c", "-o", "host.o"])
        .succeeds();
    pair.copy(pair.bench.path("host.o"), "host.o");
    pair.same("host.o --image=file=embedded,arch=sm_70");
    assert!(pair.own("embedded").exists());
}

/// The members have a symbol index, as linkers want it.
#[test]
fn archives_of_objects_have_an_index() {
    let pair = Pair::new("llvm-offload-binary-22");
    for name in ["f", "g"] {
        pair.write(
            &format!("{name}.c"),
            format!("int {name}(void) {{ return 1; }}"),
        );
        pair.bench
            .command("clang-22")
            .args(["-c", &format!("own/{name}.c"), "-o", "out.o"])
            .succeeds();
        pair.copy(pair.bench.path("out.o"), &format!("{name}.o"));
    }
    pair.same("-o out --image=file=f.o,triple=t,kind=hip --image=file=g.o,triple=t,kind=hip");
    pair.same("out --archive --image=file=lib.a,triple=t");
}

#[test]
fn fails_as_the_peer_does() {
    let pair = pair("llvm-offload-binary-22");
    pair.same(PACK);
    for (line, message) in [
        ("-o x --image=triple=t", "lacks file="),
        ("-o x --image=file=nope,triple=t", "nope"),
        ("out -o x --image=file=y", "exclude each other"),
        ("out out --image=file=y", "only one file"),
        ("nope --image=file=y", "nope"),
        ("out --archive --image=triple=t", "lacks file="),
        ("out --foo", "--foo"),
        ("--image", "--image needs a value"),
        ("--archive=maybe -o g", "'maybe'"),
    ] {
        pair.both_fail(line, message);
    }
}

#[test]
fn prints_help_and_version_like_the_peer() {
    let pair = pair("llvm-offload-binary-22");
    for line in ["", "--help", "--help-hidden", "--help-list", "--version"] {
        let [_, own] = pair.same_code(&[], line);
        assert!(own.contains("offlink"), "{line}: {own}");
    }
}

/// As a word of offlink's own line, and in the format of newer versions.
#[test]
fn compressed_as_a_newer_version_writes_it() {
    let bench = Workbench::new();
    bench.write("a.o", "A".repeat(4000));
    for format in ["zstd", "zlib"] {
        bench
            .offlink()
            .args(["llvm-offload-binary", "--compress", "-o", "out"])
            .args([
                &format!("--compression-format={format}"),
                "--compression-level=9",
            ])
            .arg("--image=file=a.o,triple=t,arch=x")
            .succeeds_silently();
        let packed = std::fs::read(bench.path("out")).expect("an offload binary");
        assert!(packed[4] == 3 && packed.len() < 400, "{}", packed.len());
        bench
            .offlink()
            .args(["llvm-offload-binary", "out", "--image=file=back,arch=x"])
            .succeeds_silently();
        let back = std::fs::read(bench.path("back")).expect("the image");
        assert!(back == "A".repeat(4000).as_bytes());
    }
}
