//! The same link gives the same bytes, wherever, whenever and by whom it is run.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::device_code::{
    AMD, NVIDIA, RUNTIME, assembly, bitcode, embed, launcher_with, pack, saxpy_images,
};
use crate::gpu_kinds::{self, Language, Unit};
use crate::static_build::static_offlink;
use crate::workbench::{Run, Workbench, cuda, cuda_tool, offlink, system_libllvm};

/// Links to compare: programs of all kinds, libraries, objects for a next link,
/// images, and registration objects of both makes. Their inputs go to `inputs`.
fn links(bench: &Workbench, inputs: &Path) -> Vec<Vec<&'static str>> {
    let take = |path: PathBuf, name: &str| {
        std::fs::copy(path, inputs.join(name)).expect("an input");
    };
    take(launcher_with(bench, &saxpy_images(bench)[..2]), "launch.o");
    let kernels = bitcode(bench, "kernels", NVIDIA);
    for kind in ["openmp", "cuda"] {
        let image = NVIDIA
            .image(&kernels)
            .replace("kind=openmp", &format!("kind={kind}"));
        bench
            .offlink()
            .args(["bundle", &format!("--image={image}"), "-o"])
            .arg(inputs.join(kind))
            .arg("--format=offload-binary")
            .succeeds_silently();
    }
    take(kernels, "kernels.bc");
    take(bitcode(bench, "saxpy", AMD), "amd.bc");
    take(assembly(bench, "saxpy", NVIDIA), "saxpy.ptx");
    for (language, arch) in [(Language::Cuda, "sm_90"), (Language::Hip, "gfx90a")] {
        let arch = format!("--offload-arch={arch}");
        let units = [Unit::First, Unit::Second];
        for path in gpu_kinds::objects(bench, language, &[&arch, "-foffload-lto"], &units) {
            let name = path.file_name().expect("a name").to_owned();
            take(path, name.to_str().expect("an ASCII name"));
        }
    }
    let nvidia = ["--triple=nvptx64-nvidia-cuda", "--arch=sm_90"];
    let amd = ["--triple=amdgcn-amd-amdhsa", "--arch=gfx90a"];
    let lld = ["-g", "-fuse-ld=lld", "-B/usr/lib/llvm-22/bin"];
    vec![
        vec!["cc", "launch.o", RUNTIME],
        [["cc", "launch.o"].as_slice(), &lld, &[RUNTIME]].concat(),
        vec!["ld", "-shared", "launch.o", RUNTIME],
        vec!["ld", "-r", "launch.o"],
        vec!["cc", "runtime.o", "first-Cuda.o", "second-Cuda.o"],
        vec!["cc", "runtime.o", "first-Hip.o", "second-Hip.o"],
        [["link", "kernels.bc", "saxpy.ptx"].as_slice(), &nvidia].concat(),
        [["link", "--emit=ptx", "kernels.bc"].as_slice(), &nvidia].concat(),
        [["link", "amd.bc"].as_slice(), &amd].concat(),
        vec!["wrap", "openmp"],
        vec!["wrap", "--host-triple=aarch64-unknown-linux-gnu", "openmp"],
    ]
}

/// With the libLLVM that the static offlink has in it.
fn plain(bench: &Workbench, folder: &Path) -> Command {
    let mut command = bench.offlink();
    command
        .current_dir(folder)
        .env("OFFLINK_LLVM", system_libllvm(bench, "libLLVM.so.22.1"));
    command
}

/// Ways to run a link in which nothing that should show in the output differs from
/// what the test's own way has.
fn ways(bench: &Workbench, folder: &Path) -> Vec<(&'static str, Command)> {
    let with = |variables: &[(&str, &Path)]| {
        let mut command = plain(bench, folder);
        command.envs(variables.iter().copied());
        command
    };
    let elsewhere = bench.folder("a temporary folder, elsewhere");
    let through = |program: &str, arguments: &[&str]| {
        let plain = plain(bench, folder);
        let mut command = bench.command(program);
        command
            .current_dir(folder)
            .envs(
                plain
                    .get_envs()
                    .filter_map(|(name, value)| Some((name, value?))),
            )
            .args(arguments)
            .arg(offlink());
        command
    };
    let user = "--unshare-user --uid 4321 --gid 4321 --dev-bind / /";
    let user: Vec<&str> = user.split(' ').collect();
    let umask = ["-c", "umask 077; exec \"$0\" \"$@\""];
    let mut with_llvm_inside = bench.command(static_offlink());
    with_llvm_inside
        .current_dir(folder)
        .env("CUDA_HOME", cuda());
    let names = [
        ("HOME", elsewhere.as_path()),
        ("USER", Path::new("somebody")),
        ("SOURCE_DATE_EPOCH", Path::new("1")),
        ("TZ", Path::new("Asia/Kathmandu")),
    ];
    let cache = [("OFFLINK_CACHE_DIR", elsewhere.as_path())];
    // Instead of what offlink tells the allocator of its tools.
    let allocator = [("GLIBC_TUNABLES", Path::new("glibc.malloc.arena_max=1"))];
    vec![
        ("another folder", plain(bench, folder)),
        ("another TMPDIR", with(&[("TMPDIR", &elsewhere)])),
        ("another allocator", with(&allocator)),
        ("another locale", with(&[("LC_ALL", Path::new("C.UTF-8"))])),
        ("another home, user, date and time zone", with(&names)),
        ("another user", through("bwrap", &user)),
        ("another umask", through("sh", &umask)),
        ("a static offlink", with_llvm_inside),
        ("an empty cache", with(&cache)),
        ("a filled cache", with(&cache)),
    ]
}

#[test]
fn whatever_the_surroundings() {
    let bench = Workbench::new();
    let first = bench.folder("first");
    let lines = links(&bench, &first);
    let root = bench.path("").display().to_string();
    let root = root.trim_end_matches('/');
    let moved = bench.folder("second/and deeper");
    for input in std::fs::read_dir(&first).expect("the inputs") {
        let input = input.expect("an input");
        std::fs::copy(input.path(), moved.join(input.file_name())).expect("a copy");
    }
    // Times of a second's resolution are to differ too.
    std::thread::sleep(std::time::Duration::from_millis(1100));
    for line in &lines {
        let output = |mut command: Command, folder: &Path, name: &str, jobs: &str| {
            command
                .args(line)
                .args(["-o", name, jobs])
                .arg(format!("--offlink-forbid-bytes={root}"))
                .succeeds_silently();
            let output = folder.join(name);
            let bytes = std::fs::read(&output).expect("an output");
            std::fs::remove_file(output).expect("an output");
            bytes
        };
        let expected = output(plain(&bench, &first), &first, "output", "--offlink-jobs=1");
        for jobs in ["--offlink-jobs=2", "--offlink-jobs=8"] {
            let found = output(plain(&bench, &first), &first, "output", jobs);
            assert!(found == expected, "{jobs} differs: {line:?}");
        }
        for (way, command) in ways(&bench, &moved) {
            let found = output(command, &moved, "another name", "--offlink-jobs=4");
            assert!(found == expected, "{way} differs: {line:?}");
        }
    }
}

/// A program that runs the tool behind it and adds to its output what no two runs
/// have in common.
fn restless_toolchain(bench: &Workbench) {
    bench.script(
        "launch",
        "#!/bin/sh\n\"$@\" || exit\nwhile [ \"$1\" != --output-file ]; do shift; done\nmktemp -u >>\"$2\"\n",
    );
    let ptxas = cuda_tool("ptxas");
    let text = format!("tools.ptxas = ['./launch', '{}']\n", ptxas.display());
    bench.write("offlink.toml", text);
}

#[test]
fn tools_that_are_not_deterministic_are_found_out() {
    let bench = Workbench::new();
    restless_toolchain(&bench);
    let kernels = bitcode(&bench, "kernels", NVIDIA);
    let object = launcher_with(&bench, &saxpy_images(&bench)[1..2]);
    let link = |option: &str| {
        let mut command = bench.offlink();
        command
            .args(["link", "--verify-deterministic", "-o", "image", option])
            .args(NVIDIA.arguments())
            .arg(&kernels);
        command
    };
    link("-O3").succeeds_silently();
    std::fs::remove_file(bench.path("image")).expect("an image");
    let says = |stderr: String| {
        let differs = stderr.contains("nvptx64-nvidia-cuda sm_90") && stderr.contains("differ");
        assert!(differs, "{stderr}");
    };
    says(link("--toolchain=offlink.toml").fails_with(1));
    assert!(!bench.path("image").exists());
    let mut whole = bench.offlink();
    whole
        .args([
            "cc",
            "-o",
            "program",
            RUNTIME,
            "--offlink-verify-deterministic",
        ])
        .arg(&object);
    whole.succeeds_silently();
    std::fs::remove_file(bench.path("program")).expect("a program");
    says(whole.arg("--offlink-toolchain=offlink.toml").fails_with(1));
    assert!(!bench.path("program").exists());
}

#[test]
fn what_is_forbidden_is_not_left_behind() {
    let bench = Workbench::new();
    let object = launcher_with(&bench, &saxpy_images(&bench)[1..2]);
    let link = |text: &str| {
        let mut command = bench.offlink();
        command
            .args(["cc", "-o", "program", RUNTIME])
            .arg(format!("--offlink-forbid-bytes={text}"))
            .arg(&object);
        command
    };
    link("/no/such/root").succeeds_silently();
    let stderr = link("sm_90").fails_with(4);
    assert!(stderr.contains("'program' holds 'sm_90'"), "{stderr}");
    assert!(!bench.path("program").exists());
}

/// Names that clang makes of the source file's inode are spoken of to those who
/// want the same bytes elsewhere, and to no one else.
#[test]
fn kernels_named_after_inodes() {
    let bench = Workbench::new();
    let source = "void f(int *a) {\n#pragma omp target map(tofrom : a[0])\na[0] = 1;\n}\n";
    bench.write("region.c", source);
    let clang = |arguments: &[&str]| {
        bench
            .command("clang-22")
            .args(["-O1", "-fopenmp", "-nogpulib", "-c", "region.c"])
            .args(arguments)
            .succeeds_silently()
    };
    clang(&["-fopenmp-targets=x86_64-pc-linux-gnu", "-o", "region.o"]);
    let extract = |option: &[&str]| {
        let mut command = bench.offlink();
        command
            .args(["extract", "-o", "device", "region.o"])
            .args(option);
        command
    };
    extract(&[]).succeeds_silently();
    let warning = extract(&["--hermetic"]).warns();
    assert!(
        warning.contains("__omp_offloading_") && warning.contains("inode"),
        "{warning}"
    );
    assert_eq!(warning.lines().count(), 1, "{warning}");
    let link = |option: &[&str]| {
        let mut command = bench.offlink();
        command
            .args(["cc", "-shared", "-o", "library.so", "region.o", RUNTIME])
            .args(option);
        command
    };
    link(&[]).succeeds_silently();
    let warning = link(&["--offlink-verify-deterministic"]).warns();
    assert!(warning.contains("inode"), "{warning}");
    // Others have names that stay.
    let packed = pack(&bench, &saxpy_images(&bench)[1..2], "images.bin");
    embed(&bench, &packed, &[], "launch.o");
    bench
        .offlink()
        .args(["extract", "--hermetic", "-o", "device", "launch.o"])
        .succeeds_silently();
}
