//! The names in a SPIR-V module.
//!
//! The numbers are those of the SPIR-V specification 1.6, sections 2.3
//! ("Physical Layout of a SPIR-V Module and Instruction") and 3.

use std::collections::{BTreeMap, BTreeSet};

use super::Error;

/// The first word of a module, as the little-endian modules of LLVM and of
/// SPIRV-Tools hold it.
pub(super) const MAGIC: [u8; 4] = 0x0723_0203_u32.to_le_bytes();

const HEADER_WORDS: usize = 5;

const OP_ENTRY_POINT: u32 = 15;
const OP_FUNCTION: u32 = 54;
const OP_DECORATE: u32 = 71;

const EXECUTION_MODEL_KERNEL: u32 = 6;
const DECORATION_BUILT_IN: u32 = 11;
const DECORATION_LINKAGE_ATTRIBUTES: u32 = 41;
const LINKAGE_IMPORT: u32 = 1;

/// What a module has and what it lacks, by name.
#[derive(Debug, Default)]
pub(super) struct Names {
    /// Entry points of the execution model `Kernel`.
    pub(super) kernels: BTreeSet<String>,
    /// Functions and variables that other modules can use.
    pub(super) exports: BTreeSet<String>,
    /// Functions and variables that another module has to define. The inputs
    /// that a device provides, which have a linkage name too, are none.
    pub(super) imports: BTreeSet<String>,
}

/// Reads the instructions up to the first function, which is as far as names go.
pub(super) fn names(module: &[u8]) -> Result<Names, Error> {
    let words: Vec<u32> = module
        .chunks_exact(4)
        .map(|bytes| u32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]))
        .collect();
    let mut rest = words.get(HEADER_WORDS..).ok_or(Error::Spirv)?;
    let mut names = Names::default();
    let mut imports: BTreeMap<u32, String> = BTreeMap::new();
    let mut built_in = BTreeSet::new();
    while let Some(first) = rest.first() {
        let (opcode, length) = (first & 0xffff, (first >> 16) as usize);
        if length == 0 || length > rest.len() {
            return Err(Error::Spirv);
        }
        let (instruction, behind) = rest.split_at(length);
        rest = behind;
        match (opcode, &instruction[1..]) {
            (OP_FUNCTION, _) => break,
            (OP_ENTRY_POINT, [EXECUTION_MODEL_KERNEL, _, name @ ..]) => {
                names.kernels.insert(text(name)?);
            }
            (OP_DECORATE, [id, DECORATION_BUILT_IN, ..]) => {
                built_in.insert(*id);
            }
            (OP_DECORATE, [id, DECORATION_LINKAGE_ATTRIBUTES, name @ .., linkage]) => {
                let name = text(name)?;
                if *linkage == LINKAGE_IMPORT {
                    imports.insert(*id, name);
                } else {
                    names.exports.insert(name);
                }
            }
            _ => {}
        }
    }
    imports.retain(|id, _| !built_in.contains(id));
    names.imports = imports.into_values().collect();
    Ok(names)
}

/// A literal string: UTF-8, four bytes a word, ended by a NUL.
fn text(words: &[u32]) -> Result<String, Error> {
    let mut bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
    let end = bytes.iter().position(|byte| *byte == 0);
    bytes.truncate(end.ok_or(Error::Spirv)?);
    String::from_utf8(bytes).map_err(|_| Error::Spirv)
}

#[cfg(test)]
mod tests {
    use super::*;

    const MODULE: &[u8] = include_bytes!("../../tests/data/device.spv");

    fn list(names: &BTreeSet<String>) -> Vec<&str> {
        names.iter().map(String::as_str).collect()
    }

    #[test]
    fn kernels_exports_and_imports_are_apart() {
        let names = names(MODULE).unwrap();
        assert_eq!(list(&names.kernels), ["fill", "scale"]);
        assert_eq!(
            list(&names.exports),
            [
                "__clang_ocl_kern_imp_fill",
                "__clang_ocl_kern_imp_scale",
                "factor",
                "twice"
            ]
        );
        // The module also imports the built-in variable of the global ID.
        assert_eq!(list(&names.imports), ["elsewhere"]);
    }

    #[test]
    fn damaged_modules_are_errors_or_lack_names() {
        for end in 0..MODULE.len() {
            let _ = names(&MODULE[..end]);
        }
        let mut changed = MODULE.to_vec();
        for position in 0..MODULE.len() {
            for bit in [0x01, 0x80] {
                changed[position] ^= bit;
                let _ = names(&changed);
                changed[position] ^= bit;
            }
        }
        assert!(matches!(names(&MODULE[..16]), Err(Error::Spirv)));
        let mut endless = MODULE[..20].to_vec();
        endless.extend([0; 8]);
        assert!(matches!(names(&endless), Err(Error::Spirv)));
    }
}
