//! Device links in parts: the image is that of a link in one.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::device_code::NVIDIA;
use crate::workbench::{Run, Workbench, cuda, cuda_tool, repository};

/// A CUDA file as the bitcode of a device link.
fn compile(bench: &Workbench, source: &Path) -> PathBuf {
    let output = bench.path("code.bc");
    bench
        .command("clang++-22")
        .args(["--cuda-device-only", "--offload-arch=sm_90", "-fgpu-rdc"])
        .args(["-std=c++17", "-O2", "-emit-llvm", "-c"])
        .arg("-Wno-unknown-cuda-version")
        .arg(format!("--cuda-path={}", cuda().display()))
        .arg(format!("-I{}", cuda().join("include/cccl").display()))
        .arg("-o")
        .arg(&output)
        .arg(source)
        .succeeds();
    output
}

fn link(bench: &Workbench, bitcode: &Path, output: &str) -> Command {
    let mut command = bench.offlink();
    command
        .args(["link", "-o", output])
        .args(NVIDIA.arguments())
        .arg(bitcode);
    command
}

/// What the host can look up in a cubin, with its size where that is a variable's.
fn symbols(bench: &Workbench, cubin: &str) -> BTreeSet<String> {
    let table = bench
        .command("llvm-readelf-22")
        .args(["--symbols", "--wide"])
        .arg(bench.path(cubin))
        .succeeds();
    let symbol = |line: &str| {
        let words: Vec<&str> = line.split_whitespace().collect();
        let [_, _, size, kind, "GLOBAL" | "WEAK", ..] = words[..] else {
            return None;
        };
        let name = (*words.last()?).to_owned();
        let is_own = !["__offlink_", "$__internal_", ".nv."]
            .iter()
            .any(|prefix| name.starts_with(prefix));
        match kind {
            "FUNC" if is_own => Some(name),
            "OBJECT" if is_own => Some(format!("{name} {size}")),
            _ => None,
        }
    };
    table.lines().filter_map(symbol).collect()
}

#[test]
fn every_kernel_by_itself_gives_the_same_symbols_and_any_number_of_jobs_the_same_bytes() {
    for (program, expected) in [("split.cu", "functions 24"), ("cub.cu", "RadixSort")] {
        let bench = Workbench::new();
        let source = repository().join("tests/gpu/cuda").join(program);
        let bitcode = compile(&bench, &source);
        let link = |split: &str, jobs: &str, output: &str| {
            link(&bench, &bitcode, output)
                .arg(format!("--split={split}"))
                .arg(format!("--offlink-jobs={jobs}"))
                .succeeds_silently();
            std::fs::read(bench.path(output)).expect("an image")
        };
        let whole = link("never", "1", "whole");
        let parts = link("always", "1", "parts");
        assert!(whole != parts, "{program} is not split");
        assert!(parts == link("always", "4", "again"), "{program}");

        let of_whole = symbols(&bench, "whole");
        assert!(
            of_whole.iter().any(|symbol| symbol.contains(expected)),
            "{of_whole:?}"
        );
        assert_eq!(symbols(&bench, "parts"), of_whole, "{program}");
    }
}

const KERNELS: usize = 24;

/// A kernel of some two thousand instructions, of which all write one variable.
fn kernel(number: usize) -> String {
    let mut text = format!(
        "extern \"C\" __global__ void kernel_{number}(int *data) {{\n  int a = data[0], b = data[1];\n"
    );
    for step in 0..500 {
        text += &format!(
            "  a = (a ^ b) * {} + data[{step}]; b += a >> 3;\n",
            number * step + 3
        );
    }
    text + "  atomicAdd(&total, a + b);\n}\n"
}

#[test]
fn heavy_code_is_split_unless_there_is_no_nvlink() {
    let bench = Workbench::new();
    let source: String = (0..KERNELS).map(kernel).collect();
    let source = format!("#include <cuda_runtime.h>\n__device__ int total;\n{source}");
    let bitcode = compile(&bench, &bench.write("heavy.cu", source));
    let files = |folder: &str| -> Vec<String> {
        let entries = std::fs::read_dir(bench.path(folder)).expect("a folder");
        entries
            .map(|entry| {
                entry
                    .expect("an entry")
                    .file_name()
                    .into_string()
                    .expect("a name")
            })
            .collect()
    };
    let count = |folder: &str, ending: &str| {
        let files = files(folder);
        files.iter().filter(|name| name.ends_with(ending)).count()
    };
    link(&bench, &bitcode, "parts")
        .args(["-O1", "--offlink-save-temps=in-parts", "--offlink-memory=1"])
        .succeeds_silently();
    assert!(count("in-parts", ".ptx") > 1, "{:?}", files("in-parts"));
    assert_eq!(count("in-parts", ".linked.cubin"), 1);

    // A folder with ptxas only.
    bench.folder("cuda/bin");
    bench.link("cuda/bin/ptxas", cuda().join("bin/ptxas"));
    link(&bench, &bitcode, "whole")
        .env_remove("CUDA_HOME")
        .env("CUDA_PATH", bench.path("cuda"))
        .args(["-O1", "--offlink-save-temps=in-one"])
        .succeeds_silently();
    assert_eq!(count("in-one", ".ptx"), 1, "{:?}", files("in-one"));
    assert_eq!(symbols(&bench, "parts"), symbols(&bench, "whole"));
    assert!(symbols(&bench, "parts").contains(&format!("kernel_{}", KERNELS - 1)));
}

/// A change of one kernel compiles the part with that kernel, and what the link gives is
/// what it gives without a cache.
#[test]
fn parts_of_code_that_has_not_changed_come_from_the_cache() {
    let bench = Workbench::new();
    let log = bench.path("log");
    let script = format!(
        "#!/bin/sh\necho run >>{}\nexec {} \"$@\"\n",
        log.display(),
        cuda_tool("ptxas").display()
    );
    let ptxas = bench.script("ptxas", script);
    let bitcode = |kernels: &[usize]| {
        let source: String = kernels.iter().copied().map(kernel).collect();
        let source = format!("#include <cuda_runtime.h>\n__device__ int total;\n{source}");
        compile(&bench, &bench.write("cached.cu", source))
    };
    let link = |bitcode: &Path, cache: &str, output: &str| {
        link(&bench, bitcode, output)
            .args(["-O1", "--split=always"])
            .env("OFFLINK_PTXAS", &ptxas)
            .env("OFFLINK_CACHE_DIR", cache)
            .succeeds_silently();
        let runs = std::fs::read_to_string(&log).unwrap_or_default();
        let _ = std::fs::remove_file(&log);
        let image = std::fs::read(bench.path(output)).expect("an image");
        (image, runs.lines().count())
    };
    let (_, runs) = link(&bitcode(&[1, 2, 3, 4]), "cache", "before");
    assert_eq!(runs, 4);
    let changed = bitcode(&[1, 2, 5, 4]);
    let (image, runs) = link(&changed, "cache", "after");
    assert_eq!(runs, 1);
    let (without_cache, runs) = link(&changed, "none", "fresh");
    assert_eq!(runs, 4);
    assert!(image == without_cache);
}
