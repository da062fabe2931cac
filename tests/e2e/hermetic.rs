//! Links that use what a toolchain file declares, and nothing else.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::device_code::{
    AMD, CPU, NVIDIA, Target, assembly, bitcode, launcher_with, object, saxpy_images,
};
use crate::device_libraries::{ROCM, libdevice, math};
use crate::workbench::{Run, Workbench, cuda_tool, offlink, system_libllvm};

/// All tools and libraries of this machine, by their keys.
fn tools(bench: &Workbench) -> Vec<(&'static str, PathBuf)> {
    vec![
        ("llvm", system_libllvm(bench, "libLLVM.so.22.1")),
        ("ptxas", cuda_tool("ptxas")),
        ("nvlink", cuda_tool("nvlink")),
        ("lld", bench.find("ld.lld-22")),
        ("spirv-link", bench.find("spirv-link")),
        ("host-linker", bench.find("cc")),
        ("cc", bench.find("aarch64-linux-gnu-gcc")),
        ("libdevice", libdevice()),
        ("rocm-device-libs", ROCM.into()),
        (
            "omptarget",
            "/usr/lib/x86_64-linux-gnu/libomptarget.so.22.1".into(),
        ),
    ]
}

fn table<'a>(tools: impl IntoIterator<Item = &'a (&'static str, PathBuf)>) -> String {
    let line = |(key, path): &(&str, PathBuf)| format!("{key} = '{}'\n", path.display());
    let lines: String = tools.into_iter().map(line).collect();
    // gcc looks for its linker there.
    format!("environment.PATH = '/usr/bin'\n[tools]\n{lines}")
}

/// offlink with the toolchain file `name` and nothing from its environment.
fn hermetic(bench: &Workbench, file: &str) -> Command {
    let mut command = bench.command(offlink());
    command
        .env_clear()
        .env("OFFLINK_TOOLCHAIN", bench.path(file));
    command
}

/// The arguments of `offlink link`.
fn device_link(target: Target, inputs: &[PathBuf]) -> Vec<String> {
    let inputs = inputs.iter().map(|path| path.display().to_string());
    ["link", "--hermetic", "-o", "image"]
        .map(String::from)
        .into_iter()
        .chain(target.arguments())
        .chain(inputs)
        .collect()
}

pub fn spirv(bench: &Workbench, name: &str) -> PathBuf {
    let output = bench.path(format!("{name}.spv"));
    bench
        .command("clang-22")
        .args(["--target=spirv64-unknown-unknown", "-O1", "-c", "-o"])
        .arg(&output)
        .arg(crate::workbench::fixture("opencl").join(format!("{name}.cl")))
        .succeeds_silently();
    output
}

/// For each key a line that needs it.
fn lines(bench: &Workbench) -> Vec<(&'static str, Vec<String>)> {
    const SPIRV: Target = Target {
        triple: "spirv64-unknown-unknown",
        arch: "",
    };
    let saxpy = bitcode(bench, "saxpy", NVIDIA);
    let amd = bitcode(bench, "saxpy", AMD);
    let cubins = ["saxpy", "kernels"].map(|name| object(bench, name, NVIDIA));
    let modules = ["scale", "twice"].map(|name| spirv(bench, name));
    let program = launcher_with(bench, &saxpy_images(bench));
    let link_of = |more: &[&str]| {
        let fixed = ["cc", "--offlink-hermetic", "-o", "program"];
        let line = fixed.iter().chain(more).map(ToString::to_string);
        line.chain([program.display().to_string()]).collect()
    };
    bench
        .offlink()
        .args(["bundle", "-o", "bundle"])
        .arg(format!("--image={}", NVIDIA.image(&cubins[0])))
        .succeeds_silently();
    let wrap = ["wrap", "--hermetic", "-o", "wrapped.o", "bundle"];
    let wrap = wrap
        .iter()
        .chain(&["--host-triple=aarch64-unknown-linux-gnu"]);
    vec![
        ("llvm", device_link(NVIDIA, std::slice::from_ref(&saxpy))),
        ("ptxas", device_link(NVIDIA, &[saxpy])),
        ("nvlink", device_link(NVIDIA, &cubins)),
        ("lld", device_link(AMD, &[amd])),
        ("spirv-link", device_link(SPIRV, &modules)),
        (
            "libdevice",
            device_link(NVIDIA, &[math(bench, NVIDIA, &[])]),
        ),
        (
            "rocm-device-libs",
            device_link(AMD, &[math(bench, AMD, &[])]),
        ),
        ("cc", wrap.map(ToString::to_string).collect()),
        (
            "host-linker",
            device_link(CPU, &[bitcode(bench, "saxpy", CPU)]),
        ),
        (
            "host-linker",
            link_of(&["--offlink-omptarget=none", "-shared"]),
        ),
        ("omptarget", link_of(&[])),
    ]
}

#[test]
fn what_is_not_declared_is_named() {
    let bench = Workbench::new();
    let tools = tools(&bench);
    bench.write("all.toml", table(&tools));
    for (key, line) in lines(&bench) {
        hermetic(&bench, "all.toml").args(&line).succeeds_silently();
        bench.write(
            "without.toml",
            table(tools.iter().filter(|(name, _)| *name != key)),
        );
        let stderr = hermetic(&bench, "without.toml").args(&line).fails_with(4);
        assert!(
            stderr.contains("not declared") && stderr.contains(&format!("'{key}'")),
            "{key}: {stderr}"
        );
        assert_eq!(stderr.lines().count(), 1, "{stderr}");
    }
}

/// The shared libraries that the loader gives a file, and the loader.
pub fn closure(bench: &Workbench, file: &Path, files: &mut BTreeSet<PathBuf>) {
    let listed = bench.command("ldd").arg(file).succeeds();
    let paths = listed
        .split_whitespace()
        .filter(|word| word.starts_with('/'));
    files.extend(paths.map(PathBuf::from));
}

/// A root with nothing but devices and `/tmp`.
pub fn sandbox(bench: &Workbench) -> Command {
    let mut command = bench.command("bwrap");
    command.args(["--unshare-all", "--clearenv", "--dev", "/dev"]);
    command.args(["--tmpfs", "/tmp"]);
    command
}

/// An empty root with the tools in `/tools`, libraries where the loader looks for
/// them, and the bench's folder as `/work`.
fn empty_root(bench: &Workbench) -> Command {
    let programs = [
        ("offlink", offlink().to_owned()),
        ("libLLVM.so.22.1", system_libllvm(bench, "libLLVM.so.22.1")),
        ("ptxas", cuda_tool("ptxas")),
        ("ld.lld", bench.find("ld.lld-22")),
        ("libdevice.10.bc", libdevice()),
    ];
    let mut command = sandbox(bench);
    let mut libraries = BTreeSet::new();
    for (name, path) in programs {
        if name != "libdevice.10.bc" {
            closure(bench, &path, &mut libraries);
        }
        let path = path.canonicalize().expect("a file");
        command
            .arg("--ro-bind")
            .arg(path)
            .arg(format!("/tools/{name}"));
    }
    for library in libraries {
        let path = library.canonicalize().expect("a library");
        command.arg("--ro-bind").arg(path).arg(library);
    }
    command.arg("--bind").arg(bench.path("")).arg("/work");
    command.args(["--chdir", "/work", "/tools/offlink"]);
    command
}

#[test]
fn an_empty_root_is_enough() {
    let bench = Workbench::new();
    let device = math(&bench, NVIDIA, &[]);
    let program = launcher_with(&bench, &saxpy_images(&bench)[1..]);
    let name = |path: &Path| path.file_name().expect("a file").to_owned();
    bench.write(
        "offlink.toml",
        "hermetic = true\n[tools]\nllvm = '../tools/libLLVM.so.22.1'\nptxas = '../tools/ptxas'\n\
         lld = '../tools/ld.lld'\nhost-linker = '../tools/ld.lld'\n\
         libdevice = '../tools/libdevice.10.bc'\n",
    );
    let llvm = system_libllvm(&bench, "libLLVM.so.22.1");
    let link = ["link", "--triple=nvptx64-nvidia-cuda", "--arch=sm_90", "-o"];
    empty_root(&bench)
        .args(link)
        .args(["--toolchain=offlink.toml", "inside"])
        .arg(name(&device))
        .succeeds_silently();
    bench
        .offlink()
        .env("OFFLINK_LLVM", &llvm)
        .args(link)
        .arg("outside")
        .arg(&device)
        .succeeds_silently();
    let read = |name: &str| std::fs::read(bench.path(name)).expect("an output");
    assert!(read("inside") == read("outside"), "the images differ");

    let shared = ["ld", "-shared", "--offlink-omptarget=none", "-o"];
    empty_root(&bench)
        .env("OFFLINK_TOOLCHAIN", "offlink.toml")
        .args(shared)
        .args(["inside.so", "--offlink-toolchain=offlink.toml"])
        .arg(name(&program))
        .succeeds_silently();
    bench
        .offlink()
        .env("OFFLINK_LLVM", &llvm)
        .env("OFFLINK_LLD", bench.find("ld.lld-22"))
        .env("OFFLINK_HOST_LINKER", bench.find("ld.lld-22"))
        .args(shared)
        .arg("outside.so")
        .arg(&program)
        .succeeds_silently();
    assert!(
        read("inside.so") == read("outside.so"),
        "the libraries differ"
    );
}

/// A launcher gets its arguments and the tool's; with `--hermetic` tools see what
/// the file says of the environment and no more.
#[test]
fn launchers_and_the_environment() {
    let bench = Workbench::new();
    bench.script(
        "launch",
        "#!/bin/sh\n/usr/bin/env >seen\nshift\nexec \"$@\"\n",
    );
    let ptxas = cuda_tool("ptxas");
    bench.write(
        "offlink.toml",
        format!(
            "environment.CACHE = 'near'\n\
             tools.ptxas = ['./launch', '--first', '{}']\n",
            ptxas.display()
        ),
    );
    let ptx = assembly(&bench, "saxpy", NVIDIA);
    let variables = |option: &[&str]| -> BTreeSet<String> {
        bench
            .offlink()
            .args(["link", "--toolchain=offlink.toml", "-o", "image"])
            .args(NVIDIA.arguments())
            .args(option)
            .arg(&ptx)
            .succeeds_silently();
        let seen = std::fs::read_to_string(bench.path("seen")).expect("the launcher ran");
        let names = seen.lines().filter_map(|line| line.split('=').next());
        names.map(str::to_owned).collect()
    };
    assert!(variables(&[]).is_superset(&["CACHE", "CUDA_HOME"].map(String::from).into()));
    let mut clean = variables(&["--hermetic"]);
    // The shell's own.
    for name in ["PWD", "_", "SHLVL", "OLDPWD"] {
        clean.remove(name);
    }
    assert_eq!(
        clean,
        ["CACHE", "GLIBC_TUNABLES", "LC_ALL", "TMPDIR"]
            .map(String::from)
            .into()
    );
}

/// Tools are told how to allocate memory, if neither the user nor the toolchain file
/// has said so; and so is the host linker, which offlink may become.
#[test]
fn the_allocator_of_tools() {
    let bench = Workbench::new();
    bench.script(
        "tool",
        "#!/bin/sh\nprintf %s \"$GLIBC_TUNABLES\" >seen\nexec \"$@\"\n",
    );
    bench.write("main.c", "int main(void) { return 0; }\n");
    let seen = |lines: &str, variable: Option<&str>, words: &[&str]| {
        let lines = format!("{lines}tools.host-linker = ['./tool', '/usr/bin/cc']\n");
        bench.write("offlink.toml", lines);
        let mut link = bench.offlink();
        link.args(["cc", "--offlink-toolchain=offlink.toml", "main.c"])
            .args(["-o", "program"])
            .args(words);
        if let Some(value) = variable {
            link.env("GLIBC_TUNABLES", value);
        }
        link.succeeds_silently();
        let seen = std::fs::read_to_string(bench.path("seen")).expect("the tool ran");
        std::fs::remove_file(bench.path("seen")).expect("it is there");
        seen
    };
    let own = "glibc.malloc.arena_max=1";
    let path = "environment.PATH = '/usr/bin'\n";
    for hermetic in [&[][..], &["--offlink-hermetic"]] {
        let told = seen(path, None, hermetic);
        assert!(told.starts_with("glibc.malloc."), "{told:?}");
        let lines = format!("{path}environment.GLIBC_TUNABLES = '{own}'\n");
        assert_eq!(seen(&lines, None, hermetic), own);
    }
    assert_eq!(seen(path, Some(own), &[]), own);
    assert_ne!(seen(path, Some(own), &["--offlink-hermetic"]), own);
}

/// A launcher that PATH would have to give is not declared.
#[test]
fn a_launcher_without_a_path() {
    let bench = Workbench::new();
    let ptxas = cuda_tool("ptxas");
    bench.write(
        "offlink.toml",
        format!("tools.ptxas = ['env', '{}']\n", ptxas.display()),
    );
    let ptx = assembly(&bench, "saxpy", NVIDIA);
    let line = device_link(NVIDIA, &[ptx]);
    let open = line.iter().filter(|argument| *argument != "--hermetic");
    bench
        .offlink()
        .env("OFFLINK_TOOLCHAIN", bench.path("offlink.toml"))
        .args(open)
        .succeeds_silently();
    let stderr = hermetic(&bench, "offlink.toml").args(&line).fails_with(4);
    assert!(stderr.contains("a launcher without a path"), "{stderr}");
}

/// The table of an arch goes before that of its triple, both before `[tools]`, and
/// an option before them all.
#[test]
fn targets_have_tools_of_their_own() {
    let bench = Workbench::new();
    let ptxas = cuda_tool("ptxas");
    bench.write(
        "offlink.toml",
        format!(
            "tools.ptxas = 'of-all'\n\
             [target.nvptx64-nvidia-cuda]\nptxas = 'of-triple'\n\
             [target.'nvptx64-nvidia-cuda:sm_90']\nptxas = '{}'\n",
            ptxas.display()
        ),
    );
    let ptx = assembly(&bench, "saxpy", NVIDIA);
    let link = |arch: &str, option: &str| {
        let mut command = bench.offlink();
        command
            .args(["link", "--toolchain=offlink.toml", "-o", "image", option])
            .args(["--triple=nvptx64-nvidia-cuda", arch])
            .arg(&ptx);
        command
    };
    link("--arch=sm_90", "-O3").succeeds_silently();
    let stderr = link("--arch=sm_100", "-O3").fails_with(1);
    assert!(stderr.contains("of-triple"), "{stderr}");
    let stderr = link("--arch=sm_90", "--ptxas=of-option").fails_with(1);
    assert!(stderr.contains("of-option"), "{stderr}");
}

#[test]
fn a_wrong_file_is_wrong_usage() {
    let bench = Workbench::new();
    bench.write("offlink.toml", "[tools]\n\nptaxs = 'ptxas'\n");
    let stderr = bench
        .offlink()
        .args(["cc", "--offlink-toolchain=offlink.toml", "a.o"])
        .fails_with(2);
    assert!(
        stderr.contains("offlink.toml:3: unknown variant `ptaxs`"),
        "{stderr}"
    );
    let stderr = bench
        .offlink()
        .env("OFFLINK_TOOLCHAIN", "missing.toml")
        .args(["cc", "a.o"])
        .fails_with(2);
    assert!(stderr.contains("'missing.toml'"), "{stderr}");
}
