//! offlink as NVIDIA's fatbinary.

use crate::peers::Pair;
use crate::workbench::{Run, cuda, cuda_tool};

const PTX: &str = ".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry k() { ret; }\n";

/// `k.ptx`, and cubins for two architectures.
fn pair() -> Pair {
    let pair = Pair::new(cuda_tool("fatbinary"));
    pair.write("k.ptx", PTX);
    for arch in ["80", "90"] {
        pair.bench
            .command(cuda_tool("ptxas"))
            .args([&format!("-arch=sm_{arch}"), "own/k.ptx", "-o", "k.cubin"])
            .succeeds();
        pair.copy(pair.bench.path("k.cubin"), &format!("k{arch}.cubin"));
    }
    pair
}

const IMAGES: &str = "--image3=kind=elf,sm=80,file=k80.cubin --image3=kind=ptx,sm=80,file=k.ptx \
                      --image3=kind=elf,sm=90,file=k90.cubin";

/// What an embedded fatbin needs before it.
const WRAPPER: &str = "typedef struct { int magic, version; const void *data; void *rest; } \
                       __fatBinC_Wrapper_t;\n\
                       #define __SKIP_INTERNAL_FATBINARY_HEADERS\n\
                       extern void *__cudaPrelinkedFatbins[];\n";

#[test]
fn same_bytes_whatever_the_options() {
    let pair = pair();
    for (number, options) in [
        "-64",
        "",
        "-64 --compress=false",
        "--compress false --compress-all",
        "-64 --compress-all",
        "-64 --compress-mode=default",
        "-64 --compress-mode=size",
        "-64 --compress-mode balance --compress-all",
        "-64 --compress-mode=none",
        "-64 -g",
        "-64 --debug --compress-mode=none",
        "-64 --ident=source.cu",
        "-64 -ident source.cu -cmdline=-O3",
        "--cmdline=-v -c -link -no-asm",
    ]
    .into_iter()
    .enumerate()
    {
        pair.same(&format!("--create=out{number} {options} {IMAGES}"));
    }
    pair.same("-create alone -64 --image3=kind=elf,sm=90,file=k90.cubin");
    pair.same("--create specific --image3=kind=elf,sm=90a,file=k90.cubin");
    pair.same("--create empty");
    pair.same("-64 --image3=kind=elf,sm=80,file=k80.cubin");
    pair.write("line", format!("-64 --compress-all {IMAGES}"));
    pair.same("--create by-file --options-file line");
}

/// LZ4 leaves the compressor a choice, so what counts is what comes out.
#[test]
fn lz4_can_be_read() {
    let pair = pair();
    let line = format!("--create fast.fatbin --compress-mode=speed --compress-all {IMAGES}");
    pair.peer(&line).succeeds();
    pair.offlink(&line).succeeds_silently();
    let [theirs, own] = [pair.theirs("fast.fatbin"), pair.own("fast.fatbin")].map(|file| {
        let dump = pair
            .bench
            .command(cuda_tool("cuobjdump"))
            .args(["-sass", "-ptx"])
            .arg(file)
            .succeeds();
        dump.lines()
            .filter(|line| !line.contains("fatbin"))
            .collect::<Vec<_>>()
            .join("\n")
    });
    assert_eq!(theirs, own);
    assert!(own.contains("Function : k"), "{own}");
}

/// Versions before 13 take the image in this form, as LLVM before 22 sends it.
#[test]
fn images_as_older_versions_take_them() {
    let pair = pair();
    pair.peer(&format!("--create new -64 {IMAGES}")).succeeds();
    pair.offlink(
        "--create new -64 --image=profile=sm_80,file=k80.cubin \
         --image=profile=compute_80,file=k.ptx --image=profile=sm_90,file=k90.cubin",
    )
    .succeeds_silently();
    let read = |path| std::fs::read(path).expect("a fatbin");
    assert!(read(pair.theirs("new")) == read(pair.own("new")));
}

#[test]
fn fails_as_the_peer_does() {
    let pair = pair();
    for (image, message) in [
        ("kind=wat,sm=80,file=k80.cubin", "'wat'"),
        ("kind=elf,sm=80,file=nope", "nope"),
        ("kind=elf,sm=90,file=k80.cubin", "sm_80"),
        ("kind=elf,sm=sm80,file=k80.cubin", "no NVIDIA architecture"),
        ("kind=elf,file=k80.cubin", "lacks sm="),
        ("kind=elf,sm=80", "lacks file="),
        ("kind=elf,sm=80,file=k80.cubin,color=red", "'color'"),
        ("kind=elf,kind=elf,sm=80,file=k80.cubin", "twice"),
        ("kind=elf,sm=80,file=k.ptx", "not of the kind"),
        ("kind=ptx,sm=80,file=k80.cubin", "not of the kind"),
    ] {
        pair.both_fail(&format!("--create x -64 --image3={image}"), message);
        assert!(!pair.own("x").exists(), "{image}");
    }
    pair.both_fail("--what", "--what");
    pair.both_fail("--create x --compress", "--compress needs a value");
    pair.both_fail(
        &format!("--create x --compress-mode=tiny {IMAGES}"),
        "'tiny'",
    );
}

/// A host object of the embedded fatbin has the same bytes in its sections.
#[test]
fn embedded_fatbins_compile_to_the_same() {
    let sections = [".nv_fatbin", "__nv_relfatbin", ".nvFatBinSegment"];
    for (options, wrapper) in [
        ("", "__fatDeviceText"),
        ("--no-asm -link", "__fatDeviceText"),
        ("-c", "__fatbinwrap_module"),
        ("-c -link --compress=false", "__fatbinwrap_module"),
    ] {
        let pair = pair();
        pair.write(
            "host.c",
            format!(
                "#define __NV_MODULE_ID _module\n{WRAPPER}#include \"embedded.c\"\n\
                 const void *use(void) {{ return &{wrapper}; }}\n"
            ),
        );
        pair.same_code(
            &[],
            &format!("--embedded-fatbin=embedded.c {options} {IMAGES}"),
        );
        let [theirs, own] = ["peer", "own"].map(|folder| {
            let object = pair.bench.path(format!("{folder}.o"));
            pair.bench
                .command("cc")
                .args(["-c", "-w", &format!("{folder}/host.c"), "-o"])
                .arg(&object)
                .succeeds();
            sections.map(|section| {
                let dump = pair
                    .bench
                    .command("llvm-readelf-22")
                    .args(["-x", section, "-r"])
                    .arg(&object)
                    .succeeds();
                dump.lines()
                    .filter(|line| line.trim_start().starts_with("0x"))
                    .map(|line| format!("{line}\n"))
                    .collect::<String>()
            })
        });
        assert_eq!(theirs, own, "{options}");
        assert!(own[2].len() > 40 && own[0].len() + own[1].len() > 1000);
    }
}

#[test]
fn for_32_bit_hosts() {
    let pair = pair();
    pair.same("--create ptx -32 --image3=kind=ptx,sm=80,file=k.ptx");
    pair.write("k32.ptx", PTX.replace("64", "32"));
    pair.same("--create ptx32 -32 --image3=kind=ptx,sm=80,file=k32.ptx");
    pair.same("--create ptx64 --image3=kind=ptx,sm=80,file=k32.ptx");
    pair.both_fail(
        "--create x -32 --image3=kind=elf,sm=80,file=k80.cubin",
        "cubin",
    );
    pair.both_fail(
        "--create x -32 -64 --image3=kind=ptx,sm=80,file=k.ptx",
        "exclude",
    );
}

/// LTO-IR by NVIDIA's own compiler, never compressed here. Of what is none the peer
/// takes some.
#[test]
fn lto_ir() {
    let pair = pair();
    pair.write(
        "f.ci",
        "__attribute__((device)) int f(int x) { return x + 1; }\n",
    );
    pair.bench
        .command(cuda().join("nvvm/bin/cicc"))
        .args(["--c++17", "--device-c", "-arch", "compute_90", "-m64"])
        .args(["own/f.ci", "-olto", "f.ltoir", "-o", "f.ptx"])
        .succeeds();
    pair.copy(pair.bench.path("f.ltoir"), "f.ltoir");
    let image = "--image3=kind=nvvm,sm=90,file=f.ltoir";
    for (number, options) in [
        "-64",
        "-32",
        "-64 -c -ident=f.cu -cmdline=-v -cicc-cmdline=-ftz=0",
        "-64 --cicc-cmdline -ftz=1 -g",
        "-64 --image3=kind=nvvm,sm=90a,file=f.ltoir",
    ]
    .into_iter()
    .enumerate()
    {
        pair.same(&format!(
            "--create=out{number} {options} {image} --compress=false"
        ));
        pair.offlink(&format!("--create=default {options} {image}"))
            .succeeds_silently();
        let read = |name: &str| std::fs::read(pair.own(name)).expect("a fatbin");
        assert!(read("default") == read(&format!("out{number}")));
        std::fs::remove_file(pair.own("default")).expect("no fatbin");
    }
    pair.both_fail(
        "--create x --image3=kind=nvvm,sm=90,file=k.ptx",
        "no LTO-IR",
    );
    pair.offlink_fails(
        "--create x --image3=kind=nvvm,sm=90,file=k90.cubin",
        "no LTO-IR",
    );
}

/// `<name>` and `<name>.o`, a fatbin of relocatable code and a host object with
/// it, of which only the PTX counts.
fn relocatable(pair: &Pair, name: &str) {
    pair.peer(&format!(
        "--create {name} --embedded-fatbin {name}.c -c --ident {name} {IMAGES}"
    ))
    .succeeds();
    let embedded = std::fs::read_to_string(pair.theirs(&format!("{name}.c"))).expect("a C file");
    let source = pair.bench.write(
        &format!("{name}.host.c"),
        format!("#define __NV_MODULE_ID _{name}\n{WRAPPER}{embedded}"),
    );
    let object = pair.bench.path(format!("{name}.o"));
    pair.bench
        .command("cc")
        .args(["-c", "-w", "-o"])
        .args([&object, &source])
        .succeeds();
    for file in [name.to_owned(), format!("{name}.c")] {
        pair.copy(pair.theirs(&file), &file);
    }
    pair.copy(object, &format!("{name}.o"));
}

/// The peer writes several files' PTX in the order of its hash table.
#[test]
fn ptx_of_relocatable_code() {
    let pair = pair();
    relocatable(&pair, "a");
    relocatable(&pair, "b");
    pair.write("none.c", "int x;");
    pair.bench
        .command("cc")
        .args(["-c", "own/none.c", "-o", "none.o"])
        .succeeds();
    pair.copy(pair.bench.path("none.o"), "none.o");
    for folder in ["own", "peer"] {
        for (archive, kind) in [("a.a", "rcs"), ("thin.a", "rcsT")] {
            pair.bench
                .command("llvm-ar-22")
                .current_dir(pair.bench.path(folder))
                .args([kind, archive, "none.o", "a.o"])
                .succeeds();
        }
    }
    for file in ["a", "a.o", "a.a", "thin.a", "none.o"] {
        let image = format!("--image2=kind=reloc,file={file}");
        pair.same(&format!("--create out -64 {image}"));
        pair.same(&format!("--create out -64 {image} {IMAGES}"));
    }
    let line = "--create two -64 --image2=kind=reloc,file=a --image2 kind=reloc,file=b.o";
    pair.peer(line).succeeds();
    pair.offlink(line).succeeds_silently();
    let [theirs, own] = [pair.theirs("two"), pair.own("two")].map(|file| {
        let mut bytes = std::fs::read(file).expect("a fatbin");
        bytes.sort_unstable();
        bytes
    });
    assert_eq!(theirs, own);
    for (line, message) in [
        ("file=k.ptx,kind=reloc", "neither a fatbin"),
        ("file=nope,kind=reloc", "nope"),
        ("kind=elf,file=k80.cubin", "'elf'"),
        ("kind=reloc", "lacks file="),
        (
            "kind=reloc,file=a --image2=kind=reloc,file=a.o",
            "identifier",
        ),
    ] {
        pair.both_fail(&format!("--create x -64 --image2={line}"), message);
        assert!(!pair.own("x").exists(), "{line}");
    }
}

#[test]
fn prints_help_and_version_like_the_peer() {
    let pair = pair();
    for line in ["", "--help", "-h", "-V", "k80.cubin --create x"] {
        let [_, own] = pair.same_code(&[], line);
        assert!(own.contains("offlink"), "{line}: {own}");
    }
}
