//! Writes the assembly that stands in for libLLVM at link time.
//!
//! For each name of `symbols.txt` it emits three things: a jump through the name's slot under the name
//! itself, the slot, and the code that the slot points at until a library has been opened, which hands the
//! name's index to the Rust function given as the template operand `missing`.

use std::error::Error;
use std::fmt::Write as _;
use std::path::PathBuf;
use std::{env, fs};

fn main() -> Result<(), Box<dyn Error>> {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-changed=symbols.txt");

    let list = fs::read_to_string("symbols.txt")?;
    let names: Vec<&str> = list.lines().collect();
    if !names.is_sorted_by(|a, b| a < b) {
        return Err("symbols.txt must be sorted and free of duplicates".into());
    }
    let arch = env::var("CARGO_CFG_TARGET_ARCH")?;
    let os = env::var("CARGO_CFG_TARGET_OS")?;
    if os == "windows" || env::var("CARGO_CFG_TARGET_VENDOR")? == "apple" {
        return Err(format!("offlink-llvm has jump stubs for ELF hosts only, not for {os}").into());
    }
    let jumps: fn(&str, usize) -> String = match arch.as_str() {
        "x86_64" => x86_64,
        "aarch64" => aarch64,
        other => {
            return Err(
                format!("offlink-llvm has jump stubs for x86_64 and aarch64, not {other}").into(),
            );
        }
    };

    let mut assembly = String::from(".pushsection .text.offlink_llvm,\"ax\"\n");
    for (index, name) in names.iter().enumerate() {
        // Hidden, or a libLLVM opened later could bind its own calls to these jumps.
        writeln!(
            assembly,
            ".globl {name}\n.hidden {name}\n.type {name},%function"
        )?;
        assembly += &jumps(name, index);
    }
    assembly += ".popsection\n.pushsection .data.offlink_llvm,\"aw\"\n.p2align 3\n";
    assembly += ".globl offlink_llvm_slots\n.hidden offlink_llvm_slots\nofflink_llvm_slots:\n";
    for index in 0..names.len() {
        writeln!(
            assembly,
            ".Lofflink_slot_{index}: .quad .Lofflink_missing_{index}"
        )?;
    }
    assembly += ".popsection\n";

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

/// The jump and the missing stub for x86-64 (System V calling convention, AT&T syntax).
fn x86_64(name: &str, index: usize) -> String {
    format!(
        "{name}: jmp *.Lofflink_slot_{index}(%rip)\n\
         .Lofflink_missing_{index}: movl ${index}, %edi\n jmp {{missing}}\n"
    )
}

/// The same for AArch64. The jump goes through x16, which code built for branch target identification
/// accepts as the source of a tail call.
fn aarch64(name: &str, index: usize) -> String {
    format!(
        "{name}: adrp x16, .Lofflink_slot_{index}\n ldr x16, [x16, :lo12:.Lofflink_slot_{index}]\n br x16\n\
         .Lofflink_missing_{index}: mov x0, #{index}\n b {{missing}}\n"
    )
}
