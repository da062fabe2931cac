//! Who wrote a bitcode file, found without LLVM.
//!
//! A bitcode file starts with an IDENTIFICATION_BLOCK that names the producer. It is read here straight from
//! the bitstream; the wrapper and the block are described in "LLVM Bitcode File Format"
//! (llvm.org/docs/BitCodeFormat.html, LLVM 22).

use crate::bitstream::{Block, Blocks};

/// The first bytes of raw bitcode: `BC` 0xC0DE.
const RAW_MAGIC: [u8; 4] = [b'B', b'C', 0xC0, 0xDE];
/// The first bytes of the wrapper: 0x0B17C0DE, little endian.
const WRAPPER_MAGIC: [u8; 4] = [0xDE, 0xC0, 0x17, 0x0B];

const IDENTIFICATION_BLOCK: u64 = 13;
const CODE_STRING: u64 = 1;
const CODE_EPOCH: u64 = 2;

/// Whether `bytes` start like LLVM bitcode, raw or in the wrapper.
pub fn is_bitcode(bytes: &[u8]) -> bool {
    bytes.starts_with(&RAW_MAGIC) || bytes.starts_with(&WRAPPER_MAGIC)
}

/// Why bitcode can't be identified.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum BitcodeError {
    /// Neither magic number is there.
    #[error("not LLVM bitcode")]
    Magic,
    /// The data ends, or the wrapper or a block says that it goes on, where it doesn't.
    #[error("the bitcode ends early")]
    Truncated,
    /// The bitstream breaks a rule of its format.
    #[error("malformed bitcode: {0}")]
    Malformed(&'static str),
    /// No identification block, as in bitcode older than LLVM 3.8.
    #[error("the bitcode does not say which LLVM wrote it")]
    Missing,
}

/// What bitcode says about its origin.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Identification {
    /// The producer, for example `LLVM22.1.8` or `LLVM22.1.2-rust-1.95.0-stable`.
    pub producer: String,
    /// The format's epoch, 0 so far. A reader takes only its own.
    pub epoch: u64,
}

impl Identification {
    /// Reads the identification of the first module in `bytes`, a whole bitcode file, raw or wrapped.
    ///
    /// # Errors
    /// Every [`BitcodeError`].
    pub fn read(bytes: &[u8]) -> Result<Self, BitcodeError> {
        let mut blocks = blocks(bytes)?;
        while let Some(block) = blocks.next()? {
            if block.id == IDENTIFICATION_BLOCK {
                return identification(block);
            }
        }
        Err(BitcodeError::Missing)
    }

    /// The major and minor version of the LLVM that wrote the bitcode, for example (22, 1); `None` where the
    /// producer isn't called `LLVM` and a version.
    pub fn llvm_version(&self) -> Option<(u32, u32)> {
        let mut numbers = self
            .producer
            .strip_prefix("LLVM")?
            .split(|c: char| !c.is_ascii_digit())
            .map(|number| number.parse().ok());
        Some((numbers.next()??, numbers.next()??))
    }
}

/// The blocks at the top level of a bitcode file, raw or wrapped.
pub(crate) fn blocks(bytes: &[u8]) -> Result<Blocks<'_>, BitcodeError> {
    let stream = unwrap(bytes)?;
    Ok(Blocks::new(
        stream.get(RAW_MAGIC.len()..).unwrap_or_default(),
    ))
}

/// The raw bitcode in `bytes`. The wrapper is five 32-bit little endian fields: magic, version, offset and
/// size of the bitcode in bytes, and a CPU type.
fn unwrap(bytes: &[u8]) -> Result<&[u8], BitcodeError> {
    let raw = if bytes.starts_with(&WRAPPER_MAGIC) {
        let field = |at: usize| -> Result<usize, BitcodeError> {
            let field = bytes.get(at..at + 4).ok_or(BitcodeError::Truncated)?;
            let value = field
                .iter()
                .rev()
                .fold(0, |value, &byte| value << 8 | u32::from(byte));
            usize::try_from(value).map_err(|_| BitcodeError::Truncated)
        };
        let start = field(8)?;
        let end = start
            .checked_add(field(12)?)
            .ok_or(BitcodeError::Truncated)?;
        bytes.get(start..end).ok_or(BitcodeError::Truncated)?
    } else {
        bytes
    };
    if raw.starts_with(&RAW_MAGIC) {
        Ok(raw)
    } else {
        Err(BitcodeError::Magic)
    }
}

fn identification(block: Block<'_>) -> Result<Identification, BitcodeError> {
    let mut records = block.records();
    let mut producer = None;
    let mut epoch = None;
    while let Some(record) = records.next()? {
        match record.code {
            CODE_STRING => {
                let bytes: Vec<u8> = record.operands.iter().map(|&c| (c & 0xff) as u8).collect();
                producer = Some(String::from_utf8_lossy(&bytes).into_owned());
            }
            CODE_EPOCH => epoch = record.operands.first().copied().or(epoch),
            _ => {}
        }
    }
    Ok(Identification {
        producer: producer.ok_or(BitcodeError::Missing)?,
        epoch: epoch.unwrap_or(0),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const RUST: &[u8] = include_bytes!("../tests/data/llvm22/rust_scale.nvptx64.bc");
    const CLANG_19: &[u8] = include_bytes!("../tests/data/llvm19/helper.nvptx64.bc");
    const CLANG_22: &[u8] = include_bytes!("../tests/data/llvm22/helper.nvptx64.bc");

    fn wrapped(raw: &[u8]) -> Vec<u8> {
        let mut file = WRAPPER_MAGIC.to_vec();
        for field in [0, 20, raw.len() as u32, 7] {
            file.extend(field.to_le_bytes());
        }
        file.extend(raw);
        file.extend([0; 8]);
        file
    }

    #[test]
    fn producers_of_real_compilers() {
        for (bytes, producer, version) in [
            (RUST, "LLVM22.1.4-rust-1.97.0-nightly", (22, 1)),
            (CLANG_19, "LLVM19.1.7", (19, 1)),
            (CLANG_22, "LLVM22.1.8", (22, 1)),
        ] {
            assert!(is_bitcode(bytes));
            let identification = Identification::read(bytes).unwrap();
            assert_eq!(identification.producer, producer);
            assert_eq!(identification.epoch, 0);
            assert_eq!(identification.llvm_version(), Some(version));
        }
    }

    #[test]
    fn the_wrapper_makes_no_difference() {
        let file = wrapped(CLANG_22);
        assert!(is_bitcode(&file));
        assert_eq!(Identification::read(&file), Identification::read(CLANG_22));
        assert_eq!(
            Identification::read(&file[..16]),
            Err(BitcodeError::Truncated)
        );
    }

    #[test]
    fn other_data_is_refused() {
        assert!(!is_bitcode(b"\x7fELF"));
        assert_eq!(Identification::read(b"\x7fELF"), Err(BitcodeError::Magic));
        assert_eq!(Identification::read(&RAW_MAGIC), Err(BitcodeError::Missing));
        assert_eq!(Identification::read(b""), Err(BitcodeError::Magic));
    }

    #[test]
    fn producers_that_tell_no_version() {
        for producer in [
            "LLVM",
            "Apple LLVM",
            "LLVM22",
            "LLVMx.1",
            "LLVM99999999999.1",
            "",
        ] {
            let identification = Identification {
                producer: producer.into(),
                epoch: 0,
            };
            assert_eq!(identification.llvm_version(), None, "{producer}");
        }
    }

    #[test]
    fn damaged_files_are_errors_or_other_names_but_never_a_panic() {
        for file in [RUST.to_vec(), wrapped(CLANG_19)] {
            let head = &file[..file.len().min(256)];
            for length in 0..head.len() {
                assert!(Identification::read(&head[..length]).is_err() || length > 64);
            }
            for bit in 0..head.len() * 8 {
                let mut damaged = file.clone();
                damaged[bit / 8] ^= 1 << (bit % 8);
                let _ = Identification::read(&damaged);
            }
        }
    }
}
