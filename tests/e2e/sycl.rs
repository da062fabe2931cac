//! SYCL programs, compiled by clang and linked with offlink as its wrapper. A
//! stand-in for the runtime prints what it is given.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use crate::cross_hosts::HOSTS;
use crate::device_code::{CPU, RUNTIME, bitcode, embed, pack};
use crate::workbench::{Run, Workbench, fixture, offlink, repository};

/// The stand-in, compiled with `flags`, which may leave out its program.
fn runtime(bench: &Workbench, flags: &[&str]) -> PathBuf {
    let output = bench.path("runtime.o");
    bench
        .command("cc")
        .args(flags)
        .args(["-c", "-o"])
        .arg(&output)
        .arg(repository().join("crates/bundle/tests/data/sycl_runtime.c"))
        .succeeds_silently();
    output
}

/// The SYCL program, compiled with the device code in it.
fn object(bench: &Workbench) -> PathBuf {
    let output = bench.path("single_task.o");
    bench
        .command("clang++-22")
        .args(["-fsycl", "-c", "-o"])
        .arg(&output)
        .arg(fixture("sycl/single_task.cpp"))
        .succeeds_silently();
    output
}

/// Links with clang, whose wrapper is offlink; returns what it prints.
fn link(bench: &Workbench, objects: &[&Path], output: &str, more: &[&str]) -> String {
    let folder = bench.folder("wrapper");
    if !folder.join("clang-linker-wrapper").exists() {
        bench.link("wrapper/clang-linker-wrapper", offlink());
    }
    bench
        .command("clang++-22")
        .arg("-B")
        .arg(folder)
        .arg("-fsycl")
        .args(objects)
        .args(more.iter().flat_map(|option| ["-Xlinker", option]))
        .args(["-o", output])
        .succeeds_silently()
}

/// Lines in an order of their own, as the kernels' order means nothing; without
/// the bytes of the image, in which offlink keeps less.
fn comparable(printed: &str) -> Vec<&str> {
    let mut lines: Vec<&str> = printed
        .lines()
        .filter(|line| !line.starts_with("bytes "))
        .collect();
    lines.sort_unstable();
    lines
}

#[test]
fn the_runtime_is_given_what_clang_linker_wrapper_gives_it() {
    let bench = Workbench::new();
    let (object, runtime) = (object(&bench), runtime(&bench, &["-Dmain=unused"]));
    link(&bench, &[&object, &runtime], "ours", &[]);
    let ours = bench.command(bench.path("ours")).succeeds_silently();
    assert_eq!(ours.matches("\nentry ").count(), 2, "{ours}");

    // clang looks for its SYCL linker in PATH, under a name without version.
    let linker = bench.find("clang-sycl-linker-22");
    let tools = bench.folder("tools");
    bench.link("tools/clang-sycl-linker", linker);
    let path = std::env::var("PATH").expect("a PATH");
    bench
        .command("clang++-22")
        .env("PATH", format!("{}:{path}", tools.display()))
        .arg("-fsycl")
        .args([&object, &runtime])
        .args(["-o", "theirs"])
        .succeeds();
    let theirs = bench.command(bench.path("theirs")).succeeds_silently();
    assert_eq!(comparable(&ours), comparable(&theirs));

    bench
        .offlink()
        .args(["extract", "-o", "images", "ours"])
        .succeeds_silently();
    let image = bench.path("images/sycl-spirv64-unknown-unknown-generic/0000.spv");
    bench.command("spirv-val").arg(image).succeeds_silently();
}

#[test]
fn single_steps_give_the_same_program_in_both_forms() {
    for (version, flags) in [
        ("22", &["-Dmain=unused"][..]),
        ("24", &["-Dmain=unused", "-DBINARY"]),
    ] {
        let bench = Workbench::new();
        let (object, runtime) = (object(&bench), runtime(&bench, flags));
        let objects = [object.as_path(), &runtime];
        let form = format!("--offlink-spirv-runtime={version}");
        let steps = link(&bench, &objects, "program", &[&form, "--offlink-dry-run"]);
        bench
            .command("sh")
            .env("PATH", bench.path_with_offlink())
            .args(["-ec", &steps])
            .succeeds_silently();
        let read = || std::fs::read(bench.path("program")).expect("a program");
        let by_steps = read();
        link(&bench, &objects, "program", &[&form]);
        assert!(by_steps == read(), "the outputs differ");

        let printed = bench.command(bench.path("program")).succeeds_silently();
        if version == "24" {
            let size = std::fs::metadata(bench.path("offlink.sycl.bundle"))
                .expect("a bundle")
                .len();
            assert!(
                printed.contains(&format!("register size={size} ")),
                "{printed}"
            );
            assert!(printed.contains(&format!("unregister size={size} ")));
        }
        let listing = bench.offlink().args(["inspect", "program"]).succeeds();
        let kernels = "_ZTSZ4mainE5Store _ZTSZ4mainE6Double\n";
        assert!(listing.contains(kernels), "{listing}");
    }
}

#[test]
fn sycl_and_openmp_in_one_program() {
    let bench = Workbench::new();
    let image = CPU.image(&bitcode(&bench, "saxpy", CPU));
    let packed = pack(&bench, &[image], "images.bin");
    let launcher = embed(&bench, &packed, &["-Dmain=launch"], "launch.o");
    let (object, runtime) = (object(&bench), runtime(&bench, &["-Dmain=unused"]));
    let mut clang = bench.command("clang++-22");
    clang.arg("-B").arg(bench.folder("wrapper"));
    bench.link("wrapper/clang-linker-wrapper", offlink());
    clang
        .arg("-fsycl")
        .args([&object, &launcher, &runtime])
        .args([RUNTIME, "-o", "program"])
        .succeeds_silently();
    let printed = bench.command(bench.path("program")).succeeds_silently();
    assert!(
        printed.starts_with("register version=1 count=1 "),
        "{printed}"
    );
    let listing = bench.offlink().args(["inspect", "program"]).succeeds();
    assert!(
        listing.contains("openmp  x86_64-unknown-linux-gnu"),
        "{listing}"
    );
    assert!(
        listing.contains("sycl    spirv64-unknown-unknown"),
        "{listing}"
    );
}

#[test]
fn containers_that_do_not_fit_are_refused() {
    let bench = Workbench::new();
    let sycl = "--image=file=image.spv,triple=spirv64-unknown-unknown,kind=sycl";
    let other = "--image=file=image.spv,triple=spirv64-unknown-unknown,kind=openmp";
    bench.write(
        "image.spv",
        b"\x03\x02\x23\x07\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0",
    );
    let bundle = |output: &str, images: &[&str]| {
        let mut command = bench.offlink();
        command
            .args(["bundle", "--format=offload-binary", "-o", output])
            .args(images);
        command
    };
    bundle("sycl", &[sycl]).succeeds_silently();
    bundle("mixed", &[sycl, other]).succeeds_silently();
    for files in [&["mixed"][..], &["sycl", "sycl"]] {
        let stderr = bench
            .offlink()
            .args(["wrap", "-o", "wrapped.o"])
            .args(files)
            .fails_with(2);
        assert!(stderr.contains("bundle all of them together"), "{stderr}");
    }
    let stderr = bench
        .offlink()
        .args(["wrap", "--host-triple=avr-unknown-unknown"])
        .args(["-o", "wrapped.o", "sycl"])
        .fails_with(1);
    assert!(stderr.contains("no registration code for host"), "{stderr}");
    bench.write("image.spv", b"\x03\x02\x23\x07");
    let stderr = bundle("broken", &[sycl]).fails_with(1);
    assert!(stderr.contains("malformed SPIR-V module"), "{stderr}");
}

#[test]
fn the_wrapper_prints_the_sycl_link_that_llvm_runs() {
    let bench = Workbench::new();
    let object = object(&bench);
    bench.link("clang-linker-wrapper", offlink());
    let ours = bench.path("clang-linker-wrapper");
    let sycl_link = |wrapper: &Path| {
        let printed = bench
            .command(wrapper)
            .args(["--host-triple=x86_64-unknown-linux-gnu", "--linker-path=ld"])
            .args(["--dry-run", "--save-temps", "-o", "program"])
            .arg(&object)
            .output()
            .expect("a wrapper");
        let printed = String::from_utf8_lossy(&printed.stderr).into_owned();
        let words = printed.lines().next().unwrap_or_default().split(' ');
        // The name of the file in between is the wrapper's own affair.
        let words = words.filter(|word| !word.ends_with(".o"));
        words.collect::<Vec<_>>().join(" ")
    };
    let expected = sycl_link(Path::new("clang-linker-wrapper-22"));
    assert!(expected.contains("--sycl-link"), "{expected}");
    assert_eq!(sycl_link(&ours), expected);
}

/// The module that the wrapper prints gives the program that it links, and has
/// the names that LLVM's has, but for the entries that no SYCL runtime takes.
#[test]
fn the_wrapper_prints_the_registration_code() {
    let names = |module: &str| -> BTreeSet<String> {
        let names = module.split('@').skip(1).map(|rest| {
            let end = rest.find(|c: char| !c.is_ascii_alphanumeric() && !"._".contains(c));
            rest[..end.unwrap_or(rest.len())].to_owned()
        });
        names
            .filter(|name| !name.starts_with(".offloading.entry."))
            .collect()
    };
    let linker = "--linker-path=/bin/true";
    for (version, flags) in [
        ("22", &["-Dmain=unused"][..]),
        ("24", &["-Dmain=unused", "-DBINARY"]),
    ] {
        let bench = Workbench::new();
        let (object, runtime) = (object(&bench), runtime(&bench, flags));
        bench.link("clang-linker-wrapper", offlink());
        let print = |wrapper: &Path, more: &[&str]| {
            let mut command = bench.command(wrapper);
            command
                .args(["--host-triple=x86_64-unknown-linux-gnu", linker])
                .args(["--print-wrapped-module", "-o", "none"])
                .args(more)
                .arg(&object);
            command
        };
        let form = format!("--offlink-spirv-runtime={version}");
        let module = print(&bench.path("clang-linker-wrapper"), &[&form]).warns();
        if version == "22" {
            let theirs = bench.find("clang-sycl-linker-22");
            bench.folder("tools");
            bench.link("tools/clang-sycl-linker", theirs);
            let path = std::env::var("PATH").expect("a PATH");
            let path = format!("{}:{path}", bench.path("tools").display());
            let mut peer = print(Path::new("clang-linker-wrapper-22"), &[]);
            assert_eq!(names(&peer.env("PATH", path).warns()), names(&module));
        }
        bench.write("module.ll", module);
        bench
            .command("clang-22")
            .args(["-c", "-fPIC", "-Wno-override-module"])
            .args(["module.ll", "-o", "module.o"])
            .succeeds_silently();
        bench
            .command("clang++-22")
            .args([Path::new("module.o"), &object, &runtime])
            .args(["-o", "by-hand"])
            .succeeds_silently();
        link(&bench, &[&object, &runtime], "program", &[&form]);
        let [by_hand, expected] =
            ["by-hand", "program"].map(|name| bench.command(bench.path(name)).succeeds_silently());
        assert_eq!(without_order(&by_hand), without_order(&expected));
    }
}

/// Lines in an order of their own: the constructors of both have one priority.
fn without_order(printed: &str) -> Vec<&str> {
    let mut lines: Vec<&str> = printed.lines().collect();
    lines.sort_unstable();
    lines
}

/// The result of a relocatable link registers its images whatever links it then,
/// and its device code is not linked again.
#[test]
fn relocatable_links() {
    for (version, flags) in [
        ("22", &["-Dmain=unused"][..]),
        ("24", &["-Dmain=unused", "-DBINARY"]),
    ] {
        let bench = Workbench::new();
        let (object, runtime) = (object(&bench), runtime(&bench, flags));
        let form = format!("--offlink-spirv-runtime={version}");
        link(&bench, &[&object, &runtime], "whole", &[&form]);
        let expected = bench.command(bench.path("whole")).succeeds_silently();
        let relocatable = |more: &[&str]| {
            let mut line = bench.offlink();
            line.args(["ld", "-r", &form, "-o", "joined.o"]).args(more);
            line.arg(&object).succeeds_silently()
        };
        relocatable(&[]);
        let joined = || std::fs::read(bench.path("joined.o")).expect("an object");
        let whole = joined();
        let steps = relocatable(&["--offlink-dry-run"]);
        bench
            .command("sh")
            .env("PATH", bench.path_with_offlink())
            .args(["-ec", &steps])
            .succeeds_silently();
        assert!(whole == joined(), "{steps}");
        for linker in ["-fuse-ld=bfd", "-fuse-ld=lld"] {
            bench
                .command("clang++-22")
                .args([linker, "-Wl,--gc-sections", "joined.o"])
                .arg(&runtime)
                .args(["-o", "program"])
                .succeeds_silently();
            let printed = bench.command(bench.path("program")).succeeds_silently();
            assert_eq!(without_order(&printed), without_order(&expected));
        }
        let joined = bench.path("joined.o");
        link(&bench, &[&joined, &runtime], "again", &[&form]);
        let printed = bench.command(bench.path("again")).succeeds_silently();
        assert_eq!(without_order(&printed), without_order(&expected));
        let listing = bench.offlink().args(["inspect", "again"]).succeeds();
        assert!(listing.starts_with("again: 1 image"), "{listing}");
    }
}

/// The runtime is given the same on all hosts.
#[test]
fn other_hosts() {
    for (version, flags, hosts) in [
        ("22", &["-Dmain=unused"][..], &HOSTS[..]),
        ("24", &["-Dmain=unused", "-DBINARY"], &HOSTS[..1]),
    ] {
        let bench = Workbench::new();
        let form = format!("--offlink-spirv-runtime={version}");
        let (here, runtime) = (object(&bench), runtime(&bench, flags));
        link(&bench, &[&here, &runtime], "here", &[&form]);
        let expected = bench.command(bench.path("here")).succeeds_silently();
        for host in hosts {
            bench
                .command("clang++-22")
                .arg(format!("--target={}", host.name))
                .args(["-fsycl", "-c", "-o", "host.o"])
                .arg(fixture("sycl/single_task.cpp"))
                .succeeds_silently();
            bench
                .command(host.gcc())
                .args(flags)
                .args(["-c", "-o", "runtime.o"])
                .arg(repository().join("crates/bundle/tests/data/sycl_runtime.c"))
                .succeeds_silently();
            let offlink = |arguments: &[&str]| {
                bench
                    .offlink()
                    .args(["cc", &form])
                    .arg(format!("--offlink-host-linker={}", host.gcc()))
                    .args(arguments)
                    .succeeds_silently();
            };
            offlink(&["host.o", "runtime.o", "-o", "whole"]);
            offlink(&["-r", "host.o", "-o", "joined.o"]);
            bench
                .command(host.gcc())
                .args(["joined.o", "runtime.o", "-o", "by-parts"])
                .succeeds_silently();
            for program in ["whole", "by-parts"] {
                let printed = host.run(&bench, &bench.path(program)).succeeds_silently();
                let (printed, expected) = (without_order(&printed), without_order(&expected));
                assert_eq!(printed, expected, "{} {program}", host.name);
            }
        }
    }
}
