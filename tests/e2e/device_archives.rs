//! Libraries of functions that device code calls: no host code says which of
//! their members take part.

use std::path::{Path, PathBuf};

use crate::archives::archive;
use crate::device_code::{
    CPU, LAUNCHED, NVIDIA, RUNTIME, Target, bitcode, embed, launcher, nvidia, pack,
};
use crate::workbench::{Run, Workbench};

/// A kernel for the CPU that leaves its arithmetic to a library.
const KERNEL: &str = "float scaled(float a, float x);
void saxpy(void *dyn, const float *x, float *y, unsigned long bits, long n) {
  float a;
  __builtin_memcpy(&a, &bits, sizeof a);
  for (long i = 0; i < n; i++) y[i] += scaled(a, x[i]);
}
";

/// C source as the image argument of bitcode for the CPU.
fn cpu_image(bench: &Workbench, name: &str, source: &str) -> String {
    let source = bench.write(&format!("{name}.c"), source);
    let output = bench.path(format!("{name}.bc"));
    bench
        .command("clang-22")
        .args(["-O2", "-fPIC", "-emit-llvm", "-c", "-o"])
        .arg(&output)
        .arg(source)
        .succeeds();
    CPU.image(&output)
}

/// A host object that nobody needs for its host code, with these images in it.
fn holder(bench: &Workbench, name: &str, images: &[String]) -> PathBuf {
    let packed = pack(bench, images, &format!("{name}.bin"));
    let source = bench.write(
        &format!("{name}-host.c"),
        format!("int host_part_of_{name};\n"),
    );
    let output = bench.path(format!("{name}.o"));
    bench
        .command("clang-22")
        .args(["-fPIC", "-c", "-Xclang"])
        .arg(format!("-fembed-offload-object={}", packed.display()))
        .arg("-o")
        .arg(&output)
        .arg(source)
        .succeeds();
    output
}

fn images_of(bench: &Workbench, program: &str) -> Vec<String> {
    let listing = bench.offlink().args(["inspect", program]).succeeds();
    let lines = listing.lines().skip(1);
    lines.map(str::to_owned).collect()
}

/// The member that has the function is needed by device code alone, and needs
/// another; members that clash with these are not needed at all.
#[test]
fn members_that_device_code_needs() {
    let bench = Workbench::new();
    let kernel = cpu_image(&bench, "kernel", KERNEL);
    let packed = pack(&bench, &[kernel], "kernel.bin");
    embed(&bench, &packed, &[], "main.o");
    let member = |name: &str, source: &str| {
        let image = cpu_image(&bench, name, source);
        holder(&bench, &format!("{name}_holder"), &[image])
    };
    let product = "float product(float, float);\n";
    let members = [
        member("clash", "float saxpy(void) { return 1; }\nint unneeded;\n"),
        member(
            "scaled",
            &format!("{product}float scaled(float a, float x) {{ return product(a, x); }}\n"),
        ),
        member(
            "product",
            "float product(float a, float x) { return a * x; }\n",
        ),
        member(
            "second",
            "float scaled(float a, float x) { return 0; }\nint other;\n",
        ),
    ];
    let members: Vec<&Path> = members.iter().map(PathBuf::as_path).collect();
    archive(&bench, "scaled", &members);
    bench
        .offlink()
        .args(["cc", "main.o", "-L.", "-lscaled", "-lscaled", RUNTIME])
        .args(["-o", "program"])
        .succeeds_silently();
    assert_eq!(bench.program(bench.path("program")).succeeds(), LAUNCHED);
    let symbols = bench.command("nm").arg("program").succeeds();
    assert!(!symbols.contains("host_part_of"), "{symbols}");
}

/// A library for several GPUs adds no image for one that the program is not for.
#[test]
fn a_library_adds_no_target() {
    let bench = Workbench::new();
    launcher(&bench, "caller");
    let image = |source: &str, target: Target| target.image(&bitcode(&bench, source, target));
    let older = nvidia("sm_80");
    let images = [image("helper", older), image("helper", NVIDIA)];
    let member = holder(&bench, "helper", &images);
    archive(&bench, "helper", &[&member]);
    bench
        .offlink()
        .args(["cc", "launch-caller.o", "-L.", "-lhelper", RUNTIME])
        .arg(format!("--offlink-image={}", image("caller", NVIDIA)))
        .args(["-o", "program"])
        .succeeds_silently();
    let images = images_of(&bench, "program");
    assert!(images[0].contains("sm_90"), "{images:?}");
    assert!(
        !images.iter().any(|line| line.contains("sm_80")),
        "{images:?}"
    );
}

/// Links `caller` with what `arguments` name.
fn links_caller(bench: &Workbench, arguments: &[&str]) {
    let image = NVIDIA.image(&bitcode(bench, "caller", NVIDIA));
    bench
        .offlink()
        .args(["cc", "launch-caller.o"])
        .arg(format!("--offlink-image={image}"))
        .args(arguments)
        .args([RUNTIME, "-o", "program"])
        .succeeds_silently();
    let images = images_of(bench, "program");
    assert!(images[0].contains("sm_90"), "{images:?}");
}

/// OpenMP's own device library is of this kind: bare bitcode, for any arch. The
/// host linkers don't get to see it in any of its spellings.
#[test]
fn archive_of_bare_bitcode() {
    let bench = Workbench::new();
    launcher(&bench, "caller");
    let member = bitcode(&bench, "helper", NVIDIA);
    archive(&bench, "device", &[&member]);
    for arguments in [
        &["libdevice.a"][..],
        &["-L.", "-ldevice"],
        &["-L.", "-l", "device"],
        &["-L.", "-l:libdevice.a", "libdevice.a"],
        &[
            "-Wl,--whole-archive",
            "libdevice.a",
            "libdevice.a",
            "-Wl,--no-whole-archive",
        ],
    ] {
        links_caller(&bench, arguments);
    }
}

/// A host function by the name of a device function comes from the host's
/// library, though the one for devices stands first.
#[test]
fn a_name_of_host_and_device() {
    let bench = Workbench::new();
    launcher(&bench, "caller");
    let member = bitcode(&bench, "helper", NVIDIA);
    archive(&bench, "device", &[&member]);
    let source = bench.write(
        "user.c",
        "float helper(float); float use = 1;\n\
         __attribute__((constructor)) static void call(void) { use = helper(use); }\n",
    );
    bench.command("cc").arg("-c").arg(source).succeeds();
    let source = bench.write("own.c", "float helper(float x) { return x; }\n");
    bench.command("cc").arg("-c").arg(source).succeeds();
    archive(&bench, "host", &[Path::new("own.o")]);
    links_caller(&bench, &["user.o", "libdevice.a", "libhost.a"]);
}

#[test]
fn archive_of_offload_binaries() {
    let bench = Workbench::new();
    launcher(&bench, "caller");
    let image = NVIDIA.image(&bitcode(&bench, "helper", NVIDIA));
    let member = pack(&bench, &[image], "helper.bin");
    archive(&bench, "packed", &[&member]);
    links_caller(&bench, &["-L.", "-lpacked"]);
}

/// Without a need the library's code stays out, whatever its bitcode is worth.
#[test]
fn unneeded_device_library() {
    let bench = Workbench::new();
    launcher(&bench, "caller");
    let member = bitcode(&bench, "helper", NVIDIA);
    archive(&bench, "device", &[&member]);
    let source = bench.write("plain.c", "int main(void) { return 0; }\n");
    bench.command("cc").arg("-c").arg(source).succeeds();
    bench
        .offlink()
        .args(["cc", "plain.o", "libdevice.a", "-o", "program"])
        .succeeds_silently();
    assert!(images_of(&bench, "program").is_empty());
}
