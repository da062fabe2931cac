//! Device code and offload entries in host bitcode (`clang -flto`), found without LLVM.
//!
//! Both are variables in sections of known names: constant bytes, and structures. Their values
//! are read from the module's constants, whose codes and numbering are those of "LLVM Bitcode File Format"
//! (LLVM 22), seen in files of clang 19.1.7 and 22.1.8.

use crate::bitcode::{self, BitcodeError};
use crate::bitstream::{Abbreviations, Block, Item, Record};
use crate::symbols::{self, CODE_ALIAS, CODE_FUNCTION, CODE_IFUNC, CODE_VARIABLE, MODULE_BLOCK};

const BLOCKINFO_BLOCK: u64 = 0;
const CONSTANTS_BLOCK: u64 = 11;

const CODE_SECTION: u64 = 5;

const CODE_SETTYPE: u64 = 1;
const CODE_NULL: u64 = 2;
const CODE_INTEGER: u64 = 4;
const CODE_AGGREGATE: u64 = 7;
const CODE_STRING: u64 = 8;
const CODE_CSTRING: u64 = 9;

/// What host bitcode holds for devices.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct HostModule {
    /// The contents of variables in section `.llvm.offloading`, in order: offload binaries.
    pub device_code: Vec<Vec<u8>>,
    /// The offload entries, in order.
    pub entries: Vec<HostEntry>,
}

/// An offload entry, in the layout of LLVM 20 and newer or in that before it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HostEntry {
    /// The section that it is in.
    pub section: String,
    /// The version of the layout, 1 so far; 0 before LLVM 20, whose entries don't say.
    pub version: u64,
    /// The runtimes that register the entry, as bits; 0 before LLVM 20.
    pub kind: u64,
    /// What sort of symbol it is.
    pub flags: u64,
    /// The size of the variable in bytes, zero for a kernel.
    pub size: u64,
    /// More about the variable.
    pub data: u64,
    /// The name of the symbol in the device image.
    pub name: String,
}

impl HostModule {
    /// Reads what all modules in `bytes`, a whole bitcode file, raw or wrapped, hold for devices: device code,
    /// and the entries in sections of the names in `entries`.
    ///
    /// # Errors
    /// [`BitcodeError`], also where an entry is none.
    pub fn read(bytes: &[u8], entries: &[&str]) -> Result<Self, BitcodeError> {
        let mut found = Self::default();
        let mut blocks = bitcode::blocks(bytes)?;
        while let Some(block) = blocks.next()? {
            if block.id == MODULE_BLOCK {
                found.add(Values::of(block)?, entries)?;
            }
        }
        Ok(found)
    }

    fn add(&mut self, values: Values, entries: &[&str]) -> Result<(), BitcodeError> {
        for global in &values.globals {
            match values.section(global) {
                ".llvm.offloading" => {
                    let bytes = values.initialiser(global).and_then(Constant::bytes);
                    let bytes = bytes.ok_or(BitcodeError::Malformed("device code of no bytes"))?;
                    self.device_code.push(bytes.to_vec());
                }
                section if entries.contains(&section) => {
                    let entry = values.entry(global);
                    let entry =
                        entry.ok_or(BitcodeError::Malformed("offload entry of an odd shape"))?;
                    self.entries.extend(entry);
                }
                _ => {}
            }
        }
        Ok(())
    }
}

/// A value that takes part in what is read.
enum Constant {
    Integer(u64),
    Bytes(Vec<u8>),
    /// The numbers of its parts.
    Aggregate(Vec<u64>),
    Other,
}

impl Constant {
    fn bytes(&self) -> Option<&[u8]> {
        match self {
            Self::Bytes(bytes) => Some(bytes),
            _ => None,
        }
    }
}

/// A function, variable, alias or ifunc.
#[derive(Default)]
struct Global {
    /// The number of its initialiser, plus one; 0 if it has none.
    initialiser: u64,
    /// The number of its section's name, from one; 0 if it has none.
    section: u64,
}

/// A module's values: globals are numbered first, then constants.
#[derive(Default)]
struct Values {
    sections: Vec<String>,
    globals: Vec<Global>,
    constants: Vec<Constant>,
}

impl Values {
    fn of(module: Block<'_>) -> Result<Self, BitcodeError> {
        let mut values = Self::default();
        let mut abbreviations = Abbreviations::default();
        let mut items = module.records();
        while let Some(item) = items.next_item()? {
            match item {
                Item::Block(block) if block.id == BLOCKINFO_BLOCK => {
                    abbreviations = block.abbreviations_for(CONSTANTS_BLOCK)?;
                }
                Item::Block(block) if block.id == CONSTANTS_BLOCK => {
                    let mut records = block.records_with(abbreviations.clone());
                    while let Some(record) = records.next()? {
                        values.constants.extend(constant(record));
                    }
                }
                Item::Block(_) => {}
                Item::Record(record) => values.add(&record),
            }
        }
        Ok(values)
    }

    fn add(&mut self, record: &Record<'_>) {
        match (record.code, record.operands.as_slice()) {
            (CODE_SECTION, _) => self.sections.push(symbols::text(record)),
            (CODE_VARIABLE, [_, _, _, _, initialiser, _, _, section, ..]) => {
                self.globals.push(Global {
                    initialiser: *initialiser,
                    section: *section,
                });
            }
            (CODE_VARIABLE | CODE_FUNCTION | CODE_ALIAS | CODE_IFUNC, _) => {
                self.globals.push(Global::default());
            }
            _ => {}
        }
    }

    fn section(&self, global: &Global) -> &str {
        let index = global.section.checked_sub(1);
        let name = index.and_then(|index| self.sections.get(usize::try_from(index).ok()?));
        name.map_or("", String::as_str)
    }

    fn initialiser(&self, global: &Global) -> Option<&Constant> {
        self.constant(global.initialiser.checked_sub(1)?)
    }

    fn constant(&self, number: u64) -> Option<&Constant> {
        let index = usize::try_from(number)
            .ok()?
            .checked_sub(self.globals.len())?;
        self.constants.get(index)
    }

    /// The entry that a variable is; `Some(None)` for padding, `None` for what is no entry.
    fn entry(&self, global: &Global) -> Option<Option<HostEntry>> {
        let parts = match self.initialiser(global)? {
            Constant::Aggregate(parts) => parts,
            Constant::Integer(0) => return Some(None),
            _ => return None,
        };
        let (layout, flags, name, size, data) = match *parts.as_slice() {
            [_, version, kind, flags, _, name, size, data, _] => {
                (Some((version, kind)), flags, name, size, data)
            }
            [_, name, size, flags, data] => (None, flags, name, size, data),
            _ => return None,
        };
        let integer = |number| match self.constant(number)? {
            Constant::Integer(value) => Some(*value),
            _ => None,
        };
        let name = self.globals.get(usize::try_from(name).ok()?)?;
        let name = self.initialiser(name)?.bytes()?;
        let name = name.strip_suffix(b"\0").unwrap_or(name);
        let (version, kind) = match layout {
            Some((version, kind)) => (integer(version)?, integer(kind)?),
            None => (0, 0),
        };
        Some(Some(HostEntry {
            section: self.section(global).to_owned(),
            version,
            kind,
            flags: integer(flags)?,
            size: integer(size)?,
            data: integer(data)?,
            name: String::from_utf8_lossy(name).into_owned(),
        }))
    }
}

/// The value of a record; `None` for one that has none.
fn constant(record: Record<'_>) -> Option<Constant> {
    let bytes = |operands: &[u64]| operands.iter().map(|&byte| (byte & 0xff) as u8).collect();
    Some(match record.code {
        CODE_SETTYPE => return None,
        CODE_NULL => Constant::Integer(0),
        // The sign is the lowest bit; nothing here is negative.
        CODE_INTEGER => Constant::Integer(record.operands.first().map_or(0, |value| value >> 1)),
        CODE_AGGREGATE => Constant::Aggregate(record.operands),
        CODE_STRING | CODE_CSTRING => {
            let mut bytes: Vec<u8> = bytes(&record.operands);
            bytes.extend((record.code == CODE_CSTRING).then_some(0));
            Constant::Bytes(bytes)
        }
        _ => Constant::Other,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOST: &[u8] = include_bytes!("../tests/data/llvm22/host.x86_64.bc");
    const ENTRIES: &[&str] = &["omp_offloading_entries", "llvm_offload_entries"];
    const EMBEDDED: &[u8] = include_bytes!("../tests/data/llvm22/once.nvptx64.bc");

    #[test]
    fn what_clang_embeds() {
        let module = HostModule::read(HOST, ENTRIES).unwrap();
        assert!(module.device_code == [EMBEDDED]);
        let entry = |kind, flags, size, data, name: &str| HostEntry {
            section: "llvm_offload_entries".into(),
            version: 1,
            kind,
            flags,
            size,
            data,
            name: name.into(),
        };
        let kernel = entry(1, 0, 0, 0, "kernel");
        assert_eq!(module.entries, [kernel, entry(2, 16, 4, 70000, "variable")]);
    }

    #[test]
    fn damaged_files_are_errors_or_other_values_but_never_a_panic() {
        for length in (0..HOST.len()).step_by(5) {
            let _ = HostModule::read(&HOST[..length], ENTRIES);
        }
        for bit in (0..HOST.len() * 8).step_by(29) {
            let mut damaged = HOST.to_vec();
            damaged[bit / 8] ^= 1 << (bit % 8);
            let _ = HostModule::read(&damaged, ENTRIES);
        }
    }
}
