//! Device code and offload entries in host bitcode (`clang -flto`), found without LLVM.
//!
//! Both are variables in sections of known names: constant bytes, and structures, which clang writes field by
//! field and rustc as bytes and pointers. Their values are read from the module's constants, whose codes and
//! numbering are those of "LLVM Bitcode File Format" (LLVM 22), seen in files of clang 19.1.7 and 22.1.8 and of
//! rustc 1.95.0 and 1.97.0.

use std::collections::BTreeMap;

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
                    let found = values.entries(global);
                    let found =
                        found.ok_or(BitcodeError::Malformed("offload entry of an odd shape"))?;
                    self.entries.extend(found);
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

    /// The entries that a variable is, none for padding; `None` for what is no entry.
    fn entries(&self, global: &Global) -> Option<Vec<HostEntry>> {
        match self.initialiser(global)? {
            Constant::Aggregate(parts) => match self.constant(*parts.first()?) {
                Some(Constant::Bytes(_)) => self.entries_of_bytes(parts, self.section(global)),
                _ => Some(vec![self.entry_of_fields(parts, self.section(global))?]),
            },
            Constant::Integer(0) => Some(Vec::new()),
            _ => None,
        }
    }

    /// An entry whose parts are its fields.
    fn entry_of_fields(&self, parts: &[u64], section: &str) -> Option<HostEntry> {
        let (layout, flags, name, size, data) = match *parts {
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
        let (version, kind) = match layout {
            Some((version, kind)) => (integer(version)?, integer(kind)?),
            None => (0, 0),
        };
        Some(HostEntry {
            section: section.to_owned(),
            version,
            kind,
            flags: integer(flags)?,
            size: integer(size)?,
            data: integer(data)?,
            name: self.text(name)?,
        })
    }

    /// One entry or an array of them whose parts are its bytes and the pointers between those.
    fn entries_of_bytes(&self, parts: &[u64], section: &str) -> Option<Vec<HostEntry>> {
        const ENTRY_SIZE: usize = 56;
        const NAME: usize = 24;
        let mut bytes = Vec::new();
        let mut pointers = BTreeMap::new();
        for (position, &part) in parts.iter().enumerate() {
            match self.constant(part) {
                Some(Constant::Bytes(found)) => bytes.extend_from_slice(found),
                // How many zeros there are tells only their type; the last ones end an entry.
                Some(Constant::Integer(0)) if position + 1 == parts.len() => {
                    bytes.resize(bytes.len().next_multiple_of(ENTRY_SIZE), 0);
                }
                Some(_) => return None,
                None => {
                    pointers.insert(bytes.len(), part);
                    bytes.extend([0; 8]);
                }
            }
        }
        let entries = bytes.chunks_exact(ENTRY_SIZE);
        if !entries.remainder().is_empty() {
            return None;
        }
        let entries = entries.enumerate().map(|(index, entry)| {
            let integer = |at: usize, size: usize| {
                let bytes = entry[at..at + size].iter().rev();
                bytes.fold(0, |value, byte| value << 8 | u64::from(*byte))
            };
            Some(HostEntry {
                section: section.to_owned(),
                version: integer(8, 2),
                kind: integer(10, 2),
                flags: integer(12, 4),
                size: integer(32, 8),
                data: integer(40, 8),
                name: self.text(*pointers.get(&(index * ENTRY_SIZE + NAME))?)?,
            })
        });
        entries.collect()
    }

    /// The text, up to its NUL, that the variable with this number holds.
    fn text(&self, variable: u64) -> Option<String> {
        let variable = self.globals.get(usize::try_from(variable).ok()?)?;
        let bytes = match self.initialiser(variable)? {
            Constant::Aggregate(parts) => match parts.as_slice() {
                [only] => self.constant(*only)?.bytes()?,
                _ => return None,
            },
            other => other.bytes()?,
        };
        let end = bytes.iter().position(|byte| *byte == 0);
        let text = &bytes[..end.unwrap_or(bytes.len())];
        Some(String::from_utf8_lossy(text).into_owned())
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
    const RUST: &[u8] = include_bytes!("../tests/data/llvm22/rust_host.x86_64.bc");
    const EMBEDDED: &[u8] = include_bytes!("../tests/data/llvm22/once.nvptx64.bc");

    fn entry(kind: u64, flags: u64, size: u64, data: u64, name: &str) -> HostEntry {
        HostEntry {
            section: "llvm_offload_entries".into(),
            version: 1,
            kind,
            flags,
            size,
            data,
            name: name.into(),
        }
    }

    #[test]
    fn statics_of_rustc() {
        let module = HostModule::read(RUST, ENTRIES).unwrap();
        let [one, last] = ["one", "last"].map(|name| entry(1, 0, 0, 0, name));
        assert_eq!(
            module.entries,
            [one, entry(2, 0, 4, 70000, "variable"), last]
        );
    }

    #[test]
    fn what_clang_embeds() {
        let module = HostModule::read(HOST, ENTRIES).unwrap();
        assert!(module.device_code == [EMBEDDED]);
        let kernel = entry(1, 0, 0, 0, "kernel");
        assert_eq!(module.entries, [kernel, entry(2, 16, 4, 70000, "variable")]);
    }

    #[test]
    fn damaged_files_are_errors_or_other_values_but_never_a_panic() {
        for file in [HOST, RUST] {
            for length in (0..file.len()).step_by(5) {
                let _ = HostModule::read(&file[..length], ENTRIES);
            }
            for bit in (0..file.len() * 8).step_by(29) {
                let mut damaged = file.to_vec();
                damaged[bit / 8] ^= 1 << (bit % 8);
                let _ = HostModule::read(&damaged, ENTRIES);
            }
        }
    }
}
