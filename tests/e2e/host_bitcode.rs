//! Host code that the linker compiles (`clang -flto`): its device code and
//! entries are in bitcode until then.

use std::path::Path;

use crate::archives::archive;
use crate::device_code::{CPU, LAUNCHED, NVIDIA, RUNTIME, bitcode, embed, pack};
use crate::workbench::{Run, Workbench, example};

/// A bench with clang's idea of lld at hand.
fn bench_with_lld() -> Workbench {
    let bench = Workbench::new();
    bench.link("ld.lld", bench.find("ld.lld-22"));
    bench
}

/// Links with link-time optimisation of the host code and launches the kernel.
fn links_and_runs(bench: &Workbench, arguments: &[&str]) {
    bench
        .offlink()
        .args(["cc", "--offlink-host-linker=clang-22"])
        .args(["-B.", "-fuse-ld=lld", "-flto", "-O2", "-Wl,--gc-sections"])
        .args(arguments)
        .args([RUNTIME, "-o", "program"])
        .succeeds_silently();
    assert_eq!(bench.program(bench.path("program")).succeeds(), LAUNCHED);
    let listing = bench.offlink().args(["inspect", "program"]).succeeds();
    assert!(
        listing.starts_with("program: 2 images, 1 entr"),
        "{listing}"
    );
}

fn launcher(bench: &Workbench, arguments: &[&str], name: &str) {
    let images = [CPU, NVIDIA].map(|target| target.image(&bitcode(bench, "saxpy", target)));
    let packed = pack(bench, &images, "saxpy.bin");
    let arguments = [&["-flto"], arguments].concat();
    embed(bench, &packed, &arguments, name);
    let magic = std::fs::read(bench.path(name)).unwrap();
    assert!(magic.starts_with(b"BC\xc0\xde"), "{name} is no bitcode");
}

#[test]
fn device_code_and_entries_in_bitcode() {
    let bench = bench_with_lld();
    launcher(&bench, &[], "main.o");
    links_and_runs(&bench, &["main.o"]);
    let listing = bench.offlink().args(["inspect", "main.o"]).succeeds();
    assert!(listing.contains("saxpy (kernel)"), "{listing}");
}

/// Bitcode needs a member of an archive, which is bitcode too.
#[test]
fn library_of_bitcode() {
    let bench = bench_with_lld();
    launcher(&bench, &["-Dmain=launch"], "launch.o");
    archive(&bench, "launch", &[Path::new("launch.o")]);
    bench.write(
        "main.c",
        "int launch(void); int main(void) { return launch(); }\n",
    );
    bench
        .command("clang-22")
        .args(["-flto=thin", "-c", "main.c"])
        .succeeds();
    links_and_runs(&bench, &["main.o", "-L.", "-llaunch"]);
}

/// What clang makes of OpenMP.
#[test]
fn openmp_program() {
    let bench = bench_with_lld();
    let wrapper = bench.folder("wrapper");
    bench.link("wrapper/clang-linker-wrapper", crate::workbench::offlink());
    bench
        .command("clang-22")
        .arg("-B")
        .arg(wrapper)
        .args(["-B.", "-fuse-ld=lld", "-flto", "-O2", "-fopenmp"])
        .arg("-fopenmp-targets=x86_64-unknown-linux-gnu")
        .arg(example("openmp").join("target_region.c"))
        .args(["-o", "program"])
        .succeeds_silently();
    bench.program(bench.path("program")).succeeds();
}
