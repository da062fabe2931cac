//! What images of hundreds of MiB take: no more memory than small ones.

use crate::workbench::{Run, Workbench};
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::Path;

const MIB: u64 = 1 << 20;

/// What the image ends with.
const LAST: &[u8] = b"the last bytes";

/// The most that any process of such a step may have resident, in MiB.
const MEMORY: u64 = 48;

/// An image of 256 MiB: a shared object with zeros behind it that take no room on
/// the disk.
fn image(bench: &Workbench) {
    bench.write("image.c", "const char first[] = \"the first bytes\";\n");
    bench
        .command("cc")
        .args(["-shared", "-fPIC", "-o", "image", "image.c"])
        .succeeds_silently();
    let file = File::options().write(true).open(bench.path("image"));
    let end = file.expect("the image").write_all_at(LAST, 256 * MIB);
    end.expect("its end");
}

/// Runs offlink, and returns the most memory that it, or what it ran, had
/// resident, in MiB. GNU time asks the system for that. (What `wait4` tells about a
/// child of this process includes this process.)
fn peak(bench: &Workbench, arguments: &[&str]) -> u64 {
    let mut time = bench.command("time");
    time.args(["-f", "%M", "-o", "peak"])
        .arg(bench.offlink().get_program());
    time.args(arguments).succeeds_silently();
    let kib = std::fs::read_to_string(bench.path("peak")).expect("what time wrote");
    kib.trim().parse::<u64>().expect("a number of KiB") / 1024
}

/// Checks that the file has the whole image in it, by its beginning, its end and
/// how far these are apart.
fn holds_the_image(path: &Path, image: &Path) {
    let (contents, image) = (read(path), read(image));
    let starts = memchr::memmem::find(&contents, &image[..4096]).expect("the image");
    let ends = memchr::memmem::find(&contents[starts..], LAST).expect("its end");
    assert_eq!(ends + LAST.len(), image.len());
}

fn read(path: &Path) -> Vec<u8> {
    std::fs::read(path).expect("a file")
}

const OF_HOST: &str = "--image=file=image,triple=x86_64-unknown-linux-gnu,kind=openmp";
const OF_AMD: &str = "--image=file=image,triple=amdgcn-amd-amdhsa,arch=gfx90a,kind=hip";

#[test]
fn bundles_and_objects() {
    let bench = Workbench::new();
    image(&bench);
    for (image, container) in [(OF_HOST, "openmp.bin"), (OF_AMD, "hip.hipfb")] {
        for line in [
            &["bundle", image, "-o", container][..],
            &["wrap", container, "-o", "object.o"],
            &["wrap", "--relocatable", container, "-o", "object.o"],
        ] {
            let used = peak(&bench, line);
            assert!(used <= MEMORY, "{used} MiB for {line:?}");
            holds_the_image(&bench.path(line[line.len() - 1]), &bench.path("image"));
        }
    }
}

/// The seal's name comes from all of the object, which nevertheless is nowhere
/// in memory.
#[test]
fn sealed_objects() {
    let bench = Workbench::new();
    image(&bench);
    for line in [
        &["bundle", OF_HOST, "-o", "openmp.bin"][..],
        &["wrap", "--relocatable", "openmp.bin", "-o", "object.o"],
    ] {
        bench.offlink().args(line).succeeds_silently();
    }
    bench
        .command("ld")
        .args(["-r", "object.o", "-o", "linked.o"])
        .succeeds_silently();
    let used = peak(&bench, &["seal", "linked.o"]);
    assert!(used <= MEMORY, "{used} MiB");
    holds_the_image(&bench.path("linked.o"), &bench.path("image"));
}

/// A whole link. The linker maps the object, so only offlink's own part counts.
#[test]
fn links() {
    let bench = Workbench::new();
    image(&bench);
    bench.write("main.c", "int main(void) { return 0; }\n");
    bench
        .command("cc")
        .args(["-c", "main.c"])
        .succeeds_silently();
    let image = "--offlink-image=file=image,triple=x86_64-unknown-linux-gnu,kind=openmp";
    let stderr = bench
        .offlink()
        .args(["cc", "main.o", image, "-o", "program", "--offlink-time"])
        .warns();
    let line = stderr
        .lines()
        .find(|line| line.trim_start().starts_with("all "));
    let words: Vec<&str> = line.expect("the whole").split_whitespace().collect();
    let ["all", _, "ms", used, "MiB"] = words[..] else {
        panic!("{stderr}");
    };
    let used: f64 = used.parse().expect("a number of MiB");
    assert!(used <= MEMORY as f64, "{stderr}");
    holds_the_image(&bench.path("program"), &bench.path("image"));
}
