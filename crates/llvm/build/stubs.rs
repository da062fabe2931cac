//! Writes the assembly that stands in for libLLVM at link time.
//!
//! For each name of `symbols.txt` it has three things: a jump through the name's slot under the name itself,
//! the slot, and the code that the slot points at until a library has been opened, which hands the name's
//! index to the Rust function given as the template operand `missing`.

use std::error::Error;
use std::fmt::Write as _;
use std::path::PathBuf;
use std::{env, fs};

/// Writes it to `OUT_DIR`, with the names as Rust.
pub(crate) fn write() -> Result<(), Box<dyn Error>> {
    println!("cargo::rerun-if-changed=symbols.txt");

    let list = fs::read_to_string("symbols.txt")?;
    let names: Vec<&str> = list.lines().collect();
    if !names.is_sorted_by(|a, b| a < b) {
        return Err("symbols.txt must be sorted and free of duplicates".into());
    }
    let arch = env::var("CARGO_CFG_TARGET_ARCH")?;
    let os = env::var("CARGO_CFG_TARGET_OS")?;
    let format = match (os.as_str(), env::var("CARGO_CFG_TARGET_VENDOR")?.as_str()) {
        ("windows", _) => {
            return Err("offlink-llvm has jump stubs for ELF and Mach-O, not for Windows".into());
        }
        (_, "apple") => Format::MachO,
        _ => Format::Elf,
    };
    let assembly = assembly(&names, &arch, format)
        .ok_or_else(|| format!("offlink-llvm has jump stubs for x86_64 and aarch64, not {arch}"))?;

    let out = PathBuf::from(env::var("OUT_DIR")?);
    fs::write(out.join("stubs.s"), assembly)?;
    fs::write(
        out.join("names.rs"),
        format!(
            "const COUNT: usize = {};\nstatic NAMES: [&str; COUNT] = {names:?};\n",
            names.len()
        ),
    )?;
    Ok(())
}

/// What objects of the host are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Format {
    /// Linux and its like.
    Elf,
    /// macOS. C names get an underscore, and local labels begin with `L` (Apple's assembler reference).
    MachO,
}

/// The stubs of `names`; `None` for a processor that has none.
pub(crate) fn assembly(names: &[&str], arch: &str, format: Format) -> Option<String> {
    let jump = match arch {
        "x86_64" => x86_64,
        "aarch64" => aarch64,
        _ => return None,
    };
    let (code, data, prefix, local, hidden) = match format {
        Format::Elf => (
            ".text.offlink_llvm,\"ax\"",
            ".data.offlink_llvm,\"aw\"",
            "",
            ".L",
            ".hidden",
        ),
        Format::MachO => (
            "__TEXT,__offlink_llvm,regular,pure_instructions",
            "__DATA,__offlink_llvm",
            "_",
            "L",
            ".private_extern",
        ),
    };
    // Hidden, or a libLLVM opened later could bind its own calls to these jumps.
    let global = |name: &str| format!(".globl {prefix}{name}\n{hidden} {prefix}{name}\n");
    let slot = |index: usize| format!("{local}offlink_slot_{index}");
    let missing = |index: usize| format!("{local}offlink_missing_{index}");

    let mut text = format!(".pushsection {code}\n.p2align 2\n");
    for (index, name) in names.iter().enumerate() {
        text += &global(name);
        if format == Format::Elf {
            // Writing to a string can't fail.
            let _ = writeln!(text, ".type {name},%function");
        }
        let _ = writeln!(text, "{prefix}{name}:");
        text += &jump(&slot(index), &missing(index), index, format);
    }
    let _ = writeln!(text, ".popsection\n.pushsection {data}\n.p2align 3");
    text += &global("offlink_llvm_slots");
    let _ = writeln!(text, "{prefix}offlink_llvm_slots:");
    for index in 0..names.len() {
        let _ = writeln!(text, "{}: .quad {}", slot(index), missing(index));
    }
    text += ".popsection\n";
    Some(text)
}

/// The jump and the missing stub for x86-64 (System V calling convention, AT&T syntax).
fn x86_64(slot: &str, missing: &str, index: usize, _: Format) -> String {
    format!("jmp *{slot}(%rip)\n{missing}: movl ${index}, %edi\n jmp {{missing}}\n")
}

/// The same for AArch64. The jump goes through x16, which code built for branch target identification
/// accepts as the source of a tail call.
fn aarch64(slot: &str, missing: &str, index: usize, format: Format) -> String {
    let (page, offset) = match format {
        Format::Elf => (slot.to_owned(), format!(":lo12:{slot}")),
        Format::MachO => (format!("{slot}@PAGE"), format!("{slot}@PAGEOFF")),
    };
    format!(
        "adrp x16, {page}\n ldr x16, [x16, {offset}]\n br x16\n\
         {missing}: mov x0, #{index}\n b {{missing}}\n"
    )
}
