//! rustc's own offload pipeline: host code with its intrinsic, which brings the
//! entry, the launch, and a descriptor of no images with a constructor; and its
//! `device.bin`, an offload binary of one bitcode image.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::device_code::{AMD, CPU, NVIDIA, RUNTIME, Target, pack};
use crate::workbench::{Run, Workbench, cuda, fixture, offlink, toolchains};

const RIGHT: &str = "double: right\n";

/// rustc, with what its pipeline needs of unstable options. They exist in stable
/// compilers too, for those who insist.
fn rustc(bench: &Workbench, toolchain: Option<&str>) -> Command {
    let mut rustc = bench.rustc(toolchain);
    rustc.env("RUSTC_BOOTSTRAP", "1").arg("-O");
    rustc
}

/// The kernel as bitcode, by rustc.
fn kernel(bench: &Workbench, target: Target, toolchain: Option<&str>) -> PathBuf {
    let output = bench.path(format!("double-{}.bc", target.arch));
    let mut rustc = rustc(bench, toolchain);
    rustc
        .args(["-Cpanic=abort", "--target", target.triple])
        .arg(format!("--emit=llvm-bc={}", output.display()));
    if target.triple == CPU.triple {
        rustc.arg(fixture("rust/double_cpu.rs"));
    } else {
        rustc
            .arg(format!("-Ctarget-cpu={}", target.arch))
            .arg(fixture("rust/double_gpu.rs"));
    }
    rustc.succeeds_silently();
    output
}

/// `device.bin` as rustc's device pass leaves it. Up to LLVM 22 that is version
/// 1, whose writer is LLVM's own; of a later one there is no writer here but
/// offlink.
fn device_bin(bench: &Workbench, target: Target, version: u8, toolchain: Option<&str>) -> PathBuf {
    let image = target.image(&kernel(bench, target, toolchain));
    let name = format!("{}-{version}", target.arch);
    let packed = bench.folder(&name).join("device.bin");
    if version == 1 {
        return pack(bench, &[image], &format!("{name}/device.bin"));
    }
    bench
        .offlink()
        .args(["bundle", &format!("--version={version}"), "-o"])
        .arg(&packed)
        .arg(format!("--image={image}"))
        .succeeds_silently();
    packed
}

/// rustc's host pass.
fn host_pass(bench: &Workbench, toolchain: Option<&str>) -> Command {
    let mut rustc = rustc(bench, toolchain);
    rustc
        .args(["-Clto=fat", "-Zunstable-options", "-Zoffload=Test"])
        .arg(fixture("rust/intrinsic_host.rs"));
    rustc
}

/// The host pass, with offlink as the linker, and these arguments for that.
fn links_and_runs(bench: &Workbench, toolchain: Option<&str>, linker: &[String]) -> PathBuf {
    let program = bench.path("program");
    host_pass(bench, toolchain)
        .env("CUDA_HOME", cuda())
        .arg(format!("-Clinker={}", offlink().display()))
        .args(linker.iter().map(|word| format!("-Clink-arg={word}")))
        .arg(format!("-Clink-arg={RUNTIME}"))
        .arg("-o")
        .arg(&program)
        .succeeds_silently();
    assert_eq!(bench.program(&program).succeeds(), RIGHT);
    program
}

fn word(path: &Path) -> String {
    path.display().to_string()
}

/// The intrinsic changes from nightly to nightly, and a nightly shows what the
/// linker prints: both toolchains count where both are installed.
#[test]
fn kernel_as_bitcode() {
    for toolchain in toolchains() {
        let bench = Workbench::new();
        let image = CPU.image(&kernel(&bench, CPU, toolchain));
        links_and_runs(&bench, toolchain, &[format!("--offlink-image={image}")]);
    }
}

#[test]
fn device_bin_by_its_name() {
    let bench = Workbench::new();
    let [first, second] = [1, 2].map(|version| word(&device_bin(&bench, CPU, version, None)));
    links_and_runs(&bench, None, &[format!("--offlink-image=file={first}")]);
    links_and_runs(&bench, None, &[second]);
}

/// rustc's own wrapping takes one image and no more.
#[test]
fn several_of_several_versions() {
    let bench = Workbench::new();
    let files = [(CPU, 1), (NVIDIA, 2), (AMD, 1)]
        .map(|(target, version)| word(&device_bin(&bench, target, version, None)));
    let program = links_and_runs(&bench, None, &files);
    let listing = bench.offlink().arg("inspect").arg(program).succeeds();
    assert!(listing.contains(": 3 images, 1 entry"), "{listing}");
    for target in [CPU, NVIDIA, AMD] {
        assert!(listing.contains(target.arch), "{listing}");
    }
}

/// `host.o`: the host code with `device.bin` in it, to be linked by a C driver.
#[test]
fn host_object_with_device_bin_in_it() {
    for toolchain in toolchains() {
        let bench = Workbench::new();
        host_pass(&bench, toolchain)
            .args(["--emit=obj", "-o", "host-code.o"])
            .succeeds_silently();
        for version in [1, 2] {
            let device_bin = device_bin(&bench, CPU, version, toolchain);
            // SHT_LLVM_OFFLOADING and SHF_EXCLUDE, as LLVM gives them to the section.
            bench
                .command("llvm-objcopy-22")
                .arg(format!(
                    "--add-section=.llvm.offloading={}",
                    device_bin.display()
                ))
                .arg("--set-section-flags=.llvm.offloading=exclude")
                .arg("--set-section-type=.llvm.offloading=0x6fff4c0b")
                .args(["host-code.o", "host.o"])
                .succeeds_silently();
            bench
                .offlink()
                .args(["cc", "host.o", RUNTIME, "-o", "program"])
                .succeeds_silently();
            assert_eq!(bench.program(bench.path("program")).succeeds(), RIGHT);
        }
    }
}

#[test]
fn a_file_without_a_target_must_be_an_offload_binary() {
    let bench = Workbench::new();
    let bitcode = kernel(&bench, CPU, None);
    let stderr = bench
        .offlink()
        .args(["cc", "-o", "program"])
        .arg(format!("--offlink-image=file={}", bitcode.display()))
        .fails_with(2);
    assert!(stderr.contains("lacks triple="), "{stderr}");
    assert_eq!(stderr.lines().count(), 1, "{stderr}");
}
