//! Device links on a service of the Remote Execution API give what they give here.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::casd::{Casd, free_port, wait_for};
use crate::device_code::{
    AMD, NVIDIA, RUNTIME, Target, assembly, bitcode, launcher_with, nvidia, object, saxpy_images,
};
use crate::device_libraries::{ROCM, libdevice, math};
use crate::hermetic::spirv;
use crate::workbench::{Run, Workbench, cuda, cuda_tool, offlink, repository, system_libllvm};

fn read(bench: &Workbench, name: &str) -> Vec<u8> {
    std::fs::read(bench.path(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
}

/// `offlink link` of the inputs, which makes `output`.
fn link(bench: &Workbench, target: Target, inputs: &[PathBuf], output: &str) -> Command {
    let mut command = bench.offlink();
    command
        .args(["link", "-o", output])
        .args(target.arguments())
        .args(inputs);
    command
}

/// The whole link of a program, which makes `output`.
fn whole(bench: &Workbench, program: &Path, output: &str) -> Command {
    let mut command = bench.offlink();
    command.args(["cc", RUNTIME, "-o", output]).arg(program);
    command
}

/// The options for a link that may not be run here.
fn only_on(casd: &Casd) -> [String; 2] {
    [
        format!("--remote={}", casd.address()),
        "--remote-fallback=never".into(),
    ]
}

#[test]
fn whole_links_have_the_same_bytes() {
    let bench = Workbench::new();
    let casd = Casd::start(&bench);
    let mut images = saxpy_images(&bench);
    for arch in ["sm_80", "sm_100"].map(nvidia) {
        images.push(arch.image(&bitcode(&bench, "saxpy", arch)));
    }
    let program = launcher_with(&bench, &images);
    let whole = |output: &str| whole(&bench, &program, output);
    whole("here").succeeds_silently();
    let remote = [
        format!("--offlink-remote={}", casd.address()),
        "--offlink-remote-fallback=never".into(),
    ];
    whole("there").args(&remote).succeeds_silently();
    assert!(read(&bench, "here") == read(&bench, "there"));
    // The CPU's image is made here.
    assert_eq!(casd.executed(), 4);
    // Whoever links the same has it from the service's cache.
    let other = Workbench::new();
    let moved = other.path("moved.o");
    std::fs::copy(&program, &moved).expect("a copy");
    self::whole(&other, &moved, "again")
        .args(&remote)
        .succeeds_silently();
    assert!(read(&bench, "here") == read(&other, "again"));
    assert_eq!(casd.executed(), 4);
}

#[test]
fn spoilt_bytes_become_no_image() {
    let bench = Workbench::new();
    let casd = Casd::start(&bench);
    let inputs = [bitcode(&bench, "saxpy", NVIDIA)];
    let remote = only_on(&casd);
    let link = |output: &str| link(&bench, NVIDIA, &inputs, output);
    link("here").args(&remote).succeeds_silently();
    casd.spoil(&read(&bench, "here"));
    let said = link("there").args(&remote).fails_with(1);
    assert!(said.contains(&casd.address()), "{said}");
    assert!(!bench.path("there").exists());
    let said = link("there").arg(&remote[0]).warns();
    assert!(said.contains("made here instead"), "{said}");
    assert!(read(&bench, "here") == read(&bench, "there"));
}

/// A service may have several workers; here the first of two services hands on to the
/// other what it can't begin at once.
#[test]
fn links_are_spread_over_workers() {
    let bench = Workbench::new();
    let runner = repository().join(".tools/buildbox/buildbox-run");
    let runner = format!("--buildbox-run={}", runner.display());
    let second = Casd::start_with(&bench, &[&runner, "--jobs=1"]);
    let to_second = ["cas", "ac", "exec"]
        .map(|what| format!("--{what}-remote=http://127.0.0.1:{}", second.port));
    let mut arguments = vec![runner.as_str(), "--jobs=1", "--exec-hybrid-queue-limit=0"];
    arguments.extend(to_second.iter().map(String::as_str));
    let first = Casd::start_with(&bench, &arguments);
    let archs = ["sm_75", "sm_80", "sm_86", "sm_89", "sm_90", "sm_100"];
    let images = archs.map(|arch| {
        let target = nvidia(arch);
        target.image(&bitcode(&bench, "saxpy", target))
    });
    let program = launcher_with(&bench, &images);
    let whole = |output: &str| whole(&bench, &program, output);
    whole("here").succeeds_silently();
    whole("there")
        .arg(format!("--offlink-remote={}", first.address()))
        .arg("--offlink-remote-fallback=never")
        .succeeds_silently();
    assert!(read(&bench, "here") == read(&bench, "there"));
    let executed = [first.executed(), second.executed()];
    assert!(executed[0] > 0 && executed[1] > 0, "{executed:?}");
    assert_eq!(executed[0] + executed[1], archs.len());
}

/// Everything that a device link may need is among the inputs.
#[test]
fn all_tools_and_libraries_are_sent() {
    const SPIRV: Target = Target {
        triple: "spirv64-unknown-unknown",
        arch: "",
    };
    let bench = Workbench::new();
    let casd = Casd::start(&bench);
    let rocm = format!("--rocm-device-libs={ROCM}");
    let llvm = format!(
        "--llvm={}",
        system_libllvm(&bench, "libLLVM.so.22.1").display()
    );
    let script = bench.write("script", "{ global: saxpy*; local: *; };\n");
    let script = format!("--linker-arg=--version-script={}", script.display());
    let ptx = vec![assembly(&bench, "saxpy", NVIDIA)];
    let cubins = ["saxpy", "kernels"].map(|name| object(&bench, name, NVIDIA));
    let saxpy = vec![bitcode(&bench, "saxpy", NVIDIA)];
    let modules = ["scale", "twice"].map(|name| spirv(&bench, name));
    let cases: [(Target, Vec<PathBuf>, &[&str]); 9] = [
        (NVIDIA, vec![math(&bench, NVIDIA, &[])], &[]),
        (AMD, vec![math(&bench, AMD, &[])], &[&rocm, &llvm]),
        (NVIDIA, ptx, &["--ptxas-arg=-Werror"]),
        (NVIDIA, cubins.into(), &[]),
        (NVIDIA, saxpy.clone(), &["--emit=ptx"]),
        (NVIDIA, saxpy.clone(), &["--split=always", "-O1"]),
        (NVIDIA, saxpy, &["--linker-arg=-L", "--linker-arg=/tmp"]),
        (SPIRV, modules.into(), &[]),
        (AMD, vec![bitcode(&bench, "saxpy", AMD)], &[&script]),
    ];
    for (number, (target, inputs, options)) in cases.iter().enumerate() {
        link(&bench, *target, inputs, "here")
            .args(*options)
            .succeeds_silently();
        link(&bench, *target, inputs, "there")
            .args(*options)
            .args(only_on(&casd))
            .succeeds_silently();
        assert!(
            read(&bench, "here") == read(&bench, "there"),
            "case {number}"
        );
        assert_eq!(casd.executed(), number + 1);
    }
}

#[test]
fn hermetic_links_too() {
    let bench = Workbench::new();
    let casd = Casd::start(&bench);
    bench.write(
        "offlink.toml",
        format!(
            "hermetic = true\nenvironment.KEY = 'a \"b\"'\n[tools]\nllvm = '{}'\nptxas = '{}'\n\
             libdevice = '{}'\n",
            system_libllvm(&bench, "libLLVM.so.22.1").display(),
            cuda_tool("ptxas").display(),
            libdevice().display(),
        ),
    );
    let inputs = [math(&bench, NVIDIA, &[])];
    let hermetic = |output: &str| {
        let mut command = link(&bench, NVIDIA, &inputs, output);
        command.env_clear().arg("--toolchain=offlink.toml");
        command
    };
    hermetic("here").succeeds_silently();
    hermetic("there")
        .args(only_on(&casd))
        .args(["-MD", "-MF", "there.d"])
        .succeeds_silently();
    assert!(read(&bench, "here") == read(&bench, "there"));
    assert_eq!(casd.executed(), 1);
    // What was sent is what the image was made of.
    let listed = String::from_utf8(read(&bench, "there.d")).expect("a rule");
    for name in [
        "libLLVM.so.22.1",
        "ptxas",
        "libdevice.10.bc",
        "offlink.toml",
    ] {
        assert!(listed.contains(name), "{listed}");
    }
    // Nothing declared is found, as if the link was run here.
    bench.write("offlink.toml", "hermetic = true\n");
    hermetic("there").args(only_on(&casd)).fails_with(4);
}

/// A link that fails, fails with the same exit code and message, and is tried again the
/// next time, whatever the service remembers.
#[test]
fn failures_are_those_of_offlink() {
    let bench = Workbench::new();
    let casd = Casd::start(&bench);
    let broken = [bench.write(
        "broken.ptx",
        ".version 7.8\n.target sm_90\n.address_size 64\n.visible .entry k() { nonsense; }\n",
    )];
    let here = link(&bench, NVIDIA, &broken, "image").fails_with(3);
    let here = here.trim().trim_start_matches("offlink: error: ");
    for executed in 1..=2 {
        let there = link(&bench, NVIDIA, &broken, "image")
            .args(only_on(&casd))
            .fails_with(3);
        // The tool's own message names its input.
        let says = here.split(':').next().expect("a message");
        assert!(there.contains(says), "{here}\n{there}");
        assert_eq!(there.lines().count(), 1, "{there}");
        assert_eq!(casd.executed(), executed);
    }
    let damaged = [bench.write("damaged.bc", b"BC\xc0\xde....")];
    let there = link(&bench, NVIDIA, &damaged, "image")
        .args(only_on(&casd))
        .fails_with(1);
    assert!(there.contains("damaged.bc"), "{there}");
}

/// A worker is not to blame for what is nowhere.
#[test]
fn what_is_missing_is_looked_for_here() {
    let bench = Workbench::new();
    let casd = Casd::start(&bench);
    // No libdevice is beside it.
    std::fs::copy(cuda_tool("ptxas"), bench.path("ptxas")).expect("a copy");
    let inputs = [math(&bench, NVIDIA, &[])];
    let remote = format!("--remote={}", casd.address());
    let said = link(&bench, NVIDIA, &inputs, "image")
        .env_remove("CUDA_HOME")
        .args(["--ptxas=./ptxas", &remote])
        .fails_with(1);
    let lines: Vec<&str> = said.lines().collect();
    assert!(lines[0].starts_with("offlink: warning: "), "{said}");
    assert!(lines[1].contains("libdevice was not found"), "{said}");
    assert_eq!(casd.executed(), 1);
}

/// offlink goes by its name, but a copy of it may have another.
#[test]
fn copies_under_other_names() {
    let bench = Workbench::new();
    let casd = Casd::start(&bench);
    let copy = bench.path("clang-linker-wrapper");
    std::fs::copy(offlink(), &copy).expect("a copy");
    let program = launcher_with(&bench, &[NVIDIA.image(&bitcode(&bench, "saxpy", NVIDIA))]);
    bench
        .command(copy)
        .env("CUDA_HOME", cuda())
        .env("OFFLINK_REMOTE", casd.address())
        .env("OFFLINK_REMOTE_FALLBACK", "never")
        .args([
            "--host-triple=x86_64-pc-linux-gnu",
            "--linker-path=/usr/bin/ld",
        ])
        .args(["-r", "-o", "linked.o"])
        .arg(program)
        .succeeds_silently();
    assert_eq!(casd.executed(), 1);
}

/// Checks that a link is right and was made here, with one line that says why.
fn made_here(bench: &Workbench, address: &str, reason: &str) {
    let inputs = [bitcode(bench, "saxpy", NVIDIA)];
    link(bench, NVIDIA, &inputs, "here").succeeds_silently();
    let remote = format!("--remote={address}");
    let said = link(bench, NVIDIA, &inputs, "fallen-back")
        .arg(&remote)
        .warns();
    assert!(
        said.starts_with("offlink: warning: ") && said.lines().count() == 1,
        "{said}"
    );
    assert!(
        said.contains(reason) && said.contains("made here instead"),
        "{said}"
    );
    assert!(read(bench, "here") == read(bench, "fallen-back"));
    let said = link(bench, NVIDIA, &inputs, "never")
        .args([&remote, "--remote-fallback=never"])
        .fails_with(1);
    assert!(said.contains(reason), "{said}");
    assert!(!bench.path("never").exists());
}

#[test]
fn services_that_are_not_there() {
    let bench = Workbench::new();
    let address = format!("grpc://127.0.0.1:{}", free_port());
    made_here(&bench, &address, "Connection refused");
}

#[test]
fn services_that_only_store() {
    let bench = Workbench::new();
    let casd = Casd::start_with(&bench, &[]);
    made_here(&bench, &casd.address(), "executes nothing");
}

#[test]
fn addresses_that_make_no_sense() {
    let bench = Workbench::new();
    let inputs = [bitcode(&bench, "saxpy", NVIDIA)];
    let refused = |options: &[&str], reason: &str| {
        let said = link(&bench, NVIDIA, &inputs, "image")
            .args(options)
            .fails_with(2);
        assert!(said.contains(reason), "{said}");
    };
    refused(&["--remote=localhost:80"], "grpcs://HOST:PORT");
    refused(&["--remote=grpc://h:1", "--remote-ca=x"], "grpcs://");
    refused(&["--remote=grpcs://h:1", "--remote-ca=x"], "'x'");
    refused(
        &["--remote=grpcs://h:1", "--remote-key=x"],
        "--offlink-remote-cert",
    );
    refused(&["--remote=grpc://h:1", "--distributor=x"], "exclude");
    refused(&["--remote-header=x"], "NAME=VALUE");
}

/// A ptxas that takes its time where there is nothing else, as in an action's root.
fn slow_elsewhere(bench: &Workbench) -> PathBuf {
    let source = bench.write(
        "ptxas.c",
        format!(
            "#include <unistd.h>\nint main(int n, char **a) {{\n\
             if (access(\"/etc/passwd\", F_OK)) sleep(100);\n\
             return execv(\"{}\", a);\n}}\n",
            cuda_tool("ptxas").display()
        ),
    );
    let program = bench.path("ptxas");
    bench
        .command("cc")
        .arg(source)
        .arg("-o")
        .arg(&program)
        .succeeds_silently();
    program
}

#[test]
fn a_service_that_dies_in_the_middle() {
    let bench = Workbench::new();
    let ptxas = slow_elsewhere(&bench);
    let program = launcher_with(
        &bench,
        &["sm_80", "sm_90"].map(|arch| {
            let target = nvidia(arch);
            target.image(&bitcode(&bench, "saxpy", target))
        }),
    );
    let whole = |output: &str| {
        let mut command = whole(&bench, &program, output);
        command.arg(format!("--offlink-ptxas={}", ptxas.display()));
        command
    };
    whole("here").succeeds_silently();
    let die = |option: &str| {
        let mut casd = Casd::start(&bench);
        let running = whole("there")
            .arg(format!("--offlink-remote={}", casd.address()))
            .arg(option)
            .stderr(Stdio::piped())
            .spawn()
            .expect("offlink");
        wait_for("nothing is executed", || is_running(&bench, &ptxas));
        casd.kill();
        running.wait_with_output().expect("its end")
    };
    let output = die("--offlink-remote-fallback=here");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}");
    assert!(
        said.starts_with("offlink: warning: ") && said.lines().count() == 1,
        "{said}"
    );
    assert!(read(&bench, "here") == read(&bench, "there"));
    std::fs::remove_file(bench.path("there")).expect("the program");
    let output = die("--offlink-remote-fallback=never");
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(said.contains("127.0.0.1"), "{said}");
    assert!(!bench.path("there").exists());
}

/// Whether a process runs this program, wherever its files seem to be.
fn is_running(bench: &Workbench, program: &Path) -> bool {
    let name = program.file_name().expect("a name").to_string_lossy();
    let sleeping = format!("tools/{name}/{name}");
    let listed = bench.command("ps").args(["-eo", "args"]).succeeds();
    listed.lines().any(|line| line.contains(&sleeping))
}

/// What was made elsewhere is in the local cache, so that the service isn't asked again.
#[test]
fn the_local_cache_goes_first() {
    let bench = Workbench::new();
    let casd = Casd::start(&bench);
    let inputs = [bitcode(&bench, "saxpy", NVIDIA)];
    let cached = |output: &str| {
        let mut command = link(&bench, NVIDIA, &inputs, output);
        command
            .args(only_on(&casd))
            .env("OFFLINK_CACHE_DIR", bench.path("cache"));
        command
    };
    cached("first").succeeds_silently();
    assert_eq!(casd.executed(), 1);
    let mut again = cached("again");
    drop(casd);
    again.succeeds_silently();
    assert!(read(&bench, "first") == read(&bench, "again"));
}

/// A program that is started by another, as by sccache, can't be sent.
#[test]
fn launchers_stay_here() {
    let bench = Workbench::new();
    let casd = Casd::start(&bench);
    bench.write(
        "offlink.toml",
        format!(
            "tools.ptxas = ['/usr/bin/env', '{}']\n",
            cuda_tool("ptxas").display()
        ),
    );
    let inputs = [assembly(&bench, "saxpy", NVIDIA)];
    let launched = |fallback: &str| {
        let mut command = link(&bench, NVIDIA, &inputs, "image");
        command
            .arg("--toolchain=offlink.toml")
            .arg(format!("--remote={}", casd.address()))
            .arg(format!("--remote-fallback={fallback}"));
        command
    };
    let said = launched("here").warns();
    assert!(said.contains("ptxas has a launcher"), "{said}");
    let said = launched("never").fails_with(1);
    assert!(said.contains("ptxas has a launcher"), "{said}");
    assert_eq!(casd.executed(), 0);
}

/// What a tool prints is said here, too.
#[test]
fn what_tools_say() {
    let bench = Workbench::new();
    let casd = Casd::start(&bench);
    let inputs = [assembly(&bench, "saxpy", NVIDIA)];
    let talking = |output: &str| {
        let mut command = link(&bench, NVIDIA, &inputs, output);
        command.arg("--ptxas-arg=-v");
        command
    };
    let here = talking("here").warns();
    assert!(here.contains("registers"), "{here}");
    assert_eq!(
        without_times(&talking("there").args(only_on(&casd)).warns()),
        without_times(&here)
    );
}

/// The lines without that which says how long ptxas took.
fn without_times(said: &str) -> Vec<&str> {
    let lines = said.lines();
    lines
        .filter(|line| !line.contains("Compile time"))
        .collect()
}
