//! What users reported about clang-linker-wrapper, as far as it takes more than a
//! line to try; `defects` has the rest. The numbers are those of the LLVM project's
//! issues where nothing else is said.

use std::path::{Path, PathBuf};

use crate::archives::archive;
use crate::as_wrapper::{calls, program, unit_of};
use crate::device_code::{AMD, NVIDIA, RUNTIME, bitcode, c_source};
use crate::workbench::{Run, Workbench, cuda, cuda_tool, offlink};

/// The program's only image.
fn image(bench: &Workbench, program: &str) -> PathBuf {
    let folder = bench.path(format!("{program}-images"));
    bench
        .offlink()
        .args(["extract", program, "-o"])
        .arg(&folder)
        .succeeds();
    let mut found = vec![folder];
    while found.iter().any(|path| path.is_dir()) {
        let below = found
            .iter()
            .flat_map(|path| std::fs::read_dir(path).unwrap());
        found = below.map(|entry| entry.unwrap().path()).collect();
        assert_eq!(found.len(), 1, "{found:?}");
    }
    found.remove(0)
}

/// How many registers the kernel with this part in its name uses.
fn registers(bench: &Workbench, cubin: &Path, kernel: &str) -> Option<u32> {
    let usage = bench
        .command(cuda_tool("cuobjdump"))
        .arg("-res-usage")
        .arg(cubin)
        .succeeds();
    let mut lines = usage.lines();
    lines.find(|line| line.contains(kernel))?;
    let registers = lines.next()?.trim().strip_prefix("REG:")?;
    registers.split(' ').next()?.parse().ok()
}

/// A kernel's use of registers depends on no other kernel of the link, though
/// both call the same runtime (60641).
#[test]
fn kernels_do_not_share_their_registers() {
    let bench = Workbench::new();
    let runtime = bitcode(&bench, "openmp_runtime", NVIDIA);
    let link = |name: &str, arguments: &[&str]| {
        let object = format!("{name}.o");
        bench
            .command("clang-22")
            .args(["-O3", "-fPIC", "-fopenmp", "-foffload-lto", "-nogpulib"])
            .args(["--offload-arch=sm_90"])
            .arg(format!("--cuda-path={}", cuda().display()))
            .args(arguments)
            .args(["-c", "-o", &object])
            .arg(c_source("two_regions"))
            .succeeds();
        bench
            .offlink()
            .args(["cc", "-shared", &object])
            .arg(&runtime)
            .args([RUNTIME, "-o", name])
            .succeeds_silently();
        image(&bench, name)
    };
    let alone = link("alone", &[]);
    let both = link("both", &["-DSECOND"]);
    let first = registers(&bench, &alone, "_first_").expect("the first region");
    let second = registers(&bench, &both, "_second_").expect("the second region");
    assert!(second > first, "{second}, {first}");
    assert_eq!(registers(&bench, &both, "_first_"), Some(first));
}

/// An archive of 512 members with long names, all of them needed: LLVM's wrappers
/// hand a line over that the next one can't read (219914).
#[test]
fn an_archive_of_512_members() {
    const MEMBERS: usize = 512;
    let bench = Workbench::new();
    let source = "extern \"C\" void use(const volatile void *);\n\
                  __global__ void kernel_000(int *out) { *out = 1; }\n\
                  void use_000() { use((const void *)kernel_000); }\n";
    // Not for device LTO, so that nvlink gets 512 cubins.
    let language = ["-xcuda", "-nocudainc", "-nocudalib"];
    let first = unit_of(
        &bench,
        &language,
        "first",
        source,
        &["--offload-arch=sm_90"],
    );
    let first = std::fs::read(first).unwrap();
    let mut members = Vec::new();
    let mut main = String::from("int called;\n");
    for number in 0..MEMBERS {
        let contents = renamed(&first, &format!("{number:03}"));
        let name = format!("{}_{number}.o", "0".repeat(180));
        members.push(bench.write(&name, contents));
        main += &format!("void use_{number:03}();\n");
    }
    main += "__attribute__((constructor)) static void call() {\n";
    for number in 0..MEMBERS {
        main += &format!("  use_{number:03}();\n");
    }
    main += "}\n";
    let members: Vec<&Path> = members.iter().map(PathBuf::as_path).collect();
    archive(&bench, "members", &members);
    let source = bench.write("calls.cc", main);
    bench
        .command("c++")
        .args(["-fPIC", "-c"])
        .arg(source)
        .succeeds();
    let objects = [Path::new("calls.o"), Path::new("libmembers.a")];
    program(&bench, &objects, &["-o", "prog"]).succeeds_silently();
    let registered = calls(&bench, bench.path("prog"), "cudaRegisterFunction");
    assert_eq!(registered, MEMBERS);
}

/// The bundle takes the place of one of the files that go into it (ROCm/TheRock
/// 5615).
#[test]
fn a_bundle_written_over_its_input() {
    let bench = Workbench::new();
    let code = bitcode(&bench, "saxpy", AMD);
    let contents = std::fs::read(&code).unwrap();
    bench.link("clang-offload-bundler", offlink());
    let bundler = |arguments: &[String]| {
        bench
            .command(bench.path("clang-offload-bundler"))
            .arg("-type=o")
            .args(arguments)
            .succeeds_silently();
    };
    let file = code.display();
    let target = "hip-amdgcn-amd-amdhsa--gfx90a";
    bundler(&[
        format!("-targets=host-x86_64-unknown-linux-gnu-,{target}"),
        "-input=/dev/null".into(),
        format!("-input={file}"),
        format!("-output={file}"),
    ]);
    assert!(std::fs::read(&code).unwrap() != contents);
    bundler(&[
        "-unbundle".into(),
        format!("-targets={target}"),
        format!("-input={file}"),
        format!("-output={file}"),
    ]);
    assert!(std::fs::read(&code).unwrap() == contents);
}

/// The object with another number in the names of its symbols, on the host and in
/// its device code, which a compiler would need minutes to make 512 times.
fn renamed(object: &[u8], number: &str) -> Vec<u8> {
    let mut object = object.to_vec();
    for prefix in [&b"kernel_"[..], b"use_"] {
        let old = [prefix, b"000"].concat();
        let places: Vec<usize> = (0..object.len())
            .filter(|place| object[*place..].starts_with(&old))
            .collect();
        assert!(!places.is_empty());
        for place in places {
            let start = place + prefix.len();
            object[start..start + number.len()].copy_from_slice(number.as_bytes());
        }
    }
    object
}
