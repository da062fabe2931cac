//! offlink as the linker of Rust's own targets for GPUs: cargo builds a crate of
//! kernels, and a crate that it depends on, to images.

use serde_json::Value;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::device_code::{RUNTIME, bitcode, launcher, nvidia, sass};
use crate::workbench::{Run, Workbench, cuda, cuda_tool, example, fixture, offlink};

const NVIDIA: &str = "nvptx64-nvidia-cuda";
const AMD: &str = "amdgcn-amd-amdhsa";
const NVIDIA_FILE: &str = "nvptx64-nvidia-cuda/release/kernels.ptx";
const AMD_FILE: &str = "amdgcn-amd-amdhsa/release/kernels.elf";
/// In the order of images.
const NVIDIA_ARCHS: [&str; 6] = ["sm_100", "sm_75", "sm_80", "sm_86", "sm_89", "sm_90"];
const AMD_ARCHS: [&str; 3] = ["gfx1100", "gfx90a", "gfx942"];

fn archs() -> String {
    [&NVIDIA_ARCHS[..], &AMD_ARCHS].concat().join(",")
}

/// Every Rust toolchain that is here, each under one of its names.
fn toolchains(bench: &Workbench) -> Vec<String> {
    let list = bench
        .command("rustup")
        .args(["toolchain", "list"])
        .succeeds();
    let names = list.lines().filter_map(|line| line.split(' ').next());
    let by_version = names.map(|name| {
        let mut rustc = bench.command("rustc");
        let version = rustc.arg("-V").env("RUSTUP_TOOLCHAIN", name).succeeds();
        (version, name.to_owned())
    });
    let by_version: BTreeMap<String, String> = by_version.collect();
    by_version.into_values().collect()
}

/// `cargo build` of the crate in examples, into `target` in the bench's folder.
fn cargo(bench: &Workbench, toolchain: &str, triples: &[&str], target: &str) -> Command {
    let mut cargo = bench.command("cargo");
    cargo
        .args(["build", "--quiet", "--locked", "--offline"])
        .args(triples.iter().map(|triple| format!("--target={triple}")))
        .current_dir(example("kernel-crate"))
        .env("PATH", bench.path_with_offlink())
        .env("CUDA_HOME", cuda())
        .env("RUSTUP_TOOLCHAIN", toolchain)
        .env("CARGO_TARGET_DIR", bench.path(target));
    for triple in triples {
        // What nightly does by default: each line of a linker is a warning.
        flags(&mut cargo, triple, "-Wlinker-messages");
    }
    cargo
}

/// Adds to the flags that the crate's configuration has for a target.
fn flags(cargo: &mut Command, triple: &str, flags: &str) {
    let triple = triple.to_uppercase().replace('-', "_");
    cargo.env(format!("CARGO_TARGET_{triple}_RUSTFLAGS"), flags);
}

/// The images of a file: triple, arch and kernels.
fn images(bench: &Workbench, file: &Path) -> Vec<(String, String, String)> {
    let text = bench
        .offlink()
        .args(["inspect", "--json"])
        .arg(file)
        .succeeds();
    let report: Value = serde_json::from_str(&text).expect("JSON");
    let text = |value: &Value| value.as_str().expect("a text").to_owned();
    let images = report[0]["images"].as_array().expect("a list of images");
    let described = images.iter().map(|image| {
        let kernels = image["kernels"].to_string();
        (text(&image["triple"]), text(&image["arch"]), kernels)
    });
    described.collect()
}

fn wanted(triple: &str, archs: &[&str]) -> Vec<(String, String, String)> {
    let image = |arch: &&str| (triple.into(), (*arch).into(), r#"["saxpy"]"#.into());
    archs.iter().map(image).collect()
}

/// The GPU in an image's ELF header, as LLVM reads it.
fn gpu(bench: &Workbench, image: &Path) -> String {
    let header = bench
        .command("llvm-readelf-22")
        .arg("-h")
        .arg(image)
        .succeeds();
    let flags = header.lines().find(|line| line.contains("Flags:"));
    let names = flags.and_then(|line| line.split(", ").nth(1));
    names.expect("a GPU").to_owned()
}

/// The images of a file, each as a file of its own with its arch.
fn extracted(bench: &Workbench, file: &Path, triple: &str, archs: &[&str]) -> Vec<PathBuf> {
    let folder = bench.folder("extracted");
    let mut extract = bench.offlink();
    extract.arg("extract").arg("-o").arg(&folder).arg(file);
    extract.succeeds_silently();
    let ending = if triple == AMD { "hsaco" } else { "cubin" };
    let path = |arch| folder.join(format!("openmp-{triple}-{arch}/0000.{ending}"));
    archs.iter().map(path).collect()
}

fn symbols(bench: &Workbench, image: &Path) -> String {
    let mut readelf = bench.command("llvm-readelf-22");
    readelf.args(["--dyn-syms", "-W"]).arg(image).succeeds()
}

#[test]
fn one_command_makes_an_image_for_each_listed_arch() {
    let bench = Workbench::new();
    for toolchain in toolchains(&bench) {
        for profile in ["release", "dev"] {
            let target = format!("{toolchain}-{profile}");
            cargo(&bench, &toolchain, &[NVIDIA, AMD], &target)
                .args(["--profile", profile])
                .env("OFFLINK_ARCHS", archs())
                .succeeds_silently();
            let folder = if profile == "dev" { "debug" } else { profile };
            let made = |file: &str| bench.path(&target).join(file.replace("release", folder));
            let (nvidia, amd) = (made(NVIDIA_FILE), made(AMD_FILE));
            assert_eq!(images(&bench, &nvidia), wanted(NVIDIA, &NVIDIA_ARCHS));
            assert_eq!(images(&bench, &amd), wanted(AMD, &AMD_ARCHS));

            let cubins = extracted(&bench, &nvidia, NVIDIA, &NVIDIA_ARCHS);
            for (cubin, arch) in cubins.iter().zip(NVIDIA_ARCHS) {
                assert_eq!(gpu(&bench, cubin), arch, "{target}");
                assert!(sass(&bench, cubin).contains("Function : saxpy"), "{target}");
            }
            let hsacos = extracted(&bench, &amd, AMD, &AMD_ARCHS);
            for (hsaco, arch) in hsacos.iter().zip(AMD_ARCHS) {
                assert_eq!(gpu(&bench, hsaco), arch, "{target}");
                let symbols = symbols(&bench, hsaco);
                for symbol in ["saxpy", "saxpy.kd", "twice"] {
                    assert!(symbols.contains(&format!(" {symbol}\n")), "{symbols}");
                }
                assert!(!symbols.contains("multiply_add"), "{symbols}");
            }
        }
    }
}

#[test]
fn target_cpu_alone_makes_one_image() {
    let bench = Workbench::new();
    for toolchain in toolchains(&bench) {
        let mut build = cargo(&bench, &toolchain, &[NVIDIA, AMD], &toolchain);
        flags(&mut build, NVIDIA, "-Wlinker-messages -Ctarget-cpu=sm_90");
        flags(&mut build, AMD, "-Wlinker-messages -Ctarget-cpu=gfx1030");
        build.args(["--release"]).succeeds_silently();
        let made = |file: &str| bench.path(&toolchain).join(file);
        let ptx = std::fs::read_to_string(made(NVIDIA_FILE)).expect("PTX is text");
        for line in [
            ".target sm_90\n",
            ".visible .entry saxpy(",
            ".visible .func  (.param .b32 func_retval0) twice(",
        ] {
            assert!(ptx.contains(line), "no {line} in:\n{ptx}");
        }
        bench
            .command(cuda_tool("ptxas"))
            .args(["-arch=sm_90", "-o", "by-hand.cubin"])
            .arg(made(NVIDIA_FILE))
            .succeeds_silently();
        assert_eq!(gpu(&bench, &made(AMD_FILE)), "gfx1030");

        // A list of another vendor's archs changes nothing; nor does fat LTO, with
        // which rustc hands over one object and no rlib.
        build
            .env("OFFLINK_ARCHS", "gfx1030")
            .env("CARGO_PROFILE_RELEASE_LTO", "fat")
            .env("OFFLINK_EMIT", "cubin");
        flags(&mut build, NVIDIA, "-Wlinker-messages -Ctarget-cpu=sm_80");
        build.succeeds_silently();
        assert_eq!(gpu(&bench, &made(NVIDIA_FILE)), "sm_80");
    }
}

/// rustc hands over PTX's lowest version with the features.
#[test]
fn ptx_is_of_the_version_that_rustc_asks_for() {
    let bench = Workbench::new();
    let code = bitcode(&bench, "saxpy", nvidia("sm_80"));
    let version = |features: &str| {
        bench
            .offlink()
            .args(["--target", NVIDIA, "--target-cpu", "sm_80", features])
            .args(["-O3", "-o", "saxpy.ptx"])
            .arg(&code)
            .succeeds_silently();
        let ptx = std::fs::read_to_string(bench.path("saxpy.ptx")).expect("PTX is text");
        let line = ptx.lines().find(|line| line.starts_with(".version"));
        line.expect("a version").to_owned()
    };
    assert_eq!(version("--target-feature=+ptx42"), ".version 7.0");
    assert_eq!(version("--target-feature=+ptx78"), ".version 7.8");
}

#[test]
fn machine_code_gives_the_bytes_of_rust_lld() {
    let bench = Workbench::new();
    for toolchain in toolchains(&bench) {
        let build = |linker: &str| {
            let target = format!("{toolchain}-by-{linker}");
            cargo(&bench, &toolchain, &[AMD], &target)
                .arg("--release")
                // In place of the crate's flags, which ask for bitcode.
                .env("RUSTFLAGS", "-Ctarget-cpu=gfx90a")
                .env("CARGO_PROFILE_RELEASE_LTO", "fat")
                .env("CARGO_TARGET_AMDGCN_AMD_AMDHSA_LINKER", linker)
                .succeeds_silently();
            std::fs::read(bench.path(&target).join(AMD_FILE)).expect("an hsaco")
        };
        assert!(build("offlink") == build("rust-lld"), "{toolchain}");
    }
}

/// As lld does it: without a version script all that is visible is exported.
#[test]
fn a_line_without_version_script_keeps_what_is_visible() {
    let bench = Workbench::new();
    let source = "int visible(int x) { return x + x; }\n\
        [[clang::amdgpu_kernel]] void saxpy(int *x) { *x = visible(*x); }\n";
    bench.write("code.c", source);
    bench
        .command("clang-22")
        .args(["--target=amdgcn-amd-amdhsa", "-mcpu=gfx90a", "-nogpulib"])
        .args(["-fvisibility=default", "-O1", "-c", "-emit-llvm", "code.c"])
        .succeeds_silently();
    bench
        .offlink()
        .args(["ld", "-shared", "-plugin-opt=mcpu=gfx942", "code.bc"])
        .args(["-o", "code.hsaco"])
        .succeeds_silently();
    let symbols = symbols(&bench, &bench.path("code.hsaco"));
    assert!(symbols.contains(" saxpy.kd\n"), "{symbols}");
    assert!(symbols.contains(" visible\n"), "{symbols}");
    assert_eq!(gpu(&bench, &bench.path("code.hsaco")), "gfx942");
}

#[test]
fn machine_code_is_for_one_gpu() {
    let bench = Workbench::new();
    let build = |archs: &str| {
        let mut build = cargo(&bench, "stable", &[AMD], "target");
        build
            .arg("--release")
            .env("RUSTFLAGS", "-Ctarget-cpu=gfx90a")
            .env("CARGO_PROFILE_RELEASE_LTO", "fat")
            .env("OFFLINK_ARCHS", archs);
        build
    };
    let says = build("gfx90a,gfx942").fails_with(101);
    assert!(says.contains("is machine code for gfx90a"), "{says}");
    assert!(says.contains("with -Clinker-plugin-lto"), "{says}");
    assert!(!bench.path("target").join(AMD_FILE).exists());
    build("gfx90a,sm_90").succeeds();
    assert_eq!(gpu(&bench, &bench.path("target").join(AMD_FILE)), "gfx90a");
}

/// gfx803 needs more for a trap than the others do, and gfx90a's features are
/// none of gfx1100's.
#[test]
fn bitcode_for_another_gpu_is_as_if_compiled_for_it() {
    let bench = Workbench::new();
    let hsaco = |cpu: &str, archs: &str, level: &str| {
        let output = bench.path("number.elf");
        bench
            .command("rustc")
            .args(["--edition=2024", "--target", AMD, "-Clinker-plugin-lto"])
            .arg(format!("-Ctarget-cpu={cpu}"))
            .arg(format!("-Copt-level={level}"))
            .arg("-Cpanic=abort")
            .arg(format!("-Clinker={}", offlink().display()))
            .arg("-o")
            .arg(&output)
            .arg(fixture("rust/abort_amdgcn.rs"))
            .env("RUSTC_BOOTSTRAP", "1")
            .env("OFFLINK_ARCHS", archs)
            .succeeds_silently();
        std::fs::read(output).expect("an hsaco")
    };
    for level in ["0", "3"] {
        for gpu in ["gfx803", "gfx906", "gfx90a", "gfx942", "gfx1100", "gfx1200"] {
            let own = hsaco(gpu, "", level);
            for other in ["gfx90a", "gfx1100"] {
                let same = hsaco(other, gpu, level) == own;
                assert!(same, "{other} for {gpu} at {level}");
            }
        }
    }
}

#[test]
fn a_host_program_takes_the_files() {
    let bench = Workbench::new();
    cargo(&bench, "stable", &[NVIDIA, AMD], "target")
        .arg("--release")
        .env("OFFLINK_ARCHS", archs())
        .succeeds_silently();
    let target = bench.path("target");
    let files = [target.join(NVIDIA_FILE), target.join(AMD_FILE)];
    let wanted = [wanted(AMD, &AMD_ARCHS), wanted(NVIDIA, &NVIDIA_ARCHS)].concat();

    let as_inputs = files.each_ref().map(|file| file.display().to_string());
    let [nvidia, amd] = &as_inputs;
    let as_images = [
        format!("--offlink-image=file={nvidia},triple={NVIDIA}"),
        format!("--offlink-image=file={amd},triple={AMD}"),
    ];
    for arguments in [as_inputs, as_images] {
        bench
            .offlink()
            .arg("cc")
            .arg(launcher(&bench, "saxpy"))
            .args(arguments)
            .args([RUNTIME, "-o", "program"])
            .succeeds_silently();
        assert_eq!(images(&bench, &bench.path("program")), wanted);
    }
    bench
        .offlink()
        .args(["wrap", "-o", "registration.o"])
        .args(files.iter().rev())
        .succeeds_silently();
    bench
        .command("cc")
        .arg(launcher(&bench, "saxpy"))
        .args(["registration.o", RUNTIME, "-o", "by-steps"])
        .succeeds();
    assert_eq!(images(&bench, &bench.path("by-steps")), wanted);
}

#[test]
fn an_image_without_arch_takes_those_of_the_list() {
    let bench = Workbench::new();
    let code = bitcode(&bench, "saxpy", nvidia("sm_80"));
    let image = format!("--offlink-image=file={},triple={NVIDIA}", code.display());
    bench
        .offlink()
        .arg("cc")
        .arg(launcher(&bench, "saxpy"))
        .args([&image, "--offlink-archs=sm_90,gfx90a,sm_80"])
        .args([RUNTIME, "-o", "program"])
        .succeeds_silently();
    let made = images(&bench, &bench.path("program"));
    assert_eq!(made, wanted(NVIDIA, &["sm_80", "sm_90"]));
}

#[test]
fn faults_are_named() {
    let bench = Workbench::new();
    let code = bitcode(&bench, "saxpy", nvidia("sm_80"));
    let says = |arguments: &[&str]| {
        let mut offlink = bench.offlink();
        offlink
            .args(["llvm-bitcode-linker", "--target", NVIDIA, "-o", "made.ptx"])
            .arg(&code)
            .args(arguments);
        let text = offlink.fails_with(1);
        assert_eq!(text.lines().count(), 1, "{text}");
        assert!(!bench.path("made.ptx").exists());
        text
    };
    let text = says(&[]);
    assert!(
        text.contains("nothing says which GPU 'made.ptx' is for"),
        "{text}"
    );
    let text = says(&["--target-cpu=sm_60"]);
    assert!(
        text.contains("cannot make 'made.ptx': 'sm_60' is older"),
        "{text}"
    );
    let text = says(&["--target-cpu=sm_90", "--export-symbol=lost"]);
    assert!(text.contains("'made.ptx' is to export lost"), "{text}");
    let text = says(&["--offlink-archs=sm_80,sm_91"]);
    assert!(text.contains("nearest are sm_90"), "{text}");
    let text = says(&["--target-cpu=sm_90", "nowhere.o"]);
    assert!(text.contains("'nowhere.o'"), "{text}");
    bench.write("text.o", "no code");
    let text = says(&["--target-cpu=sm_90", "text.o"]);
    assert!(text.contains("'text.o'"), "{text}");
}

/// Of an archive what is needed is linked: here the member that a symbol is
/// exported from, but not one that could not be linked.
#[test]
fn members_are_taken_as_needed() {
    let bench = Workbench::new();
    let code = bitcode(&bench, "saxpy", nvidia("sm_80"));
    bench.write("broken.bc", b"BC\xc0\xde, and then nothing");
    bench
        .command("llvm-ar-22")
        .args(["rcS", "libk.rlib", "broken.bc"])
        .arg(&code)
        .succeeds();
    let link = |arguments: &[&str]| {
        let mut link = bench.offlink();
        link.args(["llvm-bitcode-linker", "--target", NVIDIA, "-O", "3"])
            .args(["--target-cpu=sm_90", "-o", "k.cubin", "libk.rlib"])
            .args(arguments);
        link
    };
    link(&["--export-symbol", "saxpy"]).succeeds_silently();
    assert!(sass(&bench, &bench.path("k.cubin")).contains("Function : saxpy"));
    let text = link(&["broken.bc"]).fails_with(1);
    assert!(text.contains("broken.bc"), "{text}");
}
