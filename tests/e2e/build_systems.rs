//! What build systems ask of the single steps and of links: which files they open,
//! what may be left out, and outputs that stay.

use std::collections::BTreeSet;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use crate::device_code::{
    AMD, CPU, NVIDIA, RUNTIME, Target, bitcode, embed, launcher_with, nvidia, object, pack,
    saxpy_images,
};
use crate::device_libraries::{ROCM, libdevice, math};
use crate::workbench::{Run, Workbench, cuda_tool, offlink, system_libllvm};

fn read(path: impl AsRef<Path>) -> String {
    let path = path.as_ref();
    std::fs::read_to_string(path).unwrap_or_else(|error| panic!("{path:?}: {error}"))
}

/// A toolchain file with what device links for GPUs use.
fn toolchain(bench: &Workbench) -> PathBuf {
    let text = format!(
        "hermetic = true\n[tools]\nllvm = '{}'\nptxas = '{}'\nnvlink = '{}'\nlld = '{}'\n\
         libdevice = '{}'\nrocm-device-libs = '{ROCM}'\n",
        system_libllvm(bench, "libLLVM.so.22.1").display(),
        cuda_tool("ptxas").display(),
        cuda_tool("nvlink").display(),
        bench.find("ld.lld-22").display(),
        libdevice().display(),
    );
    bench.write("offlink.toml", text)
}

/// The line of a device link in which all files have relative names.
fn device_link(target: Target, inputs: &[PathBuf]) -> Vec<String> {
    let names = inputs.iter().map(|path| {
        let name = path.file_name().expect("a file");
        name.to_string_lossy().into_owned()
    });
    ["link", "--toolchain=offlink.toml", "-o", "deep/er/image"]
        .map(String::from)
        .into_iter()
        .chain(target.arguments())
        .chain(names)
        .collect()
}

/// The inputs that a file for make names, all unquoted.
fn inputs_in(depfile: &str, output: &str) -> BTreeSet<PathBuf> {
    let rest = depfile.strip_prefix(output).expect("the output");
    let inputs = rest.strip_prefix(": \\\n  ").expect("inputs");
    let inputs = inputs.trim_end().split(" \\\n  ");
    inputs.map(PathBuf::from).collect()
}

/// The files that offlink itself opened, or started, as the kernel saw it: without
/// those of this link's temporary folder, of the loader and of the system.
fn traced(bench: &Workbench, line: &[String], number: usize) -> BTreeSet<PathBuf> {
    let temporary = bench.folder("temporary");
    let traces = bench.folder(&format!("traces-{number}"));
    bench
        .command("strace")
        .env("TMPDIR", &temporary)
        .args(["-ff", "-e", "trace=openat,execve", "-o"])
        .arg(traces.join("trace"))
        .arg(offlink())
        .args(line)
        .succeeds_silently();
    let traces = std::fs::read_dir(traces).expect("the folder");
    let traces: Vec<String> = traces
        .map(|entry| read(entry.expect("a trace").path()))
        .collect();
    // Threads of offlink are processes to strace; those of tools start with an execve.
    let own_image = offlink().display().to_string();
    let mut found = BTreeSet::new();
    for line in traces.iter().flat_map(|trace| own_part(trace, &own_image)) {
        let fails = line.contains(" = -1 ");
        let writes = line.contains("O_WRONLY") || line.contains("O_RDWR");
        let lists = line.contains("O_DIRECTORY");
        if let (Some(path), false) = (line.split('"').nth(1), fails || writes || lists) {
            found.insert(PathBuf::from(path));
        }
    }
    let linked = bench.command("ldd").arg(offlink()).succeeds();
    let of_llvm = system_libllvm(bench, "libLLVM.so.22.1");
    let linked = linked + &bench.command("ldd").arg(of_llvm).succeeds();
    found.retain(|path| {
        let text = path.display().to_string();
        let is_system = ["/proc/", "/sys/", "/dev/", "/etc/"];
        !is_system.iter().any(|folder| text.starts_with(folder))
            && !path.starts_with(&temporary)
            && !linked.split_whitespace().any(|word| word == text)
            && text != own_image
    });
    found
}

/// The lines of a trace until another program takes the process over; that one's
/// start is the last.
fn own_part<'a>(trace: &'a str, own_image: &str) -> Vec<&'a str> {
    let mut part = Vec::new();
    for line in trace.lines() {
        part.push(line);
        let starts = line.starts_with("execve(") && line.contains(" = 0");
        if starts && !line.contains(own_image) {
            break;
        }
    }
    part
}

/// After a link the file for make names what the kernel saw opened; what is printed
/// before holds all of that.
#[test]
fn listed_inputs_are_the_opened_files() {
    let bench = Workbench::new();
    toolchain(&bench);
    let cubins = ["saxpy", "kernels"].map(|name| object(&bench, name, NVIDIA));
    let lines = [
        device_link(NVIDIA, &[math(&bench, NVIDIA, &[])]),
        device_link(NVIDIA, &cubins),
        device_link(AMD, &[math(&bench, AMD, &[])]),
        device_link(AMD, &[bitcode(&bench, "saxpy", AMD)]),
    ];
    for (number, line) in lines.iter().enumerate() {
        let mut with_depfile = line.clone();
        with_depfile.extend(["-MD", "-MF", "lists/image.d"].map(String::from));
        let opened = traced(&bench, &with_depfile, number);
        let listed = inputs_in(&read(bench.path("lists/image.d")), "deep/er/image");
        assert_eq!(listed, opened, "{line:?}");
        std::fs::remove_file(bench.path("deep/er/image")).expect("an image");

        let printed = bench
            .command(offlink())
            .args(line)
            .arg("--print-inputs")
            .succeeds_silently();
        let printed: BTreeSet<PathBuf> = printed.lines().map(PathBuf::from).collect();
        assert!(printed.is_superset(&listed), "{printed:?} {listed:?}");
        assert!(!bench.path("deep/er/image").exists());
    }
}

/// What comes from the cache depends on the same files, though fewer are opened.
#[test]
fn an_image_from_the_cache_has_the_same_inputs() {
    let bench = Workbench::new();
    toolchain(&bench);
    let kernels = math(&bench, NVIDIA, &[]);
    let link = |depfile: &str| {
        let mut command = bench.command(offlink());
        command
            .args(device_link(NVIDIA, std::slice::from_ref(&kernels)))
            .args(["--offlink-cache-dir=cache", "--offlink-explain-cache"])
            .args(["-MD", "-MF", depfile]);
        command.warns()
    };
    let _missed = link("first.d");
    let found = link("second.d");
    assert!(found.contains("taken from the cache"), "{found}");
    let listed = read(bench.path("first.d"));
    assert_eq!(listed, read(bench.path("second.d")));
    let inputs = inputs_in(&listed, "deep/er/image");
    for needed in [
        cuda_tool("ptxas"),
        cuda_tool("nvlink"),
        libdevice(),
        system_libllvm(&bench, "libLLVM.so.22.1"),
    ] {
        assert!(inputs.contains(&needed), "{needed:?} {inputs:?}");
    }
    assert_eq!(inputs.len(), 6, "{inputs:?}");
}

/// A launcher may change what a tool makes.
#[test]
fn no_image_of_a_launched_tool_is_kept() {
    let bench = Workbench::new();
    let ptxas = cuda_tool("ptxas");
    let text = format!("tools.ptxas = ['/usr/bin/env', '{}']\n", ptxas.display());
    bench.write("offlink.toml", text);
    let said = bench
        .offlink()
        .args(device_link(NVIDIA, &[bitcode(&bench, "saxpy", NVIDIA)]))
        .args(["--offlink-cache-dir=cache", "--offlink-explain-cache"])
        .warns();
    assert!(said.contains("ptxas has a launcher"), "{said}");
}

/// The cache tells the tools of targets apart.
#[test]
fn another_tool_of_one_target_makes_its_image_anew() {
    let bench = Workbench::new();
    let ptxas = cuda_tool("ptxas");
    bench.write(
        "offlink.toml",
        "[target.'nvptx64-nvidia-cuda:sm_90']\nptxas = 'other-ptxas'\n",
    );
    let images = ["sm_80", "sm_90"].map(|arch| {
        let target = nvidia(arch);
        target.image(&bitcode(&bench, "saxpy", target))
    });
    let object = launcher_with(&bench, &images);
    let said = |remark: &str| {
        let script = format!("#!/bin/sh\n# {remark}\nexec '{}' \"$@\"\n", ptxas.display());
        bench.script("other-ptxas", script);
        bench
            .offlink()
            .args([
                "cc",
                "-o",
                "program",
                "--offlink-toolchain=offlink.toml",
                RUNTIME,
            ])
            .args([
                "--offlink-cache-dir=cache",
                "--offlink-explain-cache",
                "--offlink-jobs=1",
            ])
            .arg(&object)
            .warns()
    };
    said("one");
    let found = said("another");
    let taken = |arch: &str| found.contains(&format!("{arch}: taken from the cache"));
    assert!(taken("sm_80") && !taken("sm_90"), "{found}");
}

#[test]
fn a_whole_link_lists_its_files() {
    let bench = Workbench::new();
    let object = launcher_with(&bench, &saxpy_images(&bench)[..2]);
    let spaced = bench.path("with space.o");
    std::fs::rename(object, spaced).expect("another name");
    let link = |option: &str| {
        bench
            .offlink()
            .args(["cc", "-o", "program", "with space.o", RUNTIME, option])
            .succeeds_silently()
    };
    link("--offlink-depfile=program.d");
    let rule = read(bench.path("program.d"));
    assert!(rule.starts_with("program: \\\n"), "{rule}");
    for input in ["  with\\ space.o", "/libomptarget.so.22.1", "/ptxas", "/cc"] {
        assert!(rule.contains(input), "{input}: {rule}");
    }
    assert!(!rule.contains(".wrapper.o"), "{rule}");
    // Make reads it back.
    bench.write("Makefile", "program:\n\ttouch $@\ninclude program.d\n");
    let silent = bench.command("make").arg("-q").succeeds_silently();
    assert_eq!(silent, "");

    std::fs::remove_file(bench.path("program")).expect("a program");
    let printed = link("--offlink-print-inputs");
    assert!(
        printed.lines().any(|line| line == "with space.o"),
        "{printed}"
    );
    assert!(!bench.path("program").exists());
}

/// With the folder's name replaced, no list and no output tells where the link ran.
#[test]
fn no_path_is_written_but_through_the_prefix_map() {
    let bench = Workbench::new();
    toolchain(&bench);
    let object = launcher_with(&bench, &saxpy_images(&bench)[1..]);
    let root = bench.path("").display().to_string();
    let root = root.trim_end_matches('/');
    let option = |name: &str, value: &str| format!("--offlink-{name}={value}");
    bench.folder("out");
    let written = |name: &str| format!("{root}/out/{name}");
    bench
        .offlink()
        .env("TMPDIR", bench.folder("temporary"))
        .args(["ld", "-shared", "-o", &written("library.so")])
        .arg(&object)
        .arg("--offlink-omptarget=none")
        .arg(option("toolchain", &format!("{root}/offlink.toml")))
        .arg(option(
            "host-linker",
            &bench.find("ld.lld-22").display().to_string(),
        ))
        .arg(option("path-prefix-map", &format!("{root}=.")))
        .arg(option("depfile", &written("library.d")))
        .arg(option("unused-inputs-list", &written("unused")))
        .arg(option("time-trace", &written("trace.json")))
        .succeeds_silently();
    assert!(read(written("library.d")).starts_with("./out/library.so: \\\n"));
    let names = ["library.so", "library.d", "unused", "trace.json"];
    for name in names {
        let bytes = std::fs::read(written(name)).expect("an output");
        let leaks = memchr::memmem::find(&bytes, root.as_bytes()).is_some();
        assert!(!leaks, "{name} holds {root}");
    }
}

/// Without device code the host linker can't just take over.
#[test]
fn a_link_without_device_code_lists_its_files() {
    let bench = Workbench::new();
    bench.write("main.c", "int main(void) { return 0; }\n");
    bench.command("cc").args(["-c", "main.c"]).succeeds();
    bench
        .offlink()
        .args(["cc", "-o", "program", "main.o"])
        .arg("--offlink-depfile=program.d")
        .arg(format!(
            "--offlink-path-prefix-map={}=HERE",
            bench.find("cc").display()
        ))
        .succeeds_silently();
    assert_eq!(
        read(bench.path("program.d")),
        "program: \\\n  HERE \\\n  main.o\n"
    );
    bench.program(bench.path("program")).succeeds_silently();
}

#[test]
fn what_was_not_needed_is_listed() {
    let bench = Workbench::new();
    toolchain(&bench);
    let line = device_link(NVIDIA, &[bitcode(&bench, "saxpy", NVIDIA)]);
    bench
        .command(offlink())
        .args(line)
        .arg("--unused-inputs-list=unused")
        .succeeds_silently();
    let unused = read(bench.path("unused"));
    let rocm = format!("{ROCM}/ocml.bc");
    for name in ["/nvlink", "/ld.lld-22", "/libdevice.10.bc", &rocm] {
        assert!(
            unused.lines().any(|line| line.ends_with(name)),
            "{name}: {unused}"
        );
    }
    for name in ["/ptxas", "/libLLVM.so.22.1", "offlink.toml"] {
        assert!(
            !unused.lines().any(|line| line.ends_with(name)),
            "{name}: {unused}"
        );
    }
}

/// A change of host code changes nothing of what is extracted, not even the times,
/// so that no device link follows.
#[test]
fn extracted_code_depends_on_no_host_code() {
    let bench = Workbench::new();
    let packed = pack(&bench, &saxpy_images(&bench), "images.bin");
    let extract = |host_code: &str| {
        let object = embed(&bench, &packed, &[host_code], "launch.o");
        bench
            .offlink()
            .args(["extract", "-o", "device"])
            .arg(&object)
            .succeeds_silently();
        let files = [CPU, NVIDIA, AMD].map(|target| {
            let folder = format!("device/openmp-{}-{}", target.triple, target.arch);
            let file = bench.path(folder).join("0000.bc");
            let modified = std::fs::metadata(&file).and_then(|data| data.modified());
            (
                modified.expect("a time"),
                std::fs::read(file).expect("bitcode"),
            )
        });
        (std::fs::read(object).expect("an object"), files)
    };
    let (first_object, first) = extract("-O2");
    let (second_object, second) = extract("-O0");
    assert!(first_object != second_object);
    assert!(first == second, "the device code differs, or its times do");
}

#[test]
fn arguments_from_files_in_both_styles() {
    let bench = Workbench::new();
    let bitcode = bitcode(&bench, "saxpy", NVIDIA);
    std::fs::rename(bitcode, bench.path("it's b.bc")).expect("another name");
    bench.write(
        "lines",
        "--triple=nvptx64-nvidia-cuda\n--arch=sm_90\n-o\nby lines\nit's b.bc\n",
    );
    bench.write(
        "shell",
        "--triple=nvptx64-nvidia-cuda '--arch=sm_90' -o \"by shell\" 'it'\\''s b.bc'",
    );
    for option in ["--params=lines", "@shell"] {
        bench.offlink().args(["link", option]).succeeds_silently();
    }
    let image = |name: &str| std::fs::read(bench.path(name)).expect("an image");
    assert!(image("by lines") == image("by shell"));
    let stderr = bench
        .offlink()
        .args(["link", "--params=missing"])
        .fails_with(2);
    assert!(stderr.contains("'missing'"), "{stderr}");
}

/// The steps write to new folders, and leave inputs alone, which may be links into
/// a cache.
#[test]
fn steps_leave_their_inputs_alone() {
    let bench = Workbench::new();
    let relocatable = bench.path("relocatable.o");
    let object = launcher_with(&bench, &saxpy_images(&bench)[1..2]);
    bench
        .command("ld")
        .args(["-r", "-o"])
        .arg(&relocatable)
        .arg(&object)
        .succeeds_silently();
    let before = std::fs::read(&relocatable).expect("an object");
    let protected = std::fs::Permissions::from_mode(0o444);
    std::fs::set_permissions(&relocatable, protected).expect("a protected file");
    bench
        .offlink()
        .args(["seal", "-o", "new/folder/sealed.o"])
        .arg(&relocatable)
        .succeeds_silently();
    assert!(before == std::fs::read(&relocatable).expect("an object"));
    let sealed = std::fs::read(bench.path("new/folder/sealed.o")).expect("an object");
    assert!(sealed != before);
}

#[test]
fn steps_have_no_inputs_to_print() {
    let bench = Workbench::new();
    let stderr = bench
        .offlink()
        .args(["extract", "--print-inputs", "-o", "x", "a.o"])
        .fails_with(2);
    assert!(stderr.contains("--print-inputs is for"), "{stderr}");
}
