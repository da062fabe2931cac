//! Who wrote a bitcode file, found without LLVM.
//!
//! A bitcode file starts with an IDENTIFICATION_BLOCK that names the producer. It is read here straight from
//! the bitstream, whose container, abbreviations and block are described in "LLVM Bitcode File Format"
//! (llvm.org/docs/BitCodeFormat.html, LLVM 22).

/// The first bytes of raw bitcode: `BC` 0xC0DE.
const RAW_MAGIC: [u8; 4] = [b'B', b'C', 0xC0, 0xDE];
/// The first bytes of the wrapper: 0x0B17C0DE, little endian.
const WRAPPER_MAGIC: [u8; 4] = [0xDE, 0xC0, 0x17, 0x0B];

const IDENTIFICATION_BLOCK: u64 = 13;
const CODE_STRING: u64 = 1;
const CODE_EPOCH: u64 = 2;

const END_BLOCK: u64 = 0;
const ENTER_SUBBLOCK: u64 = 1;
const DEFINE_ABBREV: u64 = 2;
const UNABBREV_RECORD: u64 = 3;
const FIRST_ABBREV: u64 = 4;

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
        let stream = unwrap(bytes)?;
        let mut cursor = Cursor {
            bytes: stream.get(RAW_MAGIC.len()..).unwrap_or_default(),
            bit: 0,
        };
        loop {
            if cursor.is_at_end() {
                return Err(BitcodeError::Missing);
            }
            if cursor.fixed(2)? != ENTER_SUBBLOCK {
                return Err(BitcodeError::Malformed("no block at the top level"));
            }
            let block = cursor.block()?;
            if block.id == IDENTIFICATION_BLOCK {
                return identification(block);
            }
        }
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

fn identification(mut block: Block<'_>) -> Result<Identification, BitcodeError> {
    let mut abbreviations: Vec<Vec<Encoding>> = Vec::new();
    let mut producer = None;
    let mut epoch = None;
    let cursor = &mut block.content;
    loop {
        let record = match cursor.fixed(block.abbrev_width)? {
            END_BLOCK => break,
            ENTER_SUBBLOCK => {
                cursor.block()?;
                continue;
            }
            DEFINE_ABBREV => {
                abbreviations.push(cursor.abbreviation()?);
                continue;
            }
            UNABBREV_RECORD => cursor.plain_record()?,
            id => {
                let encodings = usize::try_from(id - FIRST_ABBREV)
                    .ok()
                    .and_then(|index| abbreviations.get(index))
                    .ok_or(BitcodeError::Malformed("undefined abbreviation"))?;
                cursor.abbreviated_record(encodings)?
            }
        };
        match record.split_first() {
            Some((&CODE_STRING, characters)) => {
                let bytes: Vec<u8> = characters.iter().map(|&c| (c & 0xff) as u8).collect();
                producer = Some(String::from_utf8_lossy(&bytes).into_owned());
            }
            Some((&CODE_EPOCH, [value, ..])) => epoch = Some(*value),
            _ => {}
        }
    }
    Ok(Identification {
        producer: producer.ok_or(BitcodeError::Missing)?,
        epoch: epoch.unwrap_or(0),
    })
}

/// A block whose header was read.
struct Block<'b> {
    id: u64,
    abbrev_width: u32,
    content: Cursor<'b>,
}

/// How an operand of an abbreviated record is stored.
#[derive(Clone, Copy)]
enum Encoding {
    Literal(u64),
    Fixed(u32),
    Vbr(u32),
    Array,
    Char6,
    Blob,
}

/// A place in a bitstream. Bits are taken from the lowest of each byte up.
struct Cursor<'b> {
    bytes: &'b [u8],
    bit: usize,
}

impl<'b> Cursor<'b> {
    /// Whether less than a word is left, which is padding.
    fn is_at_end(&self) -> bool {
        self.bytes.len().saturating_sub(self.bit / 8) < 4
    }

    /// A number of `width` bits, 64 at most.
    fn fixed(&mut self, width: u32) -> Result<u64, BitcodeError> {
        let mut value = 0;
        for shift in 0..width {
            let byte = self
                .bytes
                .get(self.bit / 8)
                .ok_or(BitcodeError::Truncated)?;
            value |= u64::from(byte >> (self.bit % 8) & 1) << shift;
            self.bit += 1;
        }
        Ok(value)
    }

    /// A number in chunks of `width` bits, of which the highest says whether another follows.
    fn vbr(&mut self, width: u32) -> Result<u64, BitcodeError> {
        let payload = width - 1;
        let mut value = 0;
        let mut shift = 0;
        loop {
            let chunk = self.fixed(width)?;
            let digits = chunk & !(1 << payload);
            if shift >= 64 || digits << shift >> shift != digits {
                return Err(BitcodeError::Malformed("number of more than 64 bits"));
            }
            value |= digits << shift;
            if chunk >> payload == 0 {
                return Ok(value);
            }
            shift += payload;
        }
    }

    fn align(&mut self) {
        self.bit = self.bit.next_multiple_of(32);
    }

    /// Reads a block's header and steps over the block.
    fn block(&mut self) -> Result<Block<'b>, BitcodeError> {
        let id = self.vbr(8)?;
        let abbrev_width = width(self.vbr(4)?, 2)?;
        self.align();
        let words = self.fixed(32)?;
        let start = self.bit / 8;
        let end = usize::try_from(words)
            .ok()
            .and_then(|words| words.checked_mul(4)?.checked_add(start))
            .ok_or(BitcodeError::Truncated)?;
        let bytes = self.bytes.get(start..end).ok_or(BitcodeError::Truncated)?;
        self.bit = end.checked_mul(8).ok_or(BitcodeError::Truncated)?;
        Ok(Block {
            id,
            abbrev_width,
            content: Cursor { bytes, bit: 0 },
        })
    }

    fn abbreviation(&mut self) -> Result<Vec<Encoding>, BitcodeError> {
        let count = self.vbr(5)?;
        let mut encodings = Vec::new();
        for _ in 0..count {
            encodings.push(if self.fixed(1)? == 1 {
                Encoding::Literal(self.vbr(8)?)
            } else {
                match self.fixed(3)? {
                    1 => Encoding::Fixed(width(self.vbr(5)?, 1)?),
                    2 => Encoding::Vbr(width(self.vbr(5)?, 2)?),
                    3 => Encoding::Array,
                    4 => Encoding::Char6,
                    5 => Encoding::Blob,
                    _ => return Err(BitcodeError::Malformed("unknown encoding")),
                }
            });
        }
        Ok(encodings)
    }

    /// A record's code and operands, all as VBR6.
    fn plain_record(&mut self) -> Result<Vec<u64>, BitcodeError> {
        let mut record = vec![self.vbr(6)?];
        for _ in 0..self.vbr(6)? {
            record.push(self.vbr(6)?);
        }
        Ok(record)
    }

    /// A record's code and operands as the abbreviation says.
    fn abbreviated_record(&mut self, encodings: &[Encoding]) -> Result<Vec<u64>, BitcodeError> {
        let mut record = Vec::new();
        let mut encodings = encodings.iter();
        while let Some(&encoding) = encodings.next() {
            match encoding {
                Encoding::Array => {
                    let &element = encodings
                        .next()
                        .ok_or(BitcodeError::Malformed("array without an element type"))?;
                    for _ in 0..self.vbr(6)? {
                        // Elements that take no bits would let a short file claim an endless array.
                        if matches!(element, Encoding::Literal(_)) {
                            return Err(BitcodeError::Malformed("array of literals"));
                        }
                        record.push(self.scalar(element)?);
                    }
                }
                scalar => record.push(self.scalar(scalar)?),
            }
        }
        Ok(record)
    }

    fn scalar(&mut self, encoding: Encoding) -> Result<u64, BitcodeError> {
        const CHAR6: &[u8; 64] =
            b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._";
        match encoding {
            Encoding::Literal(value) => Ok(value),
            Encoding::Fixed(width) => self.fixed(width),
            Encoding::Vbr(width) => self.vbr(width),
            Encoding::Char6 => {
                let index = self.fixed(6)? as usize;
                Ok(u64::from(CHAR6[index % CHAR6.len()]))
            }
            Encoding::Array | Encoding::Blob => {
                Err(BitcodeError::Malformed("identification of an odd shape"))
            }
        }
    }
}

/// A bit width as the stream gives it, if it makes sense: no narrower than `least`, and no wider than the 32
/// bits that LLVM's reader takes.
fn width(value: u64, least: u32) -> Result<u32, BitcodeError> {
    u32::try_from(value)
        .ok()
        .filter(|width| (least..=32).contains(width))
        .ok_or(BitcodeError::Malformed("bit width"))
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
