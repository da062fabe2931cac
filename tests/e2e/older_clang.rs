//! Objects of clang 19, whose offload entries have another form and other sections
//! than those of later ones. No package has clang 20, which is between the two; its
//! entries are tested in crates/bundle with objects that it made.

use std::path::PathBuf;
use std::process::Command;

use crate::clang_wrapper::wrapper_folder;
use crate::device_code::{CPU, RUNTIME, bitcode, launcher_with, saxpy_images};
use crate::gpu_kinds::{Language, count, source, without_addresses};
use crate::workbench::{Run, Workbench, cuda, fixture};

/// Where Debian has the runtime of LLVM 19, without a development package: that
/// can't be installed beside LLVM 22's.
const LIBRARIES: &str = "/usr/lib/llvm-19/lib";

const CPU_TARGET: [&str; 2] = ["-fopenmp", "-fopenmp-targets=x86_64-unknown-linux-gnu"];

/// What the OpenMP program prints when its regions ran on the device.
const RAN: &str = "target region: sum 499500, on the device\n";

/// clang of a version for OpenMP on the CPU, with offlink as its wrapper.
fn openmp(bench: &Workbench, clang: &str) -> Command {
    for (link, library) in [
        ("lib/libomp.so", "libomp.so.5"),
        ("lib/libomptarget.so", "libomptarget.so.19.1"),
    ] {
        bench.folder("lib");
        if !bench.path(link).exists() {
            bench.link(link, PathBuf::from(LIBRARIES).join(library));
        }
    }
    let mut command = bench.command(clang);
    command
        .arg("-B")
        .arg(wrapper_folder(bench))
        .args(CPU_TARGET)
        // The bitcode of a library that is for GPUs is in the development package.
        .args(["-nogpulib", "-O2", "-Wno-unused-command-line-argument"]);
    command
}

/// `object`, compiled from a fixture by one clang.
fn openmp_object(bench: &Workbench, clang: &str, name: &str, flags: &[&str]) -> String {
    let object = format!("{name}-{clang}.o");
    openmp(bench, clang)
        .args(flags)
        .args(["-c", "-o", &object])
        .arg(fixture("openmp").join(format!("{name}.c")))
        .succeeds_silently();
    object
}

/// The arguments of a link with the runtime of LLVM 19.
fn runtime() -> [String; 2] {
    ["-Llib".into(), format!("-Wl,-rpath,{LIBRARIES}")]
}

fn runs_on_the_device(bench: &Workbench) {
    assert_eq!(bench.program(bench.path("program")).succeeds(), RAN);
    let listing = bench.offlink().args(["inspect", "program"]).succeeds();
    assert!(listing.contains("1 image, 2 entries"), "{listing}");
    assert_eq!(listing.matches(" (kernel)").count(), 2, "{listing}");
}

#[test]
fn openmp_target_regions() {
    let bench = Workbench::new();
    openmp(&bench, "clang-19")
        .arg(fixture("openmp/regions.c"))
        .args(runtime())
        .args(["-o", "program"])
        .succeeds_silently();
    runs_on_the_device(&bench);
}

/// LLVM 22's runtime reads these entries too.
#[test]
fn openmp_with_the_runtime_of_llvm_22() {
    let bench = Workbench::new();
    let object = openmp_object(&bench, "clang-19", "regions", &[]);
    openmp(&bench, "clang-22")
        .args([&object, "-o", "program"])
        .succeeds_silently();
    runs_on_the_device(&bench);
}

#[test]
fn openmp_entries_survive_linkers_that_drop_sections() {
    let bench = Workbench::new();
    bench.link("ld.lld", bench.find("ld.lld-22"));
    for linker in ["bfd", "lld"] {
        for load_address in ["-pie", "-no-pie"] {
            openmp(&bench, "clang-19")
                .arg(fixture("openmp/regions.c"))
                .args(runtime())
                .args(["-B.", &format!("-fuse-ld={linker}"), "-Wl,--gc-sections"])
                .args([load_address, "-o", "program"])
                .succeeds_silently();
            runs_on_the_device(&bench);
        }
    }
}

#[test]
fn openmp_host_code_that_the_linker_compiles() {
    let bench = Workbench::new();
    bench.link("ld.lld", bench.find("ld.lld-22"));
    let object = openmp_object(&bench, "clang-19", "regions", &["-flto"]);
    openmp(&bench, "clang-19")
        .args(["-B.", "-fuse-ld=lld", "-flto", "-Wl,--gc-sections"])
        .arg(&object)
        .args(runtime())
        .args(["-o", "program"])
        .succeeds_silently();
    runs_on_the_device(&bench);
}

#[test]
fn step_by_step() {
    let bench = Workbench::new();
    let object = openmp_object(&bench, "clang-19", "regions", &[]);
    let link = |option: &[&str]| {
        bench
            .offlink()
            .args(["cc", &object, "-Llib", "-lomptarget", "-lomp"])
            .arg(format!("-Wl,-rpath,{LIBRARIES}"))
            .args(["-o", "program"])
            .args(option)
            .succeeds_silently()
    };
    let commands = link(&["--offlink-dry-run"]);
    assert!(commands.contains("--entries-of-llvm=19"), "{commands}");
    bench
        .command("sh")
        .env("PATH", bench.path_with_offlink())
        .args(["-ec", &commands])
        .succeeds_silently();
    runs_on_the_device(&bench);
    let read = || std::fs::read(bench.path("program")).expect("the program");
    let by_steps = read();
    link(&[]);
    assert!(by_steps == read(), "the outputs differ");
}

/// Each object of a relocatable link registers its own entries.
#[test]
fn relocatable_links() {
    let bench = Workbench::new();
    for name in ["first", "second"] {
        let part = openmp_object(&bench, "clang-19", "regions", &[&format!("-Dmain={name}")]);
        bench
            .offlink()
            .args(["cc", "-r", &part, "-o", &format!("{name}.o")])
            .succeeds_silently();
    }
    let main = bench.write(
        "main.c",
        "int first(void), second(void); int main(void) { return first() || second(); }\n",
    );
    bench
        .command("cc")
        .arg(main)
        .args(["first.o", "second.o", "-Wl,--gc-sections", "-Llib"])
        .args(["-lomptarget", "-lomp", "-o", "program"])
        .arg(format!("-Wl,-rpath,{LIBRARIES}"))
        .succeeds_silently();
    let printed = bench.program(bench.path("program")).succeeds();
    assert_eq!(printed, RAN.repeat(2));
}

#[test]
fn entries_that_a_linker_dropped_are_missed() {
    let bench = Workbench::new();
    let object = openmp_object(&bench, "clang-19", "regions", &[]);
    let driver = driver(&bench, "-fuse-ld=lld -Wl,--gc-sections");
    let stderr = bench
        .offlink()
        .env("OFFLINK_HOST_LINKER", driver)
        .args(["cc", &object, "-Llib", "-lomptarget", "-lomp"])
        .args(["-o", "program"])
        .fails_with(1);
    assert!(stderr.contains("kept 0 of 64 bytes"), "{stderr}");
    assert!(!bench.path("program").exists());
}

#[test]
fn a_kernel_that_no_image_has_is_missed() {
    let bench = Workbench::new();
    let object = openmp_object(&bench, "clang-19", "regions", &["--offload-host-only"]);
    let other = CPU.image(&bitcode(&bench, "saxpy", CPU));
    let stderr = openmp(&bench, "clang-19")
        .arg(&object)
        .args(runtime())
        .arg("-Xlinker")
        .arg(format!("--offlink-image={other}"))
        .args(["-o", "program"])
        .fails_with(1);
    assert!(
        stderr.contains("no device image defines openmp kernel '__omp_offloading_"),
        "{stderr}"
    );
    assert!(stderr.contains("regions-clang-19.o"), "{stderr}");
    assert!(!bench.path("program").exists());
}

/// Objects that only the host linker knows of: nothing would register their entries.
#[test]
fn entries_of_another_form_are_found_in_the_program() {
    let bench = Workbench::new();
    let object = launcher_with(&bench, &saxpy_images(&bench));
    let entry = "static struct { const void *address; const char *name; unsigned long size; \
        unsigned flags, data; } entry \
        __attribute__((section(\"omp_offloading_entries\"), used, aligned(1))) = \
        {&entry, \"saxpy\"};\n";
    let unexpected = bench.write("unexpected.c", entry);
    let stderr = bench
        .offlink()
        .env(
            "OFFLINK_HOST_LINKER",
            driver(&bench, &unexpected.display().to_string()),
        )
        .arg("cc")
        .arg(object)
        .args([RUNTIME, "-o", "program"])
        .fails_with(1);
    assert!(
        stderr.contains("the openmp offload entry 'saxpy' of clang 19 or older"),
        "{stderr}"
    );
    assert!(!bench.path("program").exists());
}

/// clang with arguments that offlink does not get to see.
fn driver(bench: &Workbench, arguments: &str) -> PathBuf {
    let script = format!("#!/bin/sh\nexec clang-22 {arguments} \"$@\"\n");
    bench.script("driver", script)
}

/// A program has one table of entries for each kind.
#[test]
fn entries_of_two_forms_are_refused() {
    let bench = Workbench::new();
    let old = openmp_object(&bench, "clang-19", "regions", &[]);
    let new = openmp_object(&bench, "clang-22", "regions", &["-Dmain=other"]);
    let stderr = openmp(&bench, "clang-22")
        .args([&old, &new, "-o", "program"])
        .fails_with(1);
    assert!(
        stderr.contains(
            "'regions-clang-19.o' has the openmp offload entries of clang 19 or older, \
             'regions-clang-22.o' those of clang 21 or newer"
        ),
        "{stderr}"
    );
}

/// Such a program would crash.
#[test]
fn new_entries_with_an_old_runtime_are_refused() {
    let bench = Workbench::new();
    let object = openmp_object(&bench, "clang-22", "regions", &[]);
    let stderr = openmp(&bench, "clang-19")
        .arg(&object)
        .args(runtime())
        .args(["-o", "program"])
        .fails_with(1);
    assert!(
        stderr.contains("libomptarget.so' is of LLVM 19 and does not read the offload entries"),
        "{stderr}"
    );
}

/// The source for CUDA or HIP, compiled.
fn gpu_object(bench: &Workbench, language: Language, text: &str) -> PathBuf {
    let object = bench.path(format!("{language:?}.o"));
    let flags = match language {
        Language::Cuda => ["-xcuda", "-nocudainc", "-nocudalib", "--offload-arch=sm_90"],
        Language::Hip => ["-xhip", "-nogpuinc", "-nogpulib", "--offload-arch=gfx90a"],
    };
    bench
        .command("clang++-19")
        .args(flags)
        .args(["--offload-new-driver", "-fgpu-rdc", "-O1"])
        // CUDA 13 is unknown to it.
        .args([
            "-Wno-unknown-cuda-version",
            "-Wno-unused-command-line-argument",
        ])
        .arg(format!("--cuda-path={}", cuda().display()))
        .arg("-I")
        .arg(source("."))
        .args(["-c", "-o"])
        .arg(&object)
        .arg(bench.write("source.cu", text))
        .succeeds_silently();
    object
}

/// All that clang 19 has entries for and that CUDA 13's runtime has functions for.
const KERNELS_AND_VARIABLES: &str = "#include \"declarations.h\"
__device__ int counter = 3;
__constant__ float table[4] = {1, 2, 3, 4};
#ifdef __HIP__
texture<float, 2, 1> normalized;
surface<void, 1> written;
#endif
template <class T> __global__ void generic(T *out) { *out = T(counter); }
template __global__ void generic(int *);
__attribute__((visibility(\"hidden\"))) __global__ void unseen() {}
extern \"C\" __global__ void first(int *out) { *out = counter + table[1]; }
";

/// `runtime.o`, which prints the calls that it gets.
fn stand_in(bench: &Workbench) {
    bench
        .command("cc")
        .args(["-c", "-o", "runtime.o"])
        .arg(source("runtime.c"))
        .succeeds_silently();
}

/// Links with offlink and with LLVM 19's wrapper; both programs must make the same
/// calls of the runtime, which are returned.
fn same_calls(language: Language, text: &str) -> String {
    let bench = Workbench::new();
    let object = gpu_object(&bench, language, text);
    stand_in(&bench);
    // What LLVM 19's wrapper looks for: clang's lld, and a fatbinary that still has
    // the option --image, which CUDA 13's has not.
    bench.folder("tools");
    bench.link("tools/ld.lld", bench.find("ld.lld-22"));
    bench.script(
        "tools/fatbinary",
        format!(
            "#!/bin/sh\nfor word; do\nshift\ncase $word in --image=profile=sm_*)\n\
             word=--image3=kind=elf,sm=${{word#--image=profile=sm_}};;\nesac\n\
             set -- \"$@\" \"$word\"\ndone\nexec {} \"$@\"\n",
            cuda().join("bin/fatbinary").display()
        ),
    );
    let calls = |wrapper: &[String]| {
        let path = std::env::var("PATH").expect("a PATH");
        let (tools, cuda_tools) = (bench.path("tools"), cuda().join("bin"));
        let folders = format!("{}:{}:{path}", tools.display(), cuda_tools.display());
        bench
            .command("clang++-19")
            .env("PATH", folders)
            .env("CUDA_HOME", cuda())
            .args(wrapper)
            .arg("--offload-link")
            .arg(&object)
            .args(["runtime.o", "-o", "program"])
            .succeeds();
        without_addresses(&bench.command(bench.path("program")).succeeds())
    };
    let theirs = calls(&[]);
    let ours = calls(&[format!("-B{}", wrapper_folder(&bench).display())]);
    assert_eq!(ours, theirs);
    ours
}

#[test]
fn cuda_makes_the_calls_that_llvm_19_makes() {
    let calls = same_calls(Language::Cuda, KERNELS_AND_VARIABLES);
    assert_eq!(count(&calls, "cudaRegisterFunction"), 3, "{calls}");
    assert_eq!(count(&calls, "cudaRegisterVar"), 2, "{calls}");
}

#[test]
fn hip_makes_the_calls_that_llvm_19_makes() {
    let calls = same_calls(Language::Hip, KERNELS_AND_VARIABLES);
    assert_eq!(count(&calls, "hipRegisterFunction"), 3, "{calls}");
    assert_eq!(count(&calls, "hipRegisterVar"), 2, "{calls}");
    assert_eq!(count(&calls, "hipRegisterTexture"), 1, "{calls}");
    assert_eq!(count(&calls, "hipRegisterSurface"), 1, "{calls}");
}

/// LLVM 19's wrapper passes them over, and the program uses a null pointer.
#[test]
fn managed_variables_are_refused() {
    let bench = Workbench::new();
    let text = "#include \"declarations.h\"\n__managed__ int shared = 5;\n\
                __global__ void kernel() { shared = 1; }\n";
    let object = gpu_object(&bench, Language::Hip, text);
    let stderr = bench
        .offlink()
        .args(["cc", "-o", "program"])
        .arg(object)
        .fails_with(1);
    assert!(stderr.contains("managed variable 'shared'"), "{stderr}");
    assert!(stderr.contains("clang 20 or newer"), "{stderr}");
}

/// The registration code of either kind, as IR, is as valid as LLVM's.
#[test]
fn the_module_that_is_printed() {
    let bench = Workbench::new();
    stand_in(&bench);
    for language in [Language::Cuda, Language::Hip] {
        let object = gpu_object(&bench, language, KERNELS_AND_VARIABLES);
        let module = bench
            .command("clang++-19")
            .env("CUDA_HOME", cuda())
            .arg(format!("-B{}", wrapper_folder(&bench).display()))
            .args(["--offload-link", "-Wl,--print-wrapped-module"])
            .arg(object)
            .args(["runtime.o", "-o", "program"])
            .warns();
        let section = format!("{language:?}_offloading_entries").to_lowercase();
        assert!(module.contains(&format!("@__stop_{section}")), "{module}");
        let module = bench.write("module.ll", module);
        bench
            .command("opt-22")
            .args(["-passes=verify", "-disable-output"])
            .arg(module)
            .succeeds_silently();
    }
}
