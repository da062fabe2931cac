use super::*;
use crate::options::DeviceOptions;
use crate::target::Target;
use crate::wrapper_request::Product;

fn read(line: &str) -> Result<Request, UsageError> {
    let arguments = line.split_whitespace().map(OsString::from).collect();
    match parse(arguments, Options::default())? {
        Command::Link(request) => Ok(*request),
        _ => panic!("not a link"),
    }
}

fn device_for(request: &Request, triple: &str, arch: &str) -> DeviceOptions {
    let target = Target::parse(triple, arch).unwrap();
    request.options.device_for(&target)
}

#[test]
fn a_line_of_clang() {
    // The shape that clang 22.1.8 sends for OpenMP on NVIDIA.
    let request = read(
        "--should-extract=sm_80 --device-compiler=nvptx64-nvidia-cuda=--cuda-path=/cuda \
         --device-compiler=nvptx64-nvidia-cuda=-O2 \
         --device-linker=nvptx64-nvidia-cuda=-lompdevice --host-triple=x86_64-pc-linux-gnu \
         --cuda-path=/cuda --linker-path=/usr/bin/ld --hash-style=gnu -m elf_x86_64 -pie \
         -dynamic-linker /lib64/ld-linux-x86-64.so.2 -o a.out a.o -lomptarget",
    )
    .unwrap();
    assert_eq!(request.arguments[0], "--hash-style=gnu");
    assert_eq!(request.line.inputs.len(), 2);
    let device = device_for(&request, "nvptx64-nvidia-cuda", "sm_80");
    assert_eq!(device.opt_level, 2);
    let other = device_for(&request, "amdgcn-amd-amdhsa", "gfx90a");
    assert_eq!(other.opt_level, 3);
    assert_eq!(device.tools.host_linker, Some("/usr/bin/ld".into()));
    assert_eq!(device.tools.cuda, Some("/cuda".into()));
    assert_eq!(request.host_triple.as_deref(), Some("x86_64-pc-linux-gnu"));
}

#[test]
fn a_line_of_clang_19() {
    let request = read(
        "--cuda-path=/cuda --opt-level=O2 --host-triple=x86_64-pc-linux-gnu --device-debug \
         --ptxas-arg=-v --offload-opt=-pass-remarks=x --linker-path=/usr/bin/ld -o a.out a.o",
    )
    .unwrap();
    let device = device_for(&request, "nvptx64-nvidia-cuda", "sm_80");
    assert_eq!(device.opt_level, 2);
    assert_eq!(device.ptxas_arguments, ["-v"]);
    assert_eq!(request.arguments, ["-o", "a.out", "a.o"]);
    let error = read("--opt-level=O7").unwrap_err().to_string();
    assert!(error.contains("--opt-level"), "{error}");
}

#[test]
fn values_that_make_no_sense_are_refused() {
    for (line, culprit) in [
        ("--wrapper-jobs=0", "--wrapper-jobs"),
        ("--compression-level=high", "--compression-level"),
        ("--wrapper-time-trace-granularity=x", "microseconds"),
        ("-mllvm", "-mllvm"),
        ("--override-image=cubin", "--override-image"),
        ("--override-image=metal=x.o", "--override-image"),
        ("--device-image-output=t,a", "--device-image-output"),
        ("--arch=sm_90", "--arch"),
        ("--emit-fatbin-only --emit-device-images-only", "together"),
    ] {
        let message = read(line).unwrap_err().to_string();
        assert!(message.contains(culprit), "{line}: {message}");
    }
}

#[test]
fn options_for_llvm_keep_their_order() {
    let request = read("-mllvm -a=1 --offload-opt=-b a.o -mllvm -c -o x").unwrap();
    assert_eq!(request.options.llvm_options, ["-a=1", "-b", "-c"]);
    assert_eq!(request.arguments, ["a.o", "-o", "x"]);
    let by_mllvm: Vec<bool> = request.wrapper.llvm.iter().map(|o| o.by_mllvm).collect();
    assert_eq!(by_mllvm, [true, false, true]);
}

#[test]
fn a_time_trace_whichever_option_comes_first() {
    let line = "--wrapper-time-trace-granularity=7 --wrapper-time-trace=t.json";
    let trace = read(line).unwrap().wrapper.time_trace.unwrap();
    assert_eq!(trace.granularity, Duration::from_micros(7));
    assert_eq!(trace.file.to_str(), Some("t.json"));
}

#[test]
fn device_images_as_files() {
    let line = "--device-image-output=amdgcn-amd-amdhsa,gfx90a a.img b.o";
    let request = read(&format!("--emit-device-images-only {line}")).unwrap();
    assert_eq!(request.line.inputs.len(), 1);
    let Product::Images(outputs) = request.wrapper.product else {
        panic!("images were asked for");
    };
    assert_eq!(outputs[0].arch, "gfx90a");
    assert_eq!(outputs[0].file.to_str(), Some("a.img"));
}

#[test]
fn lld_is_told_by_the_linker_path() {
    let names_lld = |line| read(line).unwrap().line.names_lld;
    assert!(names_lld("--linker-path=/usr/bin/ld.lld a.o"));
    assert!(!names_lld("--linker-path=/usr/bin/ld a.o"));
}
