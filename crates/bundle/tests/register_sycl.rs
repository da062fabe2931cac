//! Host objects for SYCL are linked into programs that run, in which a stand-in
//! for the runtime prints what it is given. For LLVM 22 that must be what it is
//! given when clang-linker-wrapper links the same device code.

mod linking;

use std::fs::{self, File};
use std::os::unix::fs::symlink;
use std::path::Path;

use linking::{LINKERS, MODES, data, run};
use offlink_bundle::host_object::{HostTarget, sycl};
use offlink_bundle::offload_binary::{self, Image, ImageKind, OffloadKind, Version};
use offlink_bundle::sycl_symbols;

/// A folder in which programs are linked with the stand-in.
struct Workshop(tempfile::TempDir);

impl Workshop {
    /// The stand-in is compiled with `flags`.
    fn new(flags: &[&str]) -> Self {
        let workshop = Workshop(tempfile::tempdir().unwrap());
        let runtime = data("sycl_runtime.c");
        let mut arguments = vec!["-fPIC", "-c", runtime.to_str().unwrap()];
        arguments.extend(flags);
        arguments.extend(["-o", "runtime.o"]);
        run(workshop.path(), "cc", &arguments);
        workshop
    }

    fn path(&self) -> &Path {
        self.0.path()
    }

    fn write(&self, container: &[u8]) {
        let mut file = File::create(self.path().join("wrapped.o")).unwrap();
        sycl::write(HostTarget::X86_64Linux, container, &mut file).unwrap();
    }

    /// What the program prints however it is linked.
    fn prints(&self, objects: &[&str]) -> String {
        let mut outputs = Vec::new();
        for (linker, mode) in LINKERS
            .iter()
            .flat_map(|linker| MODES.map(|mode| (linker, mode)))
        {
            let mut arguments = vec!["runtime.o", "-o", "program"];
            arguments.extend(&linker[1..]);
            arguments.extend(mode);
            arguments.extend(objects);
            run(self.path(), linker[0], &arguments);
            outputs.push(run::<&str>(self.path(), "./program", &[]));
        }
        outputs.dedup();
        let [output] = outputs.as_slice() else {
            panic!("{outputs:?}");
        };
        output.clone()
    }
}

fn image(triple: &str, symbols: Vec<u8>, data: &'static [u8]) -> Image<'static> {
    let mut image = Image::new(ImageKind::SpirV, OffloadKind::Sycl, triple, "", data);
    let key = sycl_symbols::KEY.to_owned();
    image.strings.push((key, symbols));
    image
}

fn binary(images: &[Image<'_>], version: Version) -> Vec<u8> {
    let mut bytes = Vec::new();
    offload_binary::write(images, version, &mut bytes).unwrap();
    bytes
}

#[test]
fn llvm_22_is_given_what_clang_linker_wrapper_gives_it() {
    let workshop = Workshop::new(&[]);
    let folder = workshop.path();
    let source = data("device.cl");
    let compile = "--target=spirv64-unknown-unknown -cl-std=CL2.0 -Xclang \
                   -finclude-default-header -O1 -DWHOLE -emit-llvm -c -o device.bc";
    let mut arguments: Vec<&str> = compile.split_whitespace().collect();
    arguments.push(source.to_str().unwrap());
    run(folder, "clang-22", &arguments);
    let image = "--image=file=device.bc,triple=spirv64-unknown-unknown,arch=generic,kind=sycl";
    run(
        folder,
        "llvm-offload-binary-22",
        &["-o", "device.bin", image],
    );
    fs::write(folder.join("empty.c"), "").unwrap();
    let embed = "-fPIC -c empty.c -Xclang -fembed-offload-object=device.bin -o host.o";
    let embed: Vec<&str> = embed.split_whitespace().collect();
    run(folder, "clang-22", &embed);

    // clang looks for its SYCL linker in PATH, under a name without version.
    let linker = run(folder, "sh", &["-c", "command -v clang-sycl-linker-22"]);
    symlink(linker.trim(), folder.join("clang-sycl-linker")).unwrap();
    let path = format!(
        "PATH={}:{}",
        folder.display(),
        std::env::var("PATH").unwrap()
    );
    let wrap = "clang-linker-wrapper-22 --host-triple=x86_64-unknown-linux-gnu \
                --linker-path=/bin/true --save-temps host.o -o linked";
    let wrap = [path.as_str()].into_iter().chain(wrap.split_whitespace());
    run(folder, "env", &wrap.collect::<Vec<_>>());
    let expected = workshop.prints(&["linked.sycl.image.wrapper.o"]);
    let lines: Vec<&str> = expected.lines().collect();
    assert!(
        lines[0].starts_with("register version=1 count=1"),
        "{expected}"
    );
    assert!(expected.contains(" name=scale ") && expected.contains(" name=fill "));
    assert_eq!(
        lines[lines.len() - 3..],
        ["constructor", "main", "unregister same=1"]
    );

    // The image is what clang-sycl-linker made of the bitcode.
    workshop.write(&fs::read(folder.join("linked.spirv64..img")).unwrap());
    assert_eq!(workshop.prints(&["wrapped.o"]), expected);
}

#[test]
fn llvm_22_is_given_all_images_of_a_container() {
    let workshop = Workshop::new(&[]);
    let images = [
        image("spirv64-unknown-unknown", b"one\ntwo".to_vec(), b"first"),
        image("spirv64", Vec::new(), b""),
        image("spirv64-intel", b"three".to_vec(), b"third image"),
    ];
    workshop.write(&binary(&images, Version::V1));
    let printed = workshop.prints(&["wrapped.o"]);
    let found: Vec<&str> = printed
        .split(['\n', ' '])
        .filter(|word| {
            ["count=", "format=", "triple=", "name="]
                .iter()
                .any(|key| word.starts_with(key))
                || word.starts_with("size=") && !word.ends_with("size=0")
        })
        .collect();
    assert_eq!(
        found,
        [
            "count=3",
            "format=6",
            "triple=spirv64-unknown-unknown",
            "size=5",
            "name=one",
            "name=two",
            "format=6",
            "triple=spirv64",
            "format=6",
            "triple=spirv64-intel",
            "size=11",
            "name=three"
        ]
    );
}

#[test]
fn llvm_24_is_given_the_whole_binary() {
    let workshop = Workshop::new(&["-DBINARY"]);
    let names = sycl_symbols::table(["one"]).unwrap();
    let images = [image("spirv64-unknown-unknown", names, b"image")];
    for version in [
        Version::V2,
        Version::V3(offload_binary::Compression::DEFAULT),
    ] {
        let container = binary(&images, version);
        workshop.write(&container);
        let sum = container.iter().fold(0_u32, |sum, byte| {
            sum.wrapping_mul(31).wrapping_add((*byte).into())
        });
        let bytes = format!("size={} sum={sum:x} aligned=1", container.len());
        let printed = workshop.prints(&["wrapped.o"]);
        let mut lines: Vec<&str> = printed.lines().collect();
        // Either may go first, as both have the first priority for programs.
        lines[..2].sort_unstable();
        assert_eq!(
            lines,
            [
                "constructor",
                &format!("register {bytes}"),
                "main",
                &format!("unregister {bytes}")
            ]
        );
    }
}
