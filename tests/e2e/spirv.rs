//! SPIR-V images: made of bitcode, joined, and put into the containers that
//! their runtimes read.

use std::path::{Path, PathBuf};

use crate::device_code::{RUNTIME, embed, launcher, pack};
use crate::workbench::{Run, Workbench, fixture, system_libllvm};

const TRIPLE: &str = "spirv64-unknown-unknown";

/// A fixture compiled: to bitcode (`bc`) or SPIR-V (`spv`), by the extension.
fn compiled(bench: &Workbench, name: &str, extension: &str) -> PathBuf {
    let output = bench.path(format!("{name}.{extension}"));
    let bitcode = (extension == "bc").then_some("-emit-llvm");
    bench
        .command("clang-22")
        .arg(format!("--target={TRIPLE}"))
        .args(["-O1", "-c", "-o"])
        .arg(&output)
        .args(bitcode)
        .arg(fixture("opencl").join(format!("{name}.cl")))
        .succeeds_silently();
    output
}

fn link(bench: &Workbench, inputs: &[PathBuf], more: &[&str]) -> std::process::Command {
    let mut command = bench.offlink();
    command
        .args(["link", "--triple", TRIPLE, "-o", "image.spv"])
        .args(more)
        .args(inputs);
    command
}

/// The names of the entry points of a module, which must be valid.
fn entry_points(bench: &Workbench, module: &Path) -> Vec<String> {
    bench.command("spirv-val").arg(module).succeeds_silently();
    let text = bench.command("spirv-dis").arg(module).succeeds_silently();
    let mut names: Vec<String> = text
        .lines()
        .filter(|line| line.trim_start().starts_with("OpEntryPoint Kernel "))
        .filter_map(|line| line.split('"').nth(1))
        .map(str::to_owned)
        .collect();
    names.sort();
    names
}

#[test]
fn bitcode_becomes_one_valid_module_at_every_level() {
    let bench = Workbench::new();
    let inputs = ["scale", "twice"].map(|name| compiled(&bench, name, "bc"));
    for level in ["-O0", "-O1", "-O2", "-O3"] {
        link(&bench, &inputs, &[level]).succeeds_silently();
        let image = bench.path("image.spv");
        assert_eq!(entry_points(&bench, &image), ["count", "scale"]);
        let text = bench.command("spirv-dis").arg(&image).succeeds();
        // Nobody else can call it.
        assert!(!text.contains("Export"), "{text}");
    }
}

#[test]
fn modules_join_whatever_they_were() {
    let bench = Workbench::new();
    for (scale, twice) in [("spv", "bc"), ("bc", "spv"), ("spv", "spv")] {
        let inputs = [
            compiled(&bench, "scale", scale),
            compiled(&bench, "twice", twice),
        ];
        link(&bench, &inputs, &[]).succeeds_silently();
        assert_eq!(
            entry_points(&bench, &bench.path("image.spv")),
            ["count", "scale"]
        );
    }
}

#[test]
fn a_module_passes_as_it_is() {
    let bench = Workbench::new();
    let module = compiled(&bench, "twice", "spv");
    link(&bench, std::slice::from_ref(&module), &[])
        .env("PATH", "")
        .succeeds_silently();
    let read = |path: &Path| std::fs::read(path).expect("a module");
    assert!(read(&module) == read(&bench.path("image.spv")));
}

#[test]
fn bitcode_stays_bitcode_if_that_is_wanted() {
    let bench = Workbench::new();
    let bitcode = compiled(&bench, "twice", "bc");
    link(&bench, std::slice::from_ref(&bitcode), &["--emit=bc"]).succeeds_silently();
    let made = std::fs::read(bench.path("image.spv")).expect("bitcode");
    assert!(made.starts_with(b"BC\xc0\xde"));
    let inputs = [bitcode, compiled(&bench, "scale", "spv")];
    let stderr = link(&bench, &inputs, &["--emit=bc"]).fails_with(1);
    assert!(
        stderr.contains("scale.spv', which is machine code, PTX or SPIR-V"),
        "{stderr}"
    );
}

#[test]
fn what_no_module_defines_is_named() {
    let bench = Workbench::new();
    let stderr = link(&bench, &[compiled(&bench, "scale", "bc")], &[]).fails_with(1);
    assert!(stderr.contains("'twice' (used by 'scale')"), "{stderr}");
    let stderr = link(&bench, &[compiled(&bench, "scale", "spv")], &[]).fails_with(1);
    assert!(stderr.contains("undefined device symbol"), "{stderr}");
    assert!(stderr.contains("scale.spv"), "{stderr}");
}

#[test]
fn the_tools_that_are_missing_are_named() {
    let bench = Workbench::new();
    let modules = ["scale", "twice"].map(|name| compiled(&bench, name, "spv"));
    let stderr = link(&bench, &modules, &[]).env("PATH", "").fails_with(1);
    assert!(stderr.contains("spirv-link was not found"), "{stderr}");
    assert!(stderr.contains("apt install spirv-tools"), "{stderr}");

    let bitcode = [compiled(&bench, "twice", "bc")];
    let old = system_libllvm(&bench, "libLLVM.so.19.1");
    let rustc = bench
        .command("rustc")
        .args(["--print", "sysroot"])
        .succeeds();
    let of_rustc = std::fs::read_dir(Path::new(rustc.trim()).join("lib"))
        .expect("rustc's libraries")
        .map(|entry| entry.expect("an entry").path())
        .find(|path| path.display().to_string().contains("libLLVM.so."))
        .expect("rustc's libLLVM");
    let with = |library: &Path| format!("--llvm={}", library.display());
    let stderr = link(&bench, &bitcode, &[&with(&of_rustc)]).fails_with(1);
    assert!(stderr.contains("has no SPIR-V backend"), "{stderr}");
    // It can't read the bitcode either, and that is said first.
    let stderr = link(&bench, &bitcode, &[&with(&old)]).fails_with(1);
    assert!(stderr.contains("22 or newer"), "{stderr}");
}

#[test]
fn an_arch_is_refused() {
    let bench = Workbench::new();
    let module = compiled(&bench, "twice", "spv");
    let stderr = link(&bench, &[module], &["--arch=pvc"]).fails_with(1);
    assert!(stderr.contains("arch 'pvc'"), "{stderr}");
}

/// A program with an image for Intel's OpenMP, linked with `option`.
fn openmp_program(bench: &Workbench, option: &str) -> PathBuf {
    let module = compiled(bench, "twice", "spv");
    let image = format!(
        "file={},triple=spirv64-intel,arch=generic,kind=openmp",
        module.display()
    );
    let packed = pack(bench, &[image], "images.bin");
    let object = embed(
        bench,
        &packed,
        &["-Dmain=unused", "-DKERNEL=\"count\""],
        "host.o",
    );
    let runtime = bench.write(
        "runtime.c",
        "void __tgt_register_lib(void *it) {}\nvoid __tgt_unregister_lib(void *it) {}\n\
         int __tgt_target_kernel(void) { return 0; }\nint main(void) { return 0; }\n",
    );
    let program = bench.path("program");
    bench
        .offlink()
        .args(["cc", option, "-o"])
        .arg(&program)
        .args([&object, &runtime])
        .arg("-Wl,--unresolved-symbols=ignore-all")
        .succeeds_silently();
    bench.command(&program).succeeds_silently();
    program
}

#[test]
fn a_kernel_that_the_module_lacks_is_named() {
    let bench = Workbench::new();
    let module = compiled(&bench, "twice", "spv");
    let stderr = bench
        .offlink()
        .args(["cc", "-o", "program"])
        .arg(launcher(&bench, "absent"))
        .arg(format!(
            "--offlink-image=file={},triple=spirv64-intel",
            module.display()
        ))
        .arg(RUNTIME)
        .fails_with(1);
    assert!(stderr.contains("openmp kernel 'absent'"), "{stderr}");
    assert!(stderr.contains("images for spirv64-intel;"), "{stderr}");
}

/// The one image of a program, by LLVM's own tool.
fn image_in(bench: &Workbench, program: &Path) -> PathBuf {
    bench
        .command("llvm-offload-binary-22")
        .arg(program)
        .arg("--image=file=image,kind=openmp,triple=spirv64-intel")
        .succeeds();
    bench.path("image")
}

#[test]
fn intels_openmp_of_llvm_22_gets_an_elf_file_with_notes() {
    let bench = Workbench::new();
    let program = openmp_program(&bench, "--offlink-spirv-runtime=22");
    let image = image_in(&bench, &program);
    let notes = bench
        .command("llvm-readelf-22")
        .arg("-n")
        .arg(&image)
        .succeeds_silently();
    assert_eq!(notes.matches("INTELONEOMPOFFLOAD").count(), 3, "{notes}");
    let dumped = bench.path("module.spv");
    bench
        .command("llvm-objcopy-22")
        .arg(format!(
            "--dump-section=__openmp_offload_spirv_0={}",
            dumped.display()
        ))
        .args([&image, &bench.path("copy")])
        .succeeds();
    assert_eq!(entry_points(&bench, &dumped), ["count"]);
    let listing = bench.offlink().arg("inspect").arg(program).succeeds();
    assert!(listing.contains("SPIR-V in oneOMP"), "{listing}");
    assert!(listing.contains(" count\n"), "{listing}");
}

#[test]
fn intels_openmp_of_llvm_24_gets_an_offload_binary() {
    let bench = Workbench::new();
    let program = openmp_program(&bench, "--offlink-spirv-runtime=24");
    let image = image_in(&bench, &program);
    let bytes = std::fs::read(&image).expect("an image");
    // Version 2 of an offload binary, with one entry of SPIR-V for OpenMP.
    assert_eq!(bytes[..8], [0x10, 0xff, 0x10, 0xad, 2, 0, 0, 0]);
    assert_eq!(bytes[32..36], [6, 0, 1, 0]);
    let listing = bench.offlink().arg("inspect").arg(&image).succeeds();
    assert!(listing.contains("openmp  spirv64-intel"), "{listing}");
    assert!(listing.contains(" count\n"), "{listing}");
}
