//! The assembly of `build/stubs.rs` for the hosts that it knows, here in place of each host's compiler. It runs
//! where the processor can be had; for macOS it is linked, and its jumps are read back.

#[path = "../build/stubs.rs"]
#[expect(dead_code, reason = "the build script's part")]
mod stubs;

use std::path::Path;
use std::process::Command;

use stubs::Format;

/// Points the second of three jumps at a function, calls it, then the last, which has none.
const PROGRAM: &str = "
int printf(const char *, ...);
void exit(int);
extern void *offlink_llvm_slots[3];
int LLVMFirst(int), LLVMSecond(int), LLVMThird(int);
static int twice(int number) { return 2 * number; }
void missing(unsigned long index) { printf(\"missing %lu\\n\", index); exit(3); }
int start(void) {
    offlink_llvm_slots[1] = twice;
    printf(\"%d\\n\", LLVMSecond(21));
    return LLVMThird(1);
}
int main(void) { return start(); }
";

const NAMES: [&str; 3] = ["LLVMFirst", "LLVMSecond", "LLVMThird"];

/// Runs a program, which must succeed; returns its standard output.
fn run(program: &str, folder: &Path, arguments: &[&str]) -> String {
    let output = Command::new(program)
        .current_dir(folder)
        .args(arguments)
        .output()
        .unwrap_or_else(|error| panic!("cannot start {program}: {error}; run `make setup`"));
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    assert!(
        output.status.success(),
        "{program}: {}",
        text(&output.stderr)
    );
    text(&output.stdout)
}

/// A folder with the stubs and the program.
fn sources(arch: &str, format: Format, missing: &str) -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    let assembly = stubs::assembly(&NAMES, arch, format).expect("stubs");
    let write = |name: &str, text: &str| {
        std::fs::write(folder.path().join(name), text).expect("a file");
    };
    write("stubs.s", &assembly.replace("{missing}", missing));
    write("program.c", PROGRAM);
    folder
}

#[test]
fn on_linux() {
    for (arch, compiler, emulator) in [
        ("x86_64", "gcc", "env"),
        ("aarch64", "aarch64-linux-gnu-gcc", "qemu-aarch64"),
    ] {
        let folder = sources(arch, Format::Elf, "missing");
        let arguments = ["-O1", "-static", "stubs.s", "program.c", "-o", "program"];
        run(compiler, folder.path(), &arguments);
        let output = Command::new(emulator)
            .arg(folder.path().join("program"))
            .output()
            .expect("an emulator");
        let printed = String::from_utf8_lossy(&output.stdout);
        assert_eq!(printed, "42\nmissing 2\n", "{arch}");
        assert_eq!(output.status.code(), Some(3), "{arch}");
    }
}

#[test]
fn on_macos() {
    for (arch, apples) in [("x86_64", "x86_64"), ("aarch64", "arm64")] {
        let folder = sources(arch, Format::MachO, "_missing");
        let target = format!("--target={apples}-apple-macos11");
        let clang = [target.as_str(), "-O1", "-c", "stubs.s", "program.c"];
        run("clang-22", folder.path(), &clang);
        let line = format!(
            "-arch {apples} -platform_version macos 11 11 -dylib -undefined dynamic_lookup \
             -dead_strip stubs.o program.o -o library"
        );
        let line: Vec<&str> = line.split_whitespace().collect();
        run("ld64.lld-22", folder.path(), &line);
        let symbols = run("llvm-nm-22", folder.path(), &["library"]);
        let address = |name: &str| -> u64 {
            // Small letters are for symbols that the library keeps to itself.
            let found = symbols
                .lines()
                .find_map(|line| line.strip_suffix(&format!(" s _{name}")));
            let digits = found.unwrap_or_else(|| panic!("no local {name} in {symbols}"));
            u64::from_str_radix(digits, 16).expect("an address")
        };
        let library = std::fs::read(folder.path().join("library")).expect("a library");
        for (index, name) in (0..).zip(NAMES) {
            // The linker maps the start of the file, code and all, to address 0.
            let jump = usize::try_from(address(name)).expect("an offset");
            let slot = slot_of(arch, &library[jump..], address(name));
            assert_eq!(slot, address("offlink_llvm_slots") + 8 * index, "{name}");
        }
    }
}

/// Where the jump with these bytes at `address` gets its target from.
fn slot_of(arch: &str, code: &[u8], address: u64) -> u64 {
    let word = |at: usize| u32::from_le_bytes(code[at..at + 4].try_into().expect("4 bytes"));
    if arch == "x86_64" {
        // jmp *displacement(%rip), counted from its end.
        assert_eq!(code[..2], [0xff, 0x25]);
        return address + 6 + u64::from(word(2));
    }
    // adrp x16, page; ldr x16, [x16, offset in 8 bytes]; br x16 (Arm ARM, C6.2).
    let (adrp, ldr) = (word(0), word(4));
    assert_eq!(adrp & 0x9f00_001f, 0x9000_0010);
    assert_eq!(ldr & 0xffc0_03ff, 0xf940_0210);
    assert_eq!(word(8), 0xd61f_0200);
    let pages = u64::from((adrp >> 5 & 0x7_ffff) << 2 | adrp >> 29 & 3);
    (address & !0xfff) + (pages << 12) + u64::from(ldr >> 10 & 0xfff) * 8
}
