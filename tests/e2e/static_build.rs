//! An offlink that has libc and LLVM in it needs no file that isn't declared, and makes what the usual one
//! makes.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::LazyLock;

use crate::casd::Casd;
use crate::device_code::{NVIDIA, launcher_with, saxpy_images};
use crate::device_libraries::{libdevice, math};
use crate::distributor::{distributor, log};
use crate::hermetic::{closure, sandbox};
use crate::workbench::{Run, Workbench, cuda_tool, offlink, repository, system_libllvm};

/// What `scripts/build-static` makes, up to date.
pub fn static_offlink() -> &'static Path {
    static BUILT: LazyLock<PathBuf> = LazyLock::new(|| {
        let bench = Workbench::new();
        let profile = offlink().parent().expect("a profile's folder");
        let target = profile.parent().expect("cargo's target folder");
        bench
            .command(repository().join("scripts/build-static"))
            .args(["--quiet", "--target-dir"])
            .arg(target)
            .succeeds_silently();
        let mut rustc = bench.command("rustc");
        let host = rustc.args(["--print", "host-tuple"]).succeeds();
        target.join(host.trim()).join("debug/offlink")
    });
    &BUILT
}

/// Single steps and a whole link, which need every tool.
const LINES: [&str; 7] = [
    "extract -o device launch.o",
    "link --triple=nvptx64-nvidia-cuda --arch=sm_90 -o saxpy.cubin \
     device/openmp-nvptx64-nvidia-cuda-sm_90/0000.bc",
    "link --triple=nvptx64-nvidia-cuda --arch=sm_90 -o math.cubin math.bc",
    "link --triple=amdgcn-amd-amdhsa --arch=gfx90a -o saxpy.hsaco \
     device/openmp-amdgcn-amd-amdhsa-gfx90a/0000.bc",
    "bundle -o bundle --image=file=saxpy.cubin,triple=nvptx64-nvidia-cuda,arch=sm_90,kind=openmp \
     --image=file=saxpy.hsaco,triple=amdgcn-amd-amdhsa,arch=gfx90a,kind=openmp",
    "wrap -o wrapped.o bundle",
    "ld -shared --offlink-omptarget=none -o library.so launch.o",
];

/// A folder with what [`LINES`] name.
fn folder(bench: &Workbench, name: &str, inputs: &[(&str, &Path)], toolchain: &str) {
    let folder = bench.folder(name);
    for (name, path) in inputs {
        std::fs::copy(path, folder.join(name)).expect("an input");
    }
    std::fs::write(folder.join("offlink.toml"), toolchain).expect("a toolchain file");
}

/// A root that holds the static offlink and the tools in `/tools`, their loader and libraries in
/// `/tools/lib`, and `/work`.
fn empty_root(bench: &Workbench, work: &str) -> Command {
    let tools = [
        ("offlink", static_offlink().to_owned()),
        ("ptxas", cuda_tool("ptxas")),
        ("ld.lld", bench.find("ld.lld-22")),
        ("libdevice.10.bc", libdevice()),
    ];
    let mut libraries = BTreeSet::new();
    for (_, path) in &tools[1..3] {
        closure(bench, path, &mut libraries);
    }
    let names = libraries.iter().map(|path| {
        let name = path.file_name().expect("a file").to_string_lossy();
        (format!("lib/{name}"), path.clone())
    });
    let tools = tools.map(|(name, path)| (name.to_owned(), path));
    let mut command = sandbox(bench);
    for (name, path) in tools.into_iter().chain(names) {
        let path = path.canonicalize().expect("a file");
        command.arg("--ro-bind").arg(path);
        command.arg(format!("/tools/{name}"));
    }
    command.arg("--bind").arg(bench.path(work)).arg("/work");
    command.args(["--setenv", "OFFLINK_TOOLCHAIN", "offlink.toml"]);
    command.args(["--chdir", "/work", "/tools/offlink"]);
    command
}

/// All files below a folder.
fn files(folder: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut found = BTreeMap::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(next) = folders.pop() {
        for entry in std::fs::read_dir(next).expect("a folder") {
            let path = entry.expect("an entry").path();
            if path.is_dir() {
                folders.push(path);
            } else {
                let name = path.strip_prefix(folder).expect("a path below");
                found.insert(name.to_owned(), std::fs::read(&path).expect("a file"));
            }
        }
    }
    found.remove(Path::new("offlink.toml"));
    found
}

#[test]
fn an_empty_root_without_libc_gives_the_same_bytes() {
    let bench = Workbench::new();
    let launcher = launcher_with(&bench, &saxpy_images(&bench)[1..]);
    let math = math(&bench, NVIDIA, &[]);
    let inputs = [
        ("launch.o", launcher.as_path()),
        ("math.bc", math.as_path()),
    ];
    let loaded = |tool: &str| {
        format!(
            "['/tools/lib/ld-linux-x86-64.so.2', '--library-path', '/tools/lib', '/tools/{tool}']"
        )
    };
    let inside = format!(
        "hermetic = true\n[tools]\nlibdevice = '/tools/libdevice.10.bc'\nptxas = {}\nlld = {lld}\n\
         host-linker = {lld}\n",
        loaded("ptxas"),
        lld = loaded("ld.lld")
    );
    let outside = format!(
        "hermetic = true\n[tools]\nlibdevice = '{}'\nptxas = '{}'\nlld = '{lld}'\n\
         host-linker = '{lld}'\nllvm = '{}'\n",
        libdevice().display(),
        cuda_tool("ptxas").display(),
        system_libllvm(&bench, "libLLVM.so.22.1").display(),
        lld = bench.find("ld.lld-22").display(),
    );
    folder(&bench, "inside", &inputs, &inside);
    folder(&bench, "outside", &inputs, &outside);
    for line in LINES {
        let words = || line.split_whitespace();
        empty_root(&bench, "inside")
            .args(words())
            .succeeds_silently();
        bench
            .command(offlink())
            .current_dir(bench.path("outside"))
            .env("OFFLINK_TOOLCHAIN", "offlink.toml")
            .args(words())
            .succeeds_silently();
    }
    let [inside, outside] = ["inside", "outside"].map(|name| files(&bench.path(name)));
    assert!(inside.keys().eq(outside.keys()), "other files are made");
    for (name, bytes) in inside {
        assert!(bytes == outside[&name], "{name:?} differs");
    }
}

/// There is no room for a second LLVM, and no other is used in silence.
#[test]
fn a_libllvm_that_is_named_is_refused() {
    let bench = Workbench::new();
    let bitcode = math(&bench, NVIDIA, &[]);
    let link = |options: &[&str]| {
        let mut command = bench.command(static_offlink());
        command
            .env("OFFLINK_PTXAS", cuda_tool("ptxas"))
            .env("OFFLINK_LIBDEVICE", libdevice())
            .env("OFFLINK_CACHE_DIR", "cache")
            .args(["link", "-o", "image"])
            .args(NVIDIA.arguments())
            .args(options)
            .arg(&bitcode);
        command
    };
    link(&["--mllvm=-inline-threshold=10"]).succeeds_silently();
    link(&[]).succeeds_silently();
    let named = format!(
        "--llvm={}",
        system_libllvm(&bench, "libLLVM.so.22.1").display()
    );
    // The cache, which has the image, doesn't hide it.
    let stderr = link(&[&named]).fails_with(1);
    assert!(
        stderr.contains("LLVM 22.1.8 built in; leave out"),
        "{stderr}"
    );
    let stderr = link(&["--mllvm=-no-such-option"]).fails_with(1);
    assert!(
        stderr.contains("has no option '-no-such-option'"),
        "{stderr}"
    );
}

/// Its LLVM goes with it.
#[test]
fn links_run_elsewhere() {
    let bench = Workbench::new();
    let distributor = distributor(&bench);
    let bitcode = math(&bench, NVIDIA, &[]);
    let link = |output: &str| {
        let mut command = bench.command(static_offlink());
        command
            .env("OFFLINK_PTXAS", cuda_tool("ptxas"))
            .env("OFFLINK_LIBDEVICE", libdevice())
            .args(["link", "-o", output])
            .args(NVIDIA.arguments())
            .arg(&bitcode);
        command
    };
    link("here").succeeds_silently();
    link("there")
        .arg(format!("--distributor={}", distributor.display()))
        .succeeds_silently();
    assert!(log(&bench).ends_with("job\n"));
    let casd = Casd::start(&bench);
    link("remote")
        .arg(format!("--remote={}", casd.address()))
        .arg("--remote-fallback=never")
        .succeeds_silently();
    let read = |name: &str| std::fs::read(bench.path(name)).expect("an image");
    assert!(read("here") == read("there"));
    assert!(read("here") == read("remote"));
}
