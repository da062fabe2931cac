//! CUDA and HIP programs, linked by clang with offlink as its wrapper. A
//! stand-in for the runtimes prints the calls that a program makes at its start.

use std::path::PathBuf;
use std::process::Command;

use crate::device_code::{CPU, bitcode, pack};
use crate::workbench::{Run, Workbench, cuda, offlink, repository};

const CUDA: &[&str] = &["--offload-arch=sm_90"];
const HIP: &[&str] = &["--offload-arch=gfx90a"];
const LTO: &str = "-foffload-lto";
const BOTH: &[Unit] = &[Unit::First, Unit::Second];

#[derive(Clone, Copy, Debug)]
pub enum Language {
    Cuda,
    Hip,
}

/// The translation units of the fixture.
#[derive(Clone, Copy, Debug)]
pub enum Unit {
    First,
    Second,
}

impl Language {
    fn flags(self) -> [&'static str; 3] {
        match self {
            Language::Cuda => ["-xcuda", "-nocudainc", "-nocudalib"],
            Language::Hip => ["-xhip", "-nogpuinc", "-nogpulib"],
        }
    }
}

pub fn source(name: &str) -> PathBuf {
    repository()
        .join("crates/bundle/tests/data/registration")
        .join(name)
}

/// The units compiled for host and devices, and the stand-in.
pub fn objects(
    bench: &Workbench,
    language: Language,
    flags: &[&str],
    units: &[Unit],
) -> Vec<PathBuf> {
    let mut objects = vec![bench.path("runtime.o")];
    bench
        .command("cc")
        .args(["-c", "-o", "runtime.o"])
        .arg(source("runtime.c"))
        .succeeds_silently();
    for unit in units {
        let name = format!("{unit:?}").to_lowercase();
        let object = bench.path(format!("{name}-{language:?}.o"));
        bench
            .command("clang++-22")
            .args(language.flags())
            .args(["--offload-new-driver", "-fgpu-rdc", "-O1"])
            .args([
                "-Wno-unknown-cuda-version",
                "-Wno-unused-command-line-argument",
            ])
            .arg(format!("--cuda-path={}", cuda().display()))
            .args(flags)
            .args(["-c", "-o"])
            .arg(&object)
            .arg(source(&format!("{name}.cu")))
            .succeeds_silently();
        objects.push(object);
    }
    objects
}

/// Links with clang, whose wrapper is offlink or its own; returns what the
/// program prints, without addresses.
pub fn calls(bench: &Workbench, objects: &[PathBuf], ours: bool, more: &[&str]) -> String {
    link(bench, objects, ours, more).succeeds();
    without_addresses(&bench.command(bench.path(name(ours))).succeeds())
}

/// The program's name by whose wrapper links it.
fn name(ours: bool) -> &'static str {
    if ours { "ours" } else { "theirs" }
}

fn link(bench: &Workbench, objects: &[PathBuf], ours: bool, more: &[&str]) -> Command {
    let mut clang = bench.command("clang++-22");
    if ours {
        let folder = bench.folder("wrapper");
        let link = folder.join("clang-linker-wrapper");
        if !link.exists() {
            bench.link("wrapper/clang-linker-wrapper", offlink());
        }
        clang.arg("-B").arg(folder);
    }
    let path = std::env::var("PATH").expect("a PATH");
    clang
        // clang-nvlink-wrapper finds nvlink there only.
        .env("PATH", format!("{}:{path}", cuda().join("bin").display()))
        .args(["--offload-link", "-nogpulib"])
        .arg(format!("--cuda-path={}", cuda().display()))
        .args(objects)
        .args(more)
        .arg("-o")
        .arg(bench.path(name(ours)));
    clang
}

/// `host=+0x4010` becomes `host`.
pub fn without_addresses(printed: &str) -> String {
    let lines = printed.lines().map(|line| {
        let words = line
            .split(' ')
            .map(|word| word.split("=+0x").next().unwrap_or(word));
        words.collect::<Vec<_>>().join(" ")
    });
    lines.collect::<Vec<_>>().join("\n")
}

/// What `offlink inspect` says of the program that was linked with offlink.
fn inspected(bench: &Workbench) -> String {
    bench
        .offlink()
        .arg("inspect")
        .arg(bench.path("ours"))
        .succeeds()
}

pub fn count(printed: &str, call: &str) -> usize {
    printed
        .lines()
        .filter(|line| line.starts_with(call))
        .count()
}

#[test]
fn cuda_makes_the_calls_that_llvm_makes() {
    let bench = Workbench::new();
    let objects = objects(&bench, Language::Cuda, CUDA, BOTH);
    let ours = calls(&bench, &objects, true, &[]);
    assert_eq!(ours, calls(&bench, &objects, false, &[]));
    assert_eq!(count(&ours, "cudaRegisterFunction"), 8, "{ours}");
    let listing = inspected(&bench);
    assert!(
        listing.contains("cuda    nvptx64-nvidia-cuda sm_90"),
        "{listing}"
    );
}

#[test]
fn hip_makes_the_calls_that_llvm_makes() {
    let bench = Workbench::new();
    let objects = objects(&bench, Language::Hip, HIP, BOTH);
    let ours = calls(&bench, &objects, true, &[]);
    assert_eq!(ours, calls(&bench, &objects, false, &[]));
    assert_eq!(count(&ours, "hipRegisterManagedVar"), 2, "{ours}");
    let listing = inspected(&bench);
    assert!(
        listing.contains("hip     amdgcn-amd-amdhsa gfx90a"),
        "{listing}"
    );
}

/// Under device LTO clang's own wrapper drops hidden kernels; every kernel that
/// is registered here is in the image, or the link would have failed.
#[test]
fn hidden_kernels_survive_device_lto() {
    let bench = Workbench::new();
    for (language, flags) in [(Language::Cuda, CUDA), (Language::Hip, HIP)] {
        let flags = [flags, &[LTO, "-fvisibility=hidden"]].concat();
        let objects = objects(&bench, language, &flags, BOTH);
        let printed = calls(&bench, &objects, true, &[]);
        assert_eq!(
            count(&printed, "cudaRegisterFunction") + count(&printed, "hipRegisterFunction"),
            8
        );
    }
}

#[test]
fn compressed_images_and_embedded_ptx() {
    let bench = Workbench::new();
    let cuda = objects(&bench, Language::Cuda, &[CUDA, &[LTO]].concat(), BOTH);
    calls(
        &bench,
        &cuda,
        true,
        &["-Wl,--offlink-compress", "-Wl,--offlink-embed-ptx"],
    );
    let listing = inspected(&bench);
    assert!(
        listing.contains("2 images") && listing.contains(" PTX "),
        "{listing}"
    );
    let hip = objects(&bench, Language::Hip, HIP, BOTH);
    calls(&bench, &hip, true, &[]);
    let plain = std::fs::metadata(bench.path("ours"))
        .expect("the program")
        .len();
    calls(&bench, &hip, true, &["-Wl,--offlink-compress"]);
    let small = std::fs::metadata(bench.path("ours"))
        .expect("the program")
        .len();
    assert!(small < plain, "{small} bytes compressed, {plain} not");
    let listing = inspected(&bench);
    assert!(
        listing.contains("hip     amdgcn-amd-amdhsa gfx90a"),
        "{listing}"
    );
}

/// OpenMP, CUDA and HIP objects: each kind is registered with its own runtime.
#[test]
fn kinds_mix_in_one_program() {
    let bench = Workbench::new();
    let mut objects = objects(&bench, Language::Cuda, CUDA, BOTH);
    let packed = pack(
        &bench,
        &[CPU.image(&bitcode(&bench, "saxpy", CPU))],
        "openmp.bin",
    );
    let openmp = bench.path("openmp.o");
    let entry = "static struct { unsigned long reserved; unsigned short version, kind; unsigned flags; \
        const void *address; const char *name; unsigned long size, data; void *auxiliary; } entry \
        __attribute__((section(\"llvm_offload_entries\"), used, aligned(8))) = \
        {0, 1, 1, 0, &entry, \"saxpy\"};\n";
    bench
        .command("clang-22")
        .args([
            "-Xclang",
            &format!("-fembed-offload-object={}", packed.display()),
        ])
        .args(["-c", "-o"])
        .arg(&openmp)
        .arg(bench.write("openmp.c", entry))
        .succeeds_silently();
    // One unit of each language: their functions have the same names.
    let hip = bench.path("hip.o");
    let kernel = "#include \"declarations.h\"\n__global__ void other(int *out) { *out = 1; }\n";
    bench
        .command("clang++-22")
        .args(Language::Hip.flags())
        .args(HIP)
        .args(["--offload-new-driver", "-fgpu-rdc", "-c", "-o"])
        .arg(&hip)
        .arg("-I")
        .arg(source("."))
        .arg(bench.write("hip.hip", kernel))
        .succeeds_silently();
    objects.extend([openmp, hip]);
    let printed = calls(&bench, &objects, true, &[]);
    assert_eq!(count(&printed, "tgt_register_lib images=1"), 1, "{printed}");
    assert_eq!(count(&printed, "cudaRegisterFunction"), 8, "{printed}");
    assert_eq!(count(&printed, "hipRegisterFunction"), 1, "{printed}");

    // All of them come out of the program again, whatever they are bundled in.
    let mut extract = bench.offlink();
    extract
        .args(["extract", "-o", "images"])
        .arg(bench.path(name(true)));
    extract.succeeds_silently();
    for image in [
        "cuda-nvptx64-nvidia-cuda-sm_90/0000.cubin",
        "hip-amdgcn-amd-amdhsa-gfx90a/0000.hsaco",
        "openmp-x86_64-unknown-linux-gnu-generic/0000.so",
    ] {
        let image = bench.path("images").join(image);
        assert!(image.is_file(), "no {}", image.display());
    }
}

/// nvlink refuses what clang makes of a kernel that is only declared, unless
/// offlink mends it: clang's own wrapper fails on the same objects.
#[test]
fn kernel_that_another_file_defines() {
    let bench = Workbench::new();
    let mut objects = objects(&bench, Language::Cuda, CUDA, &[]);
    let declaration = "#include \"declarations.h\"\n__global__ void other(int *out)";
    let user = "extern \"C\" void use(const volatile void *);\nvoid user() { use((void *)other); }";
    for (name, rest) in [
        ("user", format!(";\n{user}\n")),
        ("definition", " { *out = 1; }\n".to_owned()),
    ] {
        let object = bench.path(format!("{name}.o"));
        bench
            .command("clang++-22")
            .args(Language::Cuda.flags())
            .args(CUDA)
            .args(["--offload-new-driver", "-fgpu-rdc", "-O1", "-nogpulib"])
            .arg("-Wno-unknown-cuda-version")
            .arg(format!("--cuda-path={}", cuda().display()))
            .args(["-c", "-o"])
            .arg(&object)
            .arg("-I")
            .arg(source("."))
            .arg(bench.write(&format!("{name}.cu"), format!("{declaration}{rest}")))
            .succeeds_silently();
        objects.push(object);
    }
    let printed = calls(&bench, &objects, true, &[]);
    assert_eq!(count(&printed, "cudaRegisterFunction"), 1, "{printed}");
    let theirs = link(&bench, &objects, false, &[]).fails_with(1);
    assert!(theirs.contains("not declared __global__"), "{theirs}");
}
