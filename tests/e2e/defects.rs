//! What clang-linker-wrapper 22 does wrong and offlink does right. The numbers
//! are those of the LLVM project's issues and pull requests where there is one.
//! docs/CLANG_LINKER_WRAPPER.md lists all of its defects with their tests.

use std::path::{Path, PathBuf};

use crate::as_wrapper::{CUDA, HIP, calls, openmp_unit, program, runtime, unit, unit_of, wrapper};
use crate::device_code::CPU;
use crate::workbench::{Run, Workbench, cuda, offlink};

/// Two objects of one file name in different folders, and temporary files are
/// kept: LLVM's wrapper writes both device codes to one file.
#[test]
fn kept_files_of_objects_with_one_name_do_not_collide() {
    let bench = Workbench::new();
    bench.folder("a");
    bench.folder("b");
    let a = unit(&bench, HIP, "a/x", &["gfx90a"]);
    let b = unit(&bench, HIP, "b/x", &["gfx90a"]);
    bench.folder("out");
    program(&bench, &[&a, &b], &["--save-temps", "-o", "out/prog"]).succeeds_silently();
    let code = |name: &str| std::fs::read(bench.path("out").join(name)).expect("kept code");
    let first = code("prog.x-amdgcn-amd-amdhsa-gfx90a.o");
    let second = code("prog.x-amdgcn-amd-amdhsa-gfx90a-2.o");
    assert!(first != second);
    assert_eq!(
        calls(&bench, bench.path("out/prog"), "hipRegisterFunction"),
        2
    );
}

/// All that is kept lies beside the output, under its name, and nothing else
/// does; LLVM's wrapper puts it into the current folder (198679).
#[test]
fn kept_files_lie_beside_the_output() {
    let bench = Workbench::new();
    let hip = unit(&bench, HIP, "hip", &["gfx90a"]);
    bench.folder("out");
    let before = names(&bench.path("."));
    program(&bench, &[&hip], &["--save-temps", "-o", "out/prog"]).succeeds_silently();
    let mut after = names(&bench.path("."));
    after.retain(|name| !["as", "runtime.o"].contains(&name.as_str()));
    assert_eq!(before, after);
    let kept = names(&bench.path("out"));
    assert!(kept.iter().all(|name| name.starts_with("prog")), "{kept:?}");
    for name in [
        "prog.amdgcn.gfx90a.img",
        "prog.hipfb",
        "prog.hip.image.wrapper.o",
    ] {
        assert!(kept.iter().any(|kept| kept == name), "{name}: {kept:?}");
    }
}

fn names(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).expect("a folder");
    let mut names: Vec<String> = entries
        .map(|entry| {
            entry
                .expect("an entry")
                .file_name()
                .to_string_lossy()
                .into_owned()
        })
        .collect();
    names.sort();
    names
}

/// Code of two kinds, and temporary files are kept: the registration objects
/// have names of their own (67583).
#[test]
fn kept_files_of_several_kinds_do_not_collide() {
    let bench = Workbench::new();
    let cuda = unit(&bench, CUDA, "cuda", &["sm_90"]);
    let openmp = openmp_unit(&bench, "openmp");
    program(&bench, &[&cuda, &openmp], &["--save-temps", "-o", "prog"]).succeeds_silently();
    let prog = bench.path("prog");
    assert_eq!(calls(&bench, &prog, "tgt_register_lib"), 1);
    assert_eq!(calls(&bench, &prog, "cudaRegisterFunction"), 1);
}

/// clang's link-only step: nvlink is in the CUDA folder that the line names, but
/// LLVM's wrapper does not tell the clang that needs it (149107, 53573).
#[test]
fn nvlink_of_the_named_cuda_is_found() {
    let bench = Workbench::new();
    let relocatable = ["-xcuda", "-nocudainc", "-nocudalib"];
    let first = unit(&bench, &relocatable, "first", &["sm_90"]);
    let second = unit(&bench, &relocatable, "second", &["sm_90"]);
    program(&bench, &[&first, &second], &["-o", "prog"]).succeeds_silently();
    assert_eq!(calls(&bench, bench.path("prog"), "cudaRegisterFunction"), 2);
}

/// Without `-o` LLVM's wrapper leaves the registration out.
#[test]
fn a_line_without_output_registers() {
    let bench = Workbench::new();
    let hip = unit(&bench, HIP, "hip", &["gfx90a"]);
    program(&bench, &[&hip], &[]).succeeds_silently();
    assert_eq!(
        calls(&bench, bench.path("a.out"), "hipRegisterFatBinary"),
        1
    );
}

/// With two `-o` LLVM's wrapper links the registration twice.
#[test]
fn a_line_with_two_outputs_registers_once() {
    let bench = Workbench::new();
    let hip = unit(&bench, HIP, "hip", &["gfx90a"]);
    program(&bench, &[&hip], &["-o", "other", "-o", "prog"]).succeeds_silently();
    assert_eq!(calls(&bench, bench.path("prog"), "hipRegisterFatBinary"), 1);
    assert!(!bench.path("other").exists());
}

/// A static library with one kernel, and an object that needs it.
fn library_and_user(bench: &Workbench, folder: &str) -> PathBuf {
    let source = "__global__ void kernel(int *out) { *out = 1; }\nvoid launch() {}\n";
    let member = unit_of(bench, HIP, "member", source, &["--offload-arch=gfx90a"]);
    let library = bench.folder(folder).join("libkernel.a");
    bench
        .command("llvm-ar-22")
        .arg("rc")
        .args([&library, &member])
        .succeeds();
    let user = bench.write("user.cpp", "void launch();\nvoid user() { launch(); }\n");
    let object = bench.path("user.o");
    bench
        .command("clang++-22")
        .args(["-fPIC", "-c", "-o"])
        .args([&object, &user])
        .succeeds();
    object
}

fn registers_the_library(bench: &Workbench, user: &Path, arguments: &[&str]) {
    program(bench, &[user], &["-o", "prog"])
        .args(arguments)
        .succeeds_silently();
    assert_eq!(calls(bench, bench.path("prog"), "hipRegisterFunction"), 1);
}

/// `--library name` is a library; LLVM's wrapper takes it for a folder.
#[test]
fn libraries_by_the_long_option() {
    let bench = Workbench::new();
    let user = library_and_user(&bench, "lib");
    registers_the_library(&bench, &user, &["-Llib", "--library", "kernel"]);
    registers_the_library(&bench, &user, &["-Llib", "--library=kernel"]);
}

/// Behind `-Bstatic` the linker takes the archive, though a shared library of
/// that name lies beside it; LLVM's wrapper looks at the latter.
#[test]
fn the_archive_where_the_linker_takes_it() {
    let bench = Workbench::new();
    let user = library_and_user(&bench, "lib");
    bench.write("empty.c", "");
    bench
        .command("cc")
        .args(["-shared", "empty.c", "-o", "lib/libkernel.so"])
        .succeeds();
    let line = ["-Llib", "-Bstatic", "-lkernel", "-Bdynamic"];
    registers_the_library(&bench, &user, &line);
    registers_the_library(&bench, &user, &["-Llib", "-l:libkernel.a"]);
}

/// A library that only the linker's own folders have is not missing; LLVM's
/// wrapper gives up.
#[test]
fn libraries_of_the_linkers_own_folders() {
    let bench = Workbench::new();
    let hip = unit(&bench, HIP, "hip", &["gfx90a"]);
    program(&bench, &[&hip], &["-o", "prog"])
        .env("LIBRARY_PATH", "")
        .args(["-lm", "-ldl"])
        .succeeds_silently();
    wrapper(&bench)
        .args(["-shared", "-o", "lib.so", "hip.o", "-lm"])
        .succeeds_silently();
}

/// One container can't hold two kinds; LLVM's wrapper writes one over the other
/// and says nothing.
#[test]
fn one_container_of_two_kinds_is_refused() {
    let bench = Workbench::new();
    unit(&bench, CUDA, "cuda", &["sm_90"]);
    unit(&bench, HIP, "hip", &["gfx90a"]);
    let stderr = wrapper(&bench)
        .args(["--emit-fatbin-only", "-o", "out", "cuda.o", "hip.o"])
        .fails_with(1);
    assert!(stderr.contains("cuda and hip"), "{stderr}");
    assert!(!bench.path("out").exists());
}

/// LLVM's wrapper fails on what a dry run has not made, and prints no names.
#[test]
fn a_dry_run_that_keeps_temporary_files() {
    let bench = Workbench::new();
    unit(&bench, CUDA, "cuda", &["sm_90"]);
    let printed = wrapper(&bench)
        .args(["--dry-run", "--save-temps", "-o", "prog", "cuda.o"])
        .warns();
    let image = "--image3=kind=elf,sm=90,file=prog.nvptx64.sm_90.img";
    assert!(printed.contains(image), "{printed}");
    let host = printed.lines().last().expect("a line");
    assert!(
        host.ends_with("-o prog prog.cuda.image.wrapper.o cuda.o"),
        "{host}"
    );
}

/// Temporary files go away when a link fails, too.
#[test]
fn nothing_is_left_behind_by_a_failure() {
    let bench = Workbench::new();
    let hip = unit(&bench, HIP, "hip", &["gfx90a"]);
    let temporary = bench.folder("temporary");
    for failing in [
        &["-lno-such-library"][..],
        &["--device-linker=--no-such-option"],
    ] {
        let output = program(&bench, &[&hip], &["-o", "prog"])
            .env("TMPDIR", &temporary)
            .args(failing)
            .output()
            .expect("offlink");
        assert!(!output.status.success());
        assert_eq!(names(&temporary), [""; 0]);
    }
}

/// The host linker's exit code is the link's; LLVM's wrapper makes 1 of it.
#[test]
fn the_linkers_exit_code_is_kept() {
    let bench = Workbench::new();
    let hip = unit(&bench, HIP, "hip", &["gfx90a"]);
    let linker = bench.write("linker", "#!/bin/sh\nexit 42\n");
    bench.command("chmod").arg("+x").arg(&linker).succeeds();
    wrapper(&bench)
        .arg(format!("--linker-path={}", linker.display()))
        .args(["-o", "prog"])
        .arg(hip)
        .fails_with(42);
}

/// Code for gfx90a, gfx90a:xnack+ and gfx90a:xnack-: each target has an image of
/// its own code; LLVM's wrapper puts code for one into another's link, where it
/// depends on the order whether that fails (207835).
#[test]
fn target_ids_of_one_processor_are_kept_apart() {
    let bench = Workbench::new();
    let plain = unit(&bench, HIP, "plain", &["gfx90a"]);
    let on = unit(&bench, HIP, "on", &["gfx90a:xnack+"]);
    let off = unit(&bench, HIP, "off", &["gfx90a:xnack-"]);
    for objects in [
        [&plain, &on, &off],
        [&off, &on, &plain],
        [&on, &plain, &off],
    ] {
        program(&bench, &objects.map(PathBuf::as_path), &["-o", "prog"]).succeeds_silently();
        let listing = bench.offlink().args(["inspect", "prog"]).succeeds();
        for arch in ["gfx90a ", "gfx90a:xnack+", "gfx90a:xnack-"] {
            assert!(listing.contains(arch), "{listing}");
        }
        assert_eq!(calls(&bench, bench.path("prog"), "hipRegisterFunction"), 3);
    }
}

/// An option for the device linker keeps the value behind it; LLVM's
/// clang-nvlink-wrapper drops that.
#[test]
fn values_of_device_linker_options_are_kept() {
    let bench = Workbench::new();
    unit(&bench, HIP, "hip", &["gfx90a"]);
    let device = |value: &str| format!("--device-linker=amdgcn-amd-amdhsa={value}");
    wrapper(&bench)
        .args(["--emit-device-images-only", "-o", "image", "hip.o"])
        .args([device("-soname"), device("a-name")])
        .succeeds_silently();
    let dynamic = bench
        .command("llvm-readelf-22")
        .args(["--dynamic", "image"])
        .succeeds();
    assert!(dynamic.contains("[a-name]"), "{dynamic}");
}

/// The runtime maps bundles by pages; LLVM's wrapper aligns them to 16 bytes.
#[test]
fn bundles_start_a_page() {
    let bench = Workbench::new();
    let hip = unit(&bench, HIP, "hip", &["gfx90a"]);
    program(&bench, &[&hip], &["-o", "prog"]).succeeds_silently();
    let sections = bench
        .command("llvm-readelf-22")
        .args(["-S", "-W", "prog"])
        .succeeds();
    let line = sections.lines().find(|line| line.contains(".hip_fatbin "));
    let line = line.expect("a section with the bundle");
    assert!(line.ends_with(" 4096"), "{line}");
}

/// More arguments than the system takes reach the linker by a file (183598,
/// 219914).
#[test]
fn long_lines() {
    let bench = Workbench::new();
    let hip = unit(&bench, HIP, "hip", &["gfx90a"]);
    let runtime = runtime(&bench);
    let long = "long".repeat(50);
    let mut line = format!(
        "-shared -o prog.so {} {}\n",
        hip.display(),
        runtime.display()
    );
    for number in 0..16_000 {
        line += &format!("-L/{long}/{number}\n");
    }
    assert!(line.len() > 3 << 20);
    bench.write("line.rsp", line);
    wrapper(&bench).arg("@line.rsp").succeeds_silently();
    let listing = bench.offlink().args(["inspect", "prog.so"]).succeeds();
    assert!(listing.contains("gfx90a"), "{listing}");
}

/// A library that only a response file names (ROCm/hip 2193).
#[test]
fn libraries_in_response_files() {
    let bench = Workbench::new();
    let user = library_and_user(&bench, "lib");
    bench.write(
        "inner.rsp",
        "--whole-archive lib/libkernel.a --no-whole-archive\n",
    );
    bench.write("outer.rsp", "-Llib @inner.rsp\n");
    registers_the_library(&bench, &user, &["@outer.rsp"]);
}

/// Kernels of one name in two units, each internal to its own (143432).
#[test]
fn internal_kernels_of_one_name() {
    let bench = Workbench::new();
    let source = |value: u32, user: &str| {
        format!(
            "static __global__ void same(int *out) {{ *out = {value}; }}\n\
             extern \"C\" void use(const volatile void *);\n\
             void {user}() {{ use((const void *)same); }}\n"
        )
    };
    for (language, arch, function) in [
        (HIP, "--offload-arch=gfx90a", "hipRegisterFunction"),
        (CUDA, "--offload-arch=sm_90", "cudaRegisterFunction"),
    ] {
        let one = unit_of(&bench, language, "one", &source(1, "use_one"), &[arch]);
        let two = unit_of(&bench, language, "two", &source(2, "use_two"), &[arch]);
        program(&bench, &[&one, &two], &["-o", "prog"]).succeeds_silently();
        let printed = bench.command(bench.path("prog")).succeeds();
        let mut kernels: Vec<&str> = printed
            .lines()
            .filter(|line| line.starts_with(function))
            .filter_map(|line| line.split(" device=").nth(1)?.split(' ').next())
            .collect();
        kernels.dedup();
        assert_eq!(kernels.len(), 2, "{printed}");
    }
}

/// Debug information in the bitcode of a device LTO (85472).
#[test]
fn debug_information_in_device_lto() {
    let bench = Workbench::new();
    let source = "__global__ void kernel(int *out) { *out = 1; }\n";
    for (language, arch) in [
        (HIP, "--offload-arch=gfx90a"),
        (CUDA, "--offload-arch=sm_90"),
    ] {
        let object = unit_of(&bench, language, "debug", source, &[arch, "-g"]);
        program(&bench, &[&object], &["-o", "prog", "--device-compiler=-g"]).succeeds_silently();
    }
}

/// offlink and its tools as links into folders of other names (184160).
#[test]
fn tools_behind_symbolic_links() {
    let bench = Workbench::new();
    let cuda_object = unit(&bench, CUDA, "cuda", &["sm_90"]);
    bench.folder("farm");
    bench.folder("farm/bin");
    bench.link("farm/clang-linker-wrapper", offlink());
    bench.link("farm/bin/ptxas", cuda().join("bin/ptxas"));
    bench.link("farm/ld", bench.find("ld"));
    bench
        .command(bench.path("farm/clang-linker-wrapper"))
        .args([
            "--cuda-path=farm",
            "--no-canonical-prefixes",
            "--linker-path=farm/ld",
        ])
        .args(["-shared", "-o", "prog.so"])
        .arg(cuda_object)
        .succeeds_silently();
}

/// A device library that nothing needs may be missing.
#[test]
fn unneeded_device_libraries_are_not_looked_for() {
    let bench = Workbench::new();
    let cuda = unit(&bench, CUDA, "cuda", &["sm_90"]);
    let device = "--device-linker=nvptx64-nvidia-cuda=-lompdevice";
    program(&bench, &[&cuda], &["-o", "prog", device]).succeeds_silently();
    assert_eq!(calls(&bench, bench.path("prog"), "cudaRegisterFunction"), 1);
}

/// A finished image says itself that it is for sm_90; LLVM's wrapper takes every
/// cubin of CUDA 13 for one of sm_90a.
#[test]
fn finished_cubins_are_taken_for_what_they_are() {
    let bench = Workbench::new();
    let cuda = unit(&bench, CUDA, "cuda", &["sm_90"]);
    wrapper(&bench)
        .args(["--emit-device-images-only", "-o", "one.cubin"])
        .arg(&cuda)
        .succeeds_silently();
    let printed = wrapper(&bench)
        .args(["--dry-run", "--override-image=cuda=one.cubin", "-o", "prog"])
        .arg(&cuda)
        .warns();
    assert!(printed.contains("sm=90,file=one.cubin"), "{printed}");
}

/// An image for a CPU is named by its triple alone.
#[test]
fn images_for_cpus_have_names_of_their_own() {
    let bench = Workbench::new();
    let openmp = openmp_unit(&bench, "openmp");
    program(&bench, &[&openmp], &["--save-temps", "-o", "prog"]).succeeds_silently();
    assert!(bench.path("prog.x86_64..img").exists(), "{}", CPU.triple);
}
