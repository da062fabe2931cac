//! Relocatable objects for GPUs, in no host object and no container: what ptxas
//! and clang write.

use std::path::{Path, PathBuf};

use crate::archives::archive;
use crate::device_code::{
    AMD, NVIDIA, RUNTIME, Target, assembly, bitcode, launcher, nvidia, object,
};
use crate::workbench::{Run, Workbench, cuda_tool};

/// `<source>.c` as a cubin that is yet to be linked.
fn cubin(bench: &Workbench, source: &str, target: Target) -> PathBuf {
    let ptx = assembly(bench, source, target);
    let output = bench.path(format!("{source}-{}.cubin", target.arch));
    bench
        .command(cuda_tool("ptxas"))
        .args([&format!("-arch={}", target.arch), "-c"])
        .arg(ptx)
        .arg("-o")
        .arg(&output)
        .succeeds();
    output
}

/// `<source>.c` as an object for the target.
fn helper(bench: &Workbench, target: Target) -> PathBuf {
    if target.triple == AMD.triple {
        object(bench, "helper", target)
    } else {
        cubin(bench, "helper", target)
    }
}

/// The command that links the kernel `caller` with what `arguments` name.
fn link(bench: &Workbench, target: Target, arguments: &[&str]) -> std::process::Command {
    let image = target.image(&bitcode(bench, "caller", target));
    let mut command = bench.offlink();
    command
        .arg("cc")
        .arg(launcher(bench, "caller"))
        .arg(format!("--offlink-image={image}"))
        .args(arguments)
        .args([RUNTIME, "-o", "program"]);
    command
}

fn has_one_image(bench: &Workbench, target: Target) {
    let listing = bench.offlink().args(["inspect", "program"]).succeeds();
    assert!(
        listing.starts_with("program: 1 image, 1 entry\n"),
        "{listing}"
    );
    let named = format!("{} {} ", target.triple, target.arch);
    assert!(listing.contains(&named), "{listing}");
}

/// Of the members, those that define what the kernel needs come in; the others
/// would clash or are for other targets. The host linker sees none of it.
#[test]
fn members_of_an_archive() {
    for target in [NVIDIA, nvidia("sm_90a"), AMD] {
        let bench = Workbench::new();
        let member = helper(&bench, target);
        let clash = bench.path("clash.o");
        let other = if target.triple == AMD.triple {
            let other = Target {
                arch: "gfx908",
                ..AMD
            };
            std::fs::copy(object(&bench, "caller", target), &clash).unwrap();
            object(&bench, "helper", other)
        } else {
            std::fs::copy(cubin(&bench, "caller", target), &clash).unwrap();
            cubin(&bench, "helper", nvidia("sm_80"))
        };
        archive(&bench, "device", &[&other, &clash, &member]);
        for arguments in [&["libdevice.a"][..], &["-L.", "-ldevice", "-ldevice"]] {
            link(&bench, target, arguments).succeeds_silently();
            has_one_image(&bench, target);
        }
    }
}

/// A member needs another, and only host code of a further archive is named as
/// the device function is.
#[test]
fn members_that_members_need() {
    let bench = Workbench::new();
    let device = |name: &str, source: &str| {
        let source = bench.write(&format!("{name}.c"), source);
        let output = bench.path(format!("{name}.o"));
        bench
            .command("clang-22")
            .args(["--target=amdgcn-amd-amdhsa", "-mcpu=gfx90a", "-nogpulib"])
            .args(["-O2", "-c", "-o"])
            .arg(&output)
            .arg(source)
            .succeeds();
        output
    };
    let product = "float product(float, float);\n";
    let first = device(
        "first",
        &format!("{product}float helper(float x) {{ return product(x, 3); }}\n"),
    );
    let second = device(
        "second",
        "float product(float a, float b) { return a * b; }\n",
    );
    archive(&bench, "device", &[&second, &first]);
    let source = bench.write("own.c", "float helper(float x) { return x; }\n");
    bench.command("cc").arg("-c").arg(source).succeeds();
    archive(&bench, "host", &[Path::new("own.o")]);
    let source = bench.write(
        "user.c",
        "float helper(float); float use = 1;\n\
         __attribute__((constructor)) static void call(void) { use = helper(use); }\n",
    );
    bench.command("cc").arg("-c").arg(source).succeeds();
    link(&bench, AMD, &["user.o", "libdevice.a", "libhost.a"]).succeeds_silently();
    has_one_image(&bench, AMD);
}

/// All of what is named itself, or in a whole archive, is linked.
#[test]
fn named_on_the_line() {
    for target in [NVIDIA, AMD] {
        let bench = Workbench::new();
        let member = helper(&bench, target);
        archive(&bench, "device", &[&member]);
        let member = member.to_str().unwrap();
        link(&bench, target, &[member]).succeeds_silently();
        has_one_image(&bench, target);
        let (whole, end) = ("-Wl,--whole-archive", "-Wl,--no-whole-archive");
        link(&bench, target, &[whole, "libdevice.a", end]).succeeds_silently();
        has_one_image(&bench, target);
    }
}

/// Code for a GPU that the link is not for is no one's.
#[test]
fn for_another_gpu() {
    let bench = Workbench::new();
    let other = cubin(&bench, "helper", nvidia("sm_80"));
    archive(&bench, "device", &[&other]);
    let stderr = link(&bench, NVIDIA, &["libdevice.a"]).fails_with(1);
    assert!(stderr.contains("helper"), "{stderr}");
    let stderr = link(&bench, NVIDIA, &[other.to_str().unwrap()]).fails_with(1);
    assert!(stderr.contains("helper-sm_80.cubin' is of"), "{stderr}");
    assert!(stderr.contains("nvptx64-nvidia-cuda sm_80"), "{stderr}");
    assert!(!bench.path("program").exists());
}
