//! Programs for other processors, linked here and run by qemu: they make the
//! calls that the same program makes here.

use std::path::{Path, PathBuf};

use crate::workbench::{Run, Workbench, cuda, offlink, repository};

/// A host for which Debian has a cross compiler and qemu runs programs.
pub struct Cross {
    /// GNU's name for it, also clang's triple.
    pub name: &'static str,
    qemu: &'static str,
    triple: &'static str,
}

pub const HOSTS: [Cross; 3] = [
    Cross {
        name: "aarch64-linux-gnu",
        qemu: "qemu-aarch64",
        triple: "aarch64-unknown-linux-gnu",
    },
    Cross {
        name: "riscv64-linux-gnu",
        qemu: "qemu-riscv64",
        triple: "riscv64-unknown-linux-gnu",
    },
    Cross {
        name: "powerpc64le-linux-gnu",
        qemu: "qemu-ppc64le",
        triple: "powerpc64le-unknown-linux-gnu",
    },
];

impl Cross {
    pub fn gcc(&self) -> String {
        format!("{}-gcc", self.name)
    }

    pub fn run(&self, bench: &Workbench, program: &Path) -> std::process::Command {
        let mut command = bench.command(self.qemu);
        command.args(["-L", &format!("/usr/{}", self.name)]);
        command.arg(program);
        command
    }
}

const HERE: &str = "x86_64-linux-gnu";

fn source(name: &str) -> PathBuf {
    repository().join("crates/bundle/tests/data").join(name)
}

/// Compiles C for a host by its gcc.
fn compile(bench: &Workbench, gcc: &str, source: &Path, output: &str) -> PathBuf {
    let object = bench.path(output);
    let mut command = bench.command(gcc);
    command.args(["-fPIC", "-c", "-o"]).arg(&object);
    command.arg(source).succeeds();
    object
}

/// The objects of a program with entries of a language and device code: a
/// stand-in for the runtimes first.
fn objects(bench: &Workbench, host: &str, gcc: &str, language: &[&str]) -> Vec<PathBuf> {
    let runtime = format!("runtime-{host}.o");
    let mut objects = vec![compile(
        bench,
        gcc,
        &source("registration/runtime.c"),
        &runtime,
    )];
    for unit in ["first", "second"] {
        let object = bench.path(format!("{unit}-{host}.o"));
        bench
            .command("clang++-22")
            .arg(format!("--target={host}"))
            .args(language)
            // Names of static variables come of it, else of the command line.
            .arg(format!("-cuid={unit}"))
            .args([
                "--offload-new-driver",
                "-fgpu-rdc",
                "-fPIC",
                "-O1",
                "-c",
                "-o",
            ])
            .arg(&object)
            .arg(source(&format!("registration/{unit}.cu")))
            .succeeds();
        objects.push(object);
    }
    objects
}

/// The calls that a program printed, without addresses and what else depends on
/// the host: x86-64 aligns arrays more than others do.
fn calls(printed: &str) -> Vec<String> {
    let words = |line: &str| {
        let of_host = |word: &&str| word.contains("=+0x") || word.starts_with("alignment=");
        let kept = line.split(' ').filter(|word| !of_host(word));
        kept.collect::<Vec<_>>().join(" ")
    };
    printed.lines().map(words).collect()
}

fn makes_the_same_calls(language: &[&str], kernels: &str) {
    let bench = Workbench::new();
    let here = objects(&bench, HERE, "gcc", language);
    let program = bench.path("here");
    let mut link = bench.offlink();
    link.args(["cc", "--offlink-host-linker=gcc"]).args(here);
    link.arg("-o").arg(&program).succeeds_silently();
    let expected = calls(&bench.command(&program).succeeds());
    let registered = expected.iter().filter(|call| call.starts_with(kernels));
    assert_eq!(registered.count(), 8, "{expected:#?}");

    for host in &HOSTS {
        let objects = objects(&bench, host.name, &host.gcc(), language);
        for mode in ["-pie", "-no-pie", "-static"] {
            let program = bench.path(host.name);
            let mut link = bench.offlink();
            link.arg("cc")
                .arg(format!("--offlink-host-linker={}", host.gcc()))
                .args(&objects)
                .args([mode, "-Wl,--fatal-warnings", "-o"])
                .arg(&program)
                .succeeds_silently();
            let printed = host.run(&bench, &program).succeeds();
            assert_eq!(calls(&printed), expected, "{} {mode}", host.name);
        }
    }
}

#[test]
fn hip() {
    let language = ["-xhip", "-nogpuinc", "-nogpulib", "--offload-arch=gfx90a"];
    makes_the_same_calls(&language, "hipRegisterFunction ");
}

#[test]
fn cuda_programs() {
    let path = format!("--cuda-path={}", cuda().display());
    let language = [
        "-xcuda",
        "-nocudainc",
        "-nocudalib",
        "--offload-arch=sm_90",
        "-Wno-unknown-cuda-version",
        &path,
    ];
    makes_the_same_calls(&language, "cudaRegisterFunction ");
}

/// A device image with what the entries of `entries.c` name.
fn image(bench: &Workbench) -> PathBuf {
    let code = "__attribute__((amdgpu_kernel)) void alpha(void) {}\n\
                __attribute__((used, visibility(\"protected\"))) int beta;\n";
    let code = bench.write("device.c", code);
    let bitcode = bench.path("device.bc");
    bench
        .command("clang-22")
        .args(["--target=amdgcn-amd-amdhsa", "-mcpu=gfx90a", "-nogpulib"])
        .args(["-emit-llvm", "-c", "-o"])
        .arg(&bitcode)
        .arg(code)
        .succeeds();
    let image = bench.path("gfx90a.hsaco");
    let mut link = bench.offlink();
    link.args(["link", "--triple=amdgcn-amd-amdhsa", "--arch=gfx90a", "-o"]);
    link.arg(&image).arg(bitcode).succeeds_silently();
    image
}

/// The objects of a program whose `main` compares the images that it registers
/// with a file.
fn comparing(bench: &Workbench, host: &str, gcc: &str) -> [PathBuf; 2] {
    ["runtime.c", "entries.c"].map(|name| {
        let output = format!("{name}-{host}.o");
        compile(bench, gcc, &source(name), &output)
    })
}

const COMPARED: &str = "register: images 2, entries alpha beta\nmain\nend\nunregister\n";

fn images(image: &Path) -> [String; 2] {
    ["gfx90a", "gfx90a:xnack+"].map(|arch| {
        let image = image.display();
        format!("file={image},triple=amdgcn-amd-amdhsa,arch={arch}")
    })
}

#[test]
fn openmp() {
    let bench = Workbench::new();
    let image = image(&bench);
    for host in &HOSTS {
        let program = bench.path(host.name);
        let mut link = bench.offlink();
        link.arg("cc")
            .arg(format!("--offlink-host-linker={}", host.gcc()))
            .args(comparing(&bench, host.name, &host.gcc()))
            .args(images(&image).map(|image| format!("--offlink-image={image}")))
            .arg("-o")
            .arg(&program)
            .succeeds_silently();
        let printed = host.run(&bench, &program).arg(&image).succeeds();
        assert_eq!(printed, COMPARED, "{}", host.name);
    }
}

/// lld drops what nothing refers to, and clang is told the host.
#[test]
fn clang_and_lld() {
    let bench = Workbench::new();
    let image = image(&bench);
    let host = &HOSTS[0];
    let program = bench.path("program");
    let mut link = bench.offlink();
    link.args(["cc", "--offlink-host-linker=clang-22"])
        .arg(format!("--target={}", host.name))
        .args(["-fuse-ld=lld", "-Wl,--gc-sections"])
        .args(comparing(&bench, host.name, &host.gcc()))
        .args(images(&image).map(|image| format!("--offlink-image={image}")))
        .arg("-o")
        .arg(&program)
        .succeeds_silently();
    let printed = host.run(&bench, &program).arg(&image).succeeds();
    assert_eq!(printed, COMPARED);
}

/// The steps of the link by hand, with a named compiler or one that is found.
#[test]
fn single_steps() {
    let bench = Workbench::new();
    let image = image(&bench);
    let host = &HOSTS[0];
    let objects = comparing(&bench, host.name, &host.gcc());
    let mut bundle = bench.offlink();
    bundle.args(["bundle", "-o", "images"]);
    bundle.args(images(&image).map(|image| format!("--image={image}")));
    bundle.succeeds_silently();
    for compiler in [
        None,
        Some("--cc=clang-22"),
        Some("--cc=aarch64-linux-gnu-gcc"),
    ] {
        let mut wrap = bench.offlink();
        wrap.arg("wrap")
            .arg(format!("--host-triple={}", host.triple));
        wrap.args(compiler).args(["-o", "wrapped.o", "images"]);
        wrap.succeeds_silently();
        let program = bench.path("program");
        let mut link = bench.command(host.gcc());
        link.arg("wrapped.o").args(&objects).arg("-o").arg(&program);
        link.succeeds();
        let printed = host.run(&bench, &program).arg(&image).succeeds();
        assert_eq!(printed, COMPARED, "{compiler:?}");

        // A second object of the same kind fits into the program.
        link.arg("again.o");
        std::fs::copy(bench.path("wrapped.o"), bench.path("again.o")).expect("a copy");
        link.succeeds();
        let printed = host.run(&bench, &program).arg(&image).succeeds();
        assert_eq!(
            printed
                .matches("register: images 2, entries alpha beta\n")
                .count(),
            2
        );
    }
}

/// A relocatable link registers its entries by itself, whoever links it later.
#[test]
fn relocatable_link() {
    let bench = Workbench::new();
    let image = image(&bench);
    for host in &HOSTS {
        let [runtime, entries] = comparing(&bench, host.name, &host.gcc());
        let part = bench.path("part.o");
        let mut link = bench.offlink();
        link.args(["cc", "-r", "-nostdlib"])
            .arg(format!("--offlink-host-linker={}", host.gcc()))
            .args(images(&image).map(|image| format!("--offlink-image={image}")))
            .arg(entries)
            .arg("-o")
            .arg(&part)
            .succeeds_silently();
        let program = bench.path(host.name);
        let mut link = bench.command(host.gcc());
        link.arg(runtime).arg(part).arg("-o").arg(&program);
        link.succeeds();
        let printed = host.run(&bench, &program).arg(&image).succeeds();
        assert_eq!(printed, COMPARED, "{}", host.name);
    }
}

/// The commands that a dry run prints make the program that the link makes.
#[test]
fn dry_run() {
    let bench = Workbench::new();
    let image = image(&bench);
    let host = &HOSTS[1];
    let mut link = bench.offlink();
    link.arg("cc")
        .arg(format!("--offlink-host-linker={}", host.gcc()))
        .args(comparing(&bench, host.name, &host.gcc()))
        .args(images(&image).map(|image| format!("--offlink-image={image}")))
        .args(["-o", "program"]);
    link.succeeds_silently();
    let whole = std::fs::read(bench.path("program")).expect("a program");
    std::fs::remove_file(bench.path("program")).expect("no program");
    let commands = link.arg("--offlink-dry-run").succeeds_silently();
    assert!(commands.contains("wrap --host-triple=riscv64-unknown-linux-gnu --cc="));
    let mut shell = bench.command("sh");
    shell
        .args(["-ec", &commands])
        .env("PATH", bench.path_with_offlink());
    shell.succeeds();
    let by_steps = std::fs::read(bench.path("program")).expect("a program");
    assert!(whole == by_steps, "{commands}");
}

/// As clang sends it, with the triple among the wrapper's options.
#[test]
fn clangs_wrapper() {
    let bench = Workbench::new();
    bench.folder("wrapper");
    bench.link("wrapper/clang-linker-wrapper", offlink());
    let host = &HOSTS[0];
    let language = ["-xhip", "-nogpuinc", "-nogpulib", "--offload-arch=gfx90a"];
    let objects = objects(&bench, host.name, &host.gcc(), &language);
    let program = bench.path("program");
    let mut link = bench.command("clang-22");
    link.args(["-B", "wrapper", "--offload-link", "-fuse-ld=lld"])
        .arg(format!("--target={}", host.name))
        .args(objects)
        .arg("-o")
        .arg(&program)
        .succeeds_silently();
    let printed = host.run(&bench, &program).succeeds();
    assert_eq!(
        printed.matches("hipRegisterFunction ").count(),
        8,
        "{printed}"
    );
}

#[test]
fn objects_for_two_hosts() {
    let bench = Workbench::new();
    let image = image(&bench);
    let [runtime, _] = comparing(&bench, HERE, "gcc");
    let [_, entries] = comparing(&bench, HOSTS[0].name, &HOSTS[0].gcc());
    let mut link = bench.offlink();
    link.arg("cc").args([runtime, entries]);
    link.args(images(&image).map(|image| format!("--offlink-image={image}")));
    let error = link.args(["-o", "program"]).fails_with(1);
    assert!(
        error.contains("entries.c-aarch64-linux-gnu.o' is an object for aarch64"),
        "{error}"
    );
    assert!(
        error.contains("link is for x86_64-unknown-linux-gnu"),
        "{error}"
    );
}

#[test]
fn a_host_without_registration_code() {
    let bench = Workbench::new();
    let image = image(&bench);
    let mut wrap = bench.offlink();
    let mut bundle = bench.offlink();
    bundle.args(["bundle", "-o", "images"]);
    bundle.args(images(&image).map(|image| format!("--image={image}")));
    bundle.succeeds_silently();
    wrap.args([
        "wrap",
        "--host-triple=s390x-linux-gnu",
        "-o",
        "wrapped.o",
        "images",
    ]);
    let error = wrap.fails_with(1);
    assert!(
        error.contains("no registration code for host s390x-linux-gnu"),
        "{error}"
    );
    assert!(error.contains("riscv64-unknown-linux-gnu"), "{error}");
}

#[test]
fn a_compiler_that_fails_is_named() {
    let bench = Workbench::new();
    let image = image(&bench);
    let mut bundle = bench.offlink();
    bundle.args(["bundle", "-o", "images"]);
    bundle.args(images(&image).map(|image| format!("--image={image}")));
    bundle.succeeds_silently();
    let mut wrap = bench.offlink();
    wrap.args(["wrap", "--host-triple=aarch64-linux-gnu", "--cc=false"]);
    let error = wrap.args(["-o", "wrapped.o", "images"]).fails_with(3);
    assert!(
        error.contains("exited with status 1 for the registration object"),
        "{error}"
    );
    let mut wrap = bench.offlink();
    wrap.args([
        "wrap",
        "--host-triple=aarch64-linux-gnu",
        "--cc=no-such-compiler",
    ]);
    let error = wrap.args(["-o", "wrapped.o", "images"]).fails_with(1);
    assert!(error.contains("name one with --offlink-cc=PATH"), "{error}");
}
