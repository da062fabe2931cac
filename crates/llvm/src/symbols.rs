//! Names that bitcode defines and needs, found without LLVM.
//!
//! Bitcode for NVIDIA GPUs has no symbol table, since LLVM can't parse their assembly. So the names come from
//! the records of the module's functions and variables, which LLVM 5 and newer write in one form; their codes
//! and operands are those of "LLVM Bitcode File Format" (LLVM 22).

use crate::bitcode::{self, BitcodeError};
use crate::bitstream::{Block, Record};

pub(crate) const MODULE_BLOCK: u64 = 8;
const STRTAB_BLOCK: u64 = 23;

const CODE_TRIPLE: u64 = 2;
pub(crate) const CODE_VARIABLE: u64 = 7;
pub(crate) const CODE_FUNCTION: u64 = 8;
pub(crate) const CODE_ALIAS: u64 = 14;
pub(crate) const CODE_IFUNC: u64 = 15;
const CODE_STRTAB_BLOB: u64 = 1;

/// What a bitcode file tells about its target and its global names.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Symbols {
    /// The target triple of the first module; empty where it has none.
    pub triple: String,
    /// Names that are defined and can be referred to from elsewhere, as LLVM has them, in the file's order.
    pub defined: Vec<String>,
    /// Names that are declared only, without intrinsics and weak references, in the file's order.
    pub needed: Vec<String>,
}

impl Symbols {
    /// Reads the names of all modules in `bytes`, a whole bitcode file, raw or wrapped.
    ///
    /// # Errors
    /// [`BitcodeError::Magic`], [`BitcodeError::Truncated`] and [`BitcodeError::Malformed`].
    pub fn read(bytes: &[u8]) -> Result<Self, BitcodeError> {
        let mut symbols = Self::default();
        let mut unnamed = Vec::new();
        let mut blocks = bitcode::blocks(bytes)?;
        while let Some(block) = blocks.next()? {
            match block.id {
                MODULE_BLOCK => {
                    let triple = module(block, &mut unnamed)?;
                    if symbols.triple.is_empty() {
                        symbols.triple = triple;
                    }
                }
                // The names of all modules before it.
                STRTAB_BLOCK => symbols.name(&std::mem::take(&mut unnamed), strtab(block)?)?,
                _ => {}
            }
        }
        Ok(symbols)
    }

    /// Reads no more of a bitcode file, raw or wrapped, than the target triple of its first module; empty where
    /// that has none.
    ///
    /// # Errors
    /// As [`Symbols::read`].
    pub fn read_triple(bytes: &[u8]) -> Result<String, BitcodeError> {
        let mut blocks = bitcode::blocks(bytes)?;
        while let Some(block) = blocks.next()? {
            if block.id == MODULE_BLOCK {
                let mut records = block.records();
                while let Some(record) = records.next()? {
                    if record.code == CODE_TRIPLE {
                        return Ok(text(&record));
                    }
                }
            }
        }
        Ok(String::new())
    }

    fn name(&mut self, unnamed: &[Unnamed], names: &[u8]) -> Result<(), BitcodeError> {
        for global in unnamed {
            let name = name(global, names).ok_or(BitcodeError::Malformed("name out of range"))?;
            let name = String::from_utf8_lossy(name);
            if name.is_empty() || name.starts_with("llvm.") {
                continue;
            }
            if global.is_defined {
                self.defined.push(name.into_owned());
            } else {
                self.needed.push(name.into_owned());
            }
        }
        Ok(())
    }
}

/// A global that counts, with the place of its name.
struct Unnamed {
    offset: u64,
    size: u64,
    is_defined: bool,
}

fn name<'b>(global: &Unnamed, names: &'b [u8]) -> Option<&'b [u8]> {
    let start = usize::try_from(global.offset).ok()?;
    let end = start.checked_add(usize::try_from(global.size).ok()?)?;
    names.get(start..end)
}

/// Adds the module's globals and returns its triple.
fn module(block: Block<'_>, globals: &mut Vec<Unnamed>) -> Result<String, BitcodeError> {
    let mut triple = String::new();
    let mut records = block.records();
    while let Some(record) = records.next()? {
        if record.code == CODE_TRIPLE {
            triple = text(&record);
        } else {
            globals.extend(global(&record));
        }
    }
    Ok(triple)
}

/// The operands as characters.
pub(crate) fn text(record: &Record<'_>) -> String {
    let bytes: Vec<u8> = record.operands.iter().map(|&c| (c & 0xff) as u8).collect();
    String::from_utf8_lossy(&bytes).into_owned()
}

/// All records of globals start with the place of the name in the string table; what follows tells a
/// definition and the linkage. `None` for other records and for globals that nobody else can refer to.
fn global(record: &Record<'_>) -> Option<Unnamed> {
    let (is_declaration, linkage) = match (record.code, record.operands.as_slice()) {
        (CODE_VARIABLE, [_, _, _, _, initialiser, linkage, ..]) => (*initialiser == 0, *linkage),
        (CODE_FUNCTION, [_, _, _, _, is_prototype, linkage, ..]) => (*is_prototype != 0, *linkage),
        (CODE_ALIAS | CODE_IFUNC, [_, _, _, _, _, linkage, ..]) => (false, *linkage),
        _ => return None,
    };
    let is_defined = match linkage {
        INTERNAL | PRIVATE | PRIVATE_LINKER | PRIVATE_LINKER_WEAK | EXTERNAL_WEAK => return None,
        // A body to inline: the definition proper is elsewhere.
        AVAILABLE_EXTERNALLY => false,
        _ => !is_declaration,
    };
    Some(Unnamed {
        offset: *record.operands.first()?,
        size: *record.operands.get(1)?,
        is_defined,
    })
}

const INTERNAL: u64 = 3;
const EXTERNAL_WEAK: u64 = 7;
const PRIVATE: u64 = 9;
const AVAILABLE_EXTERNALLY: u64 = 12;
const PRIVATE_LINKER: u64 = 13;
const PRIVATE_LINKER_WEAK: u64 = 14;

fn strtab(block: Block<'_>) -> Result<&[u8], BitcodeError> {
    let mut records = block.records();
    while let Some(record) = records.next()? {
        if record.code == CODE_STRTAB_BLOB {
            return Ok(record.blob);
        }
    }
    Err(BitcodeError::Malformed("no string table"))
}

#[cfg(test)]
mod tests {
    use super::*;

    const RUST: &[u8] = include_bytes!("../tests/data/llvm22/rust_scale.nvptx64.bc");
    const CLANG_19: &[u8] = include_bytes!("../tests/data/llvm19/undefined.nvptx64.bc");
    const CLANG_22: &[u8] = include_bytes!("../tests/data/llvm22/undefined.nvptx64.bc");

    #[test]
    fn names_of_real_compilers() {
        let rust = Symbols::read(RUST).unwrap();
        assert_eq!(rust.triple, "nvptx64-nvidia-cuda");
        assert_eq!(Symbols::read_triple(RUST).as_ref(), Ok(&rust.triple));
        assert_eq!(rust.defined, ["scale"]);
        assert!(rust.needed.is_empty());
        for file in [CLANG_19, CLANG_22] {
            let mut clang = Symbols::read(file).unwrap();
            clang.needed.sort();
            assert_eq!(clang.defined, ["dead", "uses"]);
            let needed = [
                "missing_for_the_dead",
                "missing_function",
                "missing_variable",
            ];
            assert_eq!(clang.needed, needed);
        }
    }

    #[test]
    fn aliases_are_definitions_and_local_names_are_none() {
        let alias = include_bytes!("../tests/data/llvm22/alias.nvptx64.bc");
        let linkage = include_bytes!("../tests/data/llvm22/linkage.nvptx64.bc");
        let defined = |file| Symbols::read(file).unwrap().defined;
        assert_eq!(defined(alias), ["function", "kernel", "other_name"]);
        let visible = ["only_used", "dropped", "odd<name>,(with;marks)"];
        assert_eq!(defined(linkage), visible);
    }

    #[test]
    fn damaged_files_are_errors_or_other_names_but_never_a_panic() {
        for length in 0..RUST.len() {
            let _ = Symbols::read(&RUST[..length]);
        }
        for bit in 0..RUST.len() * 8 {
            let mut damaged = RUST.to_vec();
            damaged[bit / 8] ^= 1 << (bit % 8);
            let _ = Symbols::read(&damaged);
        }
    }
}
