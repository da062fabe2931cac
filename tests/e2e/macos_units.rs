//! Host objects for macOS. clang 22 stops at device code for it, so they are C with
//! the sections that LLVM's main branch makes.

use std::path::PathBuf;

use crate::workbench::{Run, Workbench};

/// What programs find in macOS, and of runtimes.
const SYSTEM: &str = "--- !tapi-tbd
tbd-version:     4
targets:         [ x86_64-macos, arm64-macos ]
install-name:    '/usr/lib/libSystem.B.dylib'
exports:
  - targets:     [ x86_64-macos, arm64-macos ]
    symbols:     [ dyld_stub_binder, _atexit, ___tgt_register_lib, ___tgt_unregister_lib,
                   ___cudaRegisterFatBinary, ___cudaRegisterFatBinaryEnd, ___cudaInitModule,
                   ___cudaUnregisterFatBinary, ___cudaRegisterFunction, ___cudaRegisterVar,
                   ___cudaRegisterManagedVar, ___hipRegisterFatBinary,
                   ___hipUnregisterFatBinary, ___hipRegisterFunction, ___hipRegisterVar,
                   ___hipRegisterManagedVar, ___hipRegisterSurface, ___hipRegisterTexture ]
...
";

pub const OPENMP: (&str, u16) = ("openmp", 1);
pub const CUDA: (&str, u16) = ("cuda", 2);
pub const HIP: (&str, u16) = ("hip", 4);

/// A folder with the system's library.
pub fn bench() -> Workbench {
    let bench = Workbench::new();
    bench.write("libSystem.tbd", SYSTEM);
    bench
}

pub fn compile(bench: &Workbench, arch: &str, name: &str, source: &str, flags: &[&str]) -> PathBuf {
    let file = bench.write(&format!("{name}.c"), source);
    let object = bench.path(format!("{name}-{arch}.o"));
    let mut clang = bench.command("clang-22");
    clang.arg(format!("--target={arch}-apple-macos11"));
    clang.args(["-O1", "-c", "-o"]).arg(&object).arg(file);
    clang.args(flags).succeeds_silently();
    object
}

/// Device code with one kernel, in an offload binary.
fn device_code(bench: &Workbench, kind: (&str, u16), kernel: &str) -> PathBuf {
    let (triple, arch, convention) = match kind {
        CUDA => ("nvptx64-nvidia-cuda", "sm_90", "ptx_kernel"),
        _ => ("amdgcn-amd-amdhsa", "gfx90a", "amdgpu_kernel"),
    };
    let module = format!(
        "target triple = \"{triple}\"\n\
         define {convention} void @{kernel}(ptr addrspace(1) %p) #0 {{\n\
         store i32 1, ptr addrspace(1) %p\nret void\n}}\n\
         attributes #0 = {{ \"target-cpu\"=\"{arch}\" }}\n"
    );
    let module = bench.write(&format!("{kernel}.ll"), module);
    let bitcode = bench.path(format!("{kernel}.bc"));
    let mut assembler = bench.command("llvm-as-22");
    assembler.arg(module).arg("-o").arg(&bitcode).succeeds();
    let binary = bench.path(format!("{kernel}-{}.bin", kind.0));
    let mut packager = bench.command("llvm-offload-binary-22");
    packager.arg("-o").arg(&binary).arg(format!(
        "--image=file={},triple={triple},arch={arch},kind={}",
        bitcode.display(),
        kind.0
    ));
    packager.succeeds();
    binary
}

/// The source of a host object with device code, and a kernel's entry.
pub fn unit_source(bench: &Workbench, kind: (&str, u16), kernel: &str) -> String {
    let code = device_code(bench, kind, kernel);
    format!(
        "__asm__(\".section __LLVM,.llvm.offloading\\n.p2align 3\\n.incbin \\\"{code}\\\"\\n.text\\n\");
struct entry {{
  unsigned long long reserved; unsigned short version, kind; unsigned flags;
  const void *address; const char *name; unsigned long long size, data; void *auxiliary;
}};
__attribute__((weak)) const char {kernel}_id = 0;
static const char name[] = \"{kernel}\";
__attribute__((weak, section(\"__LLVM,offload_entries\"))) const struct entry {kernel}_entry =
  {{0, 1, {number}, 0, &{kernel}_id, name, 0, 0, 0}};
int use_{kernel}(void) {{ return {kernel}_id; }}
",
        code = code.display(),
        number = kind.1
    )
}

pub fn unit(bench: &Workbench, arch: &str, kind: (&str, u16), kernel: &str) -> PathBuf {
    let source = unit_source(bench, kind, kernel);
    compile(bench, arch, kernel, &source, &[])
}

/// A program's start, which calls the units of kernels.
pub fn start(bench: &Workbench, arch: &str, kernels: &[&str]) -> PathBuf {
    let calls = kernels.iter().map(|it| format!("use_{it}() + "));
    let calls: String = calls.collect();
    let source = format!("int {}(void) {{ return {calls}0; }}", "main");
    let declared = kernels.iter().map(|it| format!("int use_{it}(void);\n"));
    let source = declared.collect::<String>() + &source;
    compile(bench, arch, "main", &source, &[])
}
