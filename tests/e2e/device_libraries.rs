//! Libraries that device code is linked with: NVIDIA's libdevice, ROCm's, and
//! what stands beside the line.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::device_code::{AMD, NVIDIA, Target, c_source, nvidia, sass};
use crate::workbench::{Run, Workbench, cuda, cuda_tool, fixture, system_libllvm};

/// Debian's package, whose newest code object is version 5.
pub const ROCM: &str = "/usr/lib/x86_64-linux-gnu/amdgcn/bitcode";

const KERNELS: [&str; 6] = [
    "exp_f32", "exp_f64", "pow_f32", "pow_f64", "sin_f32", "sin_f64",
];

pub fn libdevice() -> PathBuf {
    cuda().join("nvvm/libdevice/libdevice.10.bc")
}

/// C source as bitcode, without any library.
fn compile(bench: &Workbench, source: &Path, target: Target, arguments: &[&str]) -> PathBuf {
    let name = source.file_stem().unwrap_or_default().to_string_lossy();
    let output = bench.path(format!("{name}-{}.bc", target.arch));
    let mut clang = bench.command("clang-22");
    clang.args([
        &format!("--target={}", target.triple),
        "-nogpulib",
        "-O2",
        "-emit-llvm",
        "-c",
        "-Wno-unused-command-line-argument",
    ]);
    if target.arch.starts_with("sm_") {
        clang
            .arg(format!("-march={}", target.arch))
            .arg(format!("--cuda-path={}", cuda().display()))
            .arg("-Wno-unknown-cuda-version");
    } else {
        clang
            .arg(format!("-mcpu={}", target.arch))
            .arg("-mcode-object-version=5");
    }
    clang
        .args(arguments)
        .arg("-o")
        .arg(&output)
        .arg(source)
        .succeeds();
    output
}

/// Kernels that need a library's functions, as bitcode.
pub fn math(bench: &Workbench, target: Target, arguments: &[&str]) -> PathBuf {
    compile(bench, &c_source("math"), target, arguments)
}

fn link(bench: &Workbench, target: Target, inputs: &[&Path]) -> Command {
    let mut command = bench.offlink();
    command
        .args(["link", "-o", "image"])
        .args(target.arguments())
        .args(inputs)
        .arg(format!(
            "--llvm={}",
            system_libllvm(bench, "libLLVM.so.22.1").display()
        ));
    command
}

fn ptx(bench: &Workbench, bitcode: &Path) -> String {
    link(bench, NVIDIA, &[bitcode])
        .arg("--emit=ptx")
        .succeeds_silently();
    std::fs::read_to_string(bench.path("image")).expect("PTX")
}

/// What `llvm-link --only-needed` and the passes of a link make.
fn linked_by_llvm(
    bench: &Workbench,
    machine: &[&str],
    bitcode: &Path,
    libraries: &[PathBuf],
    passes: &str,
) {
    bench
        .command("llvm-link-22")
        .args(["--only-needed", "--internalize", "-o", "linked.bc"])
        .arg(bitcode)
        .args(libraries)
        .succeeds();
    bench
        .command("opt-22")
        .args(machine)
        .arg(format!("-passes={passes}"))
        .args(["linked.bc", "-o", "optimised.bc"])
        .succeeds();
}

/// Each instruction of each function, without addresses.
fn instructions(bench: &Workbench, cubin: &Path) -> Vec<String> {
    let listing = sass(bench, cubin);
    listing
        .lines()
        .filter(|line| line.contains("Function : ") || line.contains(';'))
        .map(|line| line.trim().to_owned())
        .collect()
}

#[test]
fn libdevice_is_linked_as_llvm_would_link_it() {
    let bench = Workbench::new();
    let bitcode = math(&bench, NVIDIA, &[]);
    link(&bench, NVIDIA, &[&bitcode]).succeeds_silently();
    let ours = instructions(&bench, &bench.path("image"));

    let passes = "globaldce,default<O0>,lto<O3>";
    let machine = ["-mcpu=sm_90", "-mattr=+ptx78"];
    linked_by_llvm(&bench, &machine, &bitcode, &[libdevice()], passes);
    bench
        .command("llc-22")
        .args(machine)
        .args(["-O3", "optimised.bc", "-o", "theirs.ptx"])
        .succeeds();
    bench
        .command(cuda_tool("ptxas"))
        .args(["-arch=sm_90", "-O3", "theirs.ptx", "-o", "theirs.cubin"])
        .succeeds();
    for kernel in KERNELS {
        let line = format!("Function : {kernel}");
        assert!(ours.contains(&line), "no {kernel} in {ours:#?}");
    }
    assert_eq!(ours, instructions(&bench, &bench.path("theirs.cubin")));
}

/// The library asks how denormal numbers are treated, and for which GPU; the
/// compiler answers before there is PTX.
#[test]
fn libdevice_flushes_denormal_numbers_where_the_code_does() {
    let bench = Workbench::new();
    let count = |ptx: &str| ptx.matches(".ftz.f32").count();
    let cuda_source = bench.write(
        "flushing.cu",
        "extern \"C\" __attribute__((device)) float __nv_powf(float, float);\n\
         extern \"C\" __attribute__((global)) void pow_f32(float *x) { *x = __nv_powf(x[0], x[1]); }\n",
    );
    let cuda_path = format!("--cuda-path={}", cuda().display());
    let by_clang = |flush: &str, library: &[&str], output: &str| {
        bench
            .command("clang++-22")
            .args([
                "--cuda-device-only",
                "--offload-arch=sm_90",
                "-nocudainc",
                flush,
            ])
            .args([&cuda_path, "-Wno-unknown-cuda-version", "-O2"])
            .args(library)
            .arg("-o")
            .arg(bench.path(output))
            .arg(&cuda_source)
            .succeeds();
    };
    let mut counts = Vec::new();
    for flush in [
        "-fgpu-flush-denormals-to-zero",
        "-fno-gpu-flush-denormals-to-zero",
    ] {
        by_clang(flush, &["-nogpulib", "-emit-llvm", "-c"], "flushing.bc");
        let ours = ptx(&bench, &bench.path("flushing.bc"));
        assert!(!ours.contains("__nvvm_reflect"), "{ours}");
        assert!(!ours.contains(".extern"), "{ours}");
        by_clang(flush, &["-S"], "theirs.ptx");
        let theirs = std::fs::read_to_string(bench.path("theirs.ptx")).expect("clang's PTX");
        assert_eq!(count(&ours), count(&theirs), "{flush}");
        counts.push(count(&ours));
    }
    assert!(counts[0] > counts[1], "{counts:?}");
}

#[test]
fn a_missing_libdevice_is_named_with_who_needs_it() {
    let bench = Workbench::new();
    let bitcode = math(&bench, NVIDIA, &[]);
    let stderr = link(&bench, NVIDIA, &[&bitcode])
        .args(["--emit=ptx"])
        .env_remove("CUDA_HOME")
        .env("HOME", bench.folder("home"))
        .fails_with(1);
    for part in [
        "'__nv_exp' (used by 'exp_f64')",
        "libdevice was not found; looked in ",
        "--offlink-libdevice=PATH",
        "nvidia-nvvm",
    ] {
        assert!(stderr.contains(part), "no {part} in: {stderr}");
    }
    assert!(!bench.path("image").exists());

    let stderr = link(&bench, NVIDIA, &[&bitcode])
        .arg("--libdevice=elsewhere.bc")
        .fails_with(1);
    assert!(
        stderr.contains("'elsewhere.bc', which is named"),
        "{stderr}"
    );

    link(&bench, NVIDIA, &[&bitcode])
        .env_remove("CUDA_HOME")
        .env("OFFLINK_LIBDEVICE", libdevice())
        .arg("--emit=ptx")
        .succeeds_silently();
}

/// What needs a library, but is itself not needed, needs no library.
#[test]
fn dead_code_needs_no_libdevice() {
    let bench = Workbench::new();
    let source = bench.write(
        "dead.c",
        "double __nv_sin(double);\n\
         double unused(double x) { return __nv_sin(x); }\n\
         __attribute__((device_kernel)) void kernel(int *x) { *x = 1; }\n",
    );
    let bitcode = compile(&bench, &source, NVIDIA, &[]);
    link(&bench, NVIDIA, &[&bitcode])
        .env_remove("CUDA_HOME")
        .arg("--emit=ptx")
        .succeeds_silently();
}

#[test]
fn functions_of_rust_are_those_of_libdevice() {
    let bench = Workbench::new();
    let bitcode = bench.path("sines.bc");
    bench
        .command("rustc")
        .env("RUSTC_BOOTSTRAP", "1")
        .args(["--edition=2024", "-O", "-Cpanic=abort"])
        .args(["--target=nvptx64-nvidia-cuda", "-Ctarget-cpu=sm_90"])
        .arg(format!("--emit=llvm-bc={}", bitcode.display()))
        .arg(fixture("rust/sines.rs"))
        .succeeds();
    bench
        .offlink()
        .args(["link", "-o", "image"])
        .args(NVIDIA.arguments())
        .arg(&bitcode)
        .succeeds_silently();
    let code = instructions(&bench, &bench.path("image"));
    let is_there = |part: &str| code.iter().any(|line| line.contains(part));
    assert!(is_there("Function : sines"), "{code:#?}");
    // Arithmetic of doubles, inlined or called, is all there is to a sine.
    assert!(is_there("DFMA"), "{code:#?}");
}

#[test]
fn rocm_libraries_are_linked_as_llvm_would_link_them() {
    let bench = Workbench::new();
    for (arch, isa, wave, arguments) in [
        ("gfx90a", "90a", "on", &[][..]),
        ("gfx1030", "1030", "off", &[]),
        ("gfx1030", "1030", "on", &["-mwavefrontsize64"]),
    ] {
        let target = Target { arch, ..AMD };
        let bitcode = math(&bench, target, arguments);
        link(&bench, target, &[&bitcode]).succeeds_silently();
        let libraries = [
            "ocml",
            "ockl",
            "oclc_daz_opt_off",
            "oclc_unsafe_math_off",
            "oclc_finite_only_off",
            "oclc_correctly_rounded_sqrt_on",
            &format!("oclc_wavefrontsize64_{wave}"),
            &format!("oclc_isa_version_{isa}"),
            "oclc_abi_version_500",
        ];
        let libraries = libraries.map(|name| Path::new(ROCM).join(format!("{name}.bc")));
        // What the code says of its waves holds for the library too.
        let wave64 = if arguments.is_empty() {
            "-mattr="
        } else {
            "-mattr=+wavefrontsize64"
        };
        let machine = [&*format!("-mcpu={arch}"), wave64];
        linked_by_llvm(&bench, &machine, &bitcode, &libraries, "globaldce,lto<O3>");
        bench
            .command("llc-22")
            .args(machine)
            .args(["-O3", "-relocation-model=pic", "-filetype=obj"])
            .args(["optimised.bc", "-o", "theirs.o"])
            .succeeds();
        bench
            .command("ld.lld-22")
            .args([
                "--no-undefined",
                "-shared",
                "theirs.o",
                "-o",
                "theirs.image",
            ])
            .succeeds();
        let ours = amd_instructions(&bench, "image");
        for kernel in KERNELS {
            let label = format!("<{kernel}>:");
            assert!(ours.contains(&label), "no {kernel} in {ours:#?}");
        }
        assert_eq!(ours, amd_instructions(&bench, "theirs.image"), "{arch}");
    }
}

/// Each label and instruction, without addresses.
fn amd_instructions(bench: &Workbench, image: &str) -> Vec<String> {
    let listing = bench
        .command("llvm-objdump-22")
        .args(["-d", "--no-show-raw-insn", "--no-leading-addr", image])
        .succeeds();
    let lines = listing.lines().skip_while(|line| !line.ends_with(">:"));
    lines
        .map(|line| line.split("//").next().unwrap_or(line).trim().to_owned())
        .filter(|line| !line.is_empty())
        .collect()
}

#[test]
fn libraries_too_old_for_a_processor_or_code_object_are_named() {
    let bench = Workbench::new();
    let newer = Target {
        arch: "gfx942",
        ..AMD
    };
    let stderr = link(&bench, newer, &[&math(&bench, newer, &[])]).fails_with(1);
    for part in [
        "(used by 'exp_f32')",
        "oclc_isa_version_942.bc",
        ROCM,
        "--offlink-rocm-device-libs=DIR",
    ] {
        assert!(stderr.contains(part), "no {part} in: {stderr}");
    }
    let version_6 = math(&bench, AMD, &["-mcode-object-version=6"]);
    let stderr = link(&bench, AMD, &[&version_6]).fails_with(1);
    assert!(stderr.contains("oclc_abi_version_600.bc"), "{stderr}");
    assert!(stderr.contains("-mcode-object-version"), "{stderr}");

    let stderr = link(&bench, AMD, &[&version_6])
        .arg("--rocm-device-libs=elsewhere")
        .fails_with(1);
    assert!(
        stderr.contains("'elsewhere/ocml.bc', which is named"),
        "{stderr}"
    );
}

const CALLER: &str = "int __kmpc_answer(void);
__attribute__((device_kernel)) void kernel(int *x) { *x = __kmpc_answer(); }
";

/// An archive with the function that [`CALLER`] needs, and one that would clash.
fn runtime(bench: &Workbench, target: Target) -> PathBuf {
    let folder = bench.folder(target.triple);
    let members = [
        ("answer", "int __kmpc_answer(void) { return 42; }\n"),
        (
            "clash",
            "int unneeded(void) { return 1; }\nint kernel(void) { return 2; }\n",
        ),
    ];
    let members = members.map(|(name, source)| {
        let source = bench.write(&format!("{name}.c"), source);
        compile(bench, &source, target, &[])
    });
    let archive = folder.join("libompdevice.a");
    bench
        .command("llvm-ar-22")
        .arg("rcs")
        .arg(&archive)
        .args(members)
        .succeeds();
    archive
}

#[test]
fn a_library_beside_the_line_gives_what_is_needed() {
    let bench = Workbench::new();
    let source = bench.write("caller.c", CALLER);
    let caller = compile(&bench, &source, NVIDIA, &[]);
    let stderr = link(&bench, NVIDIA, &[&caller]).fails_with(1);
    for part in [
        "'__kmpc_answer' (used by 'kernel')",
        "OpenMP's device runtime",
        "--offlink-device-lib=FILE",
    ] {
        assert!(stderr.contains(part), "no {part} in: {stderr}");
    }
    let archive = runtime(&bench, NVIDIA);
    let flag = |file: &Path| format!("--device-lib={}", file.display());
    link(&bench, NVIDIA, &[&caller])
        .arg(flag(&archive))
        .succeeds_silently();
    let member = bench.path("answer-sm_90.bc");
    link(&bench, NVIDIA, &[&caller])
        .args([flag(&member), "--emit=ptx".into()])
        .succeeds_silently();
    let text = std::fs::read_to_string(bench.path("image")).expect("PTX");
    assert!(text.contains(", 42;"), "{text}");

    let stderr = link(&bench, NVIDIA, &[&caller])
        .arg(flag(&source))
        .fails_with(1);
    assert!(
        stderr.contains("caller.c' is no library of device code"),
        "{stderr}"
    );
}

/// In a whole link each GPU takes from the library for its triple. clang names
/// the library to its wrapper by `-l`, and has it below a folder of the line.
#[test]
fn a_library_is_found_by_the_name_that_clang_sends() {
    let bench = Workbench::new();
    let source = bench.write("caller.c", CALLER);
    let caller = compile(&bench, &source, nvidia("sm_80"), &[]);
    runtime(&bench, NVIDIA);
    bench.link("clang-linker-wrapper", crate::workbench::offlink());
    let wrapper = |search_dir: &str| {
        let mut command = bench.command(bench.path("clang-linker-wrapper"));
        command
            .env("CUDA_HOME", cuda())
            .arg("--host-triple=x86_64-unknown-linux-gnu")
            .arg(format!("--linker-path={}", bench.find("ld").display()))
            .arg("--device-linker=nvptx64-nvidia-cuda=-lompdevice")
            .arg(format!(
                "--offlink-image={}",
                nvidia("sm_80").image(&caller)
            ))
            .args(["-shared", "-o", "out.so", search_dir]);
        command
    };
    wrapper("-L.").succeeds_silently();
    // One that isn't there is passed over, since clang names it in any case.
    let stderr = wrapper("-L/nowhere").fails_with(1);
    assert!(stderr.contains("'__kmpc_answer'"), "{stderr}");

    bench
        .offlink()
        .args(["cc", "-shared", "-o", "by-name.so"])
        .arg(format!(
            "--offlink-image={}",
            nvidia("sm_80").image(&caller)
        ))
        .arg("--offlink-device-lib=nvptx64-nvidia-cuda/libompdevice.a")
        .succeeds_silently();
}
