//! LLVM's bitstream: blocks, abbreviations and records.
//!
//! The format is that of "LLVM Bitcode File Format" (llvm.org/docs/BitCodeFormat.html, LLVM 22).

use crate::bitcode::BitcodeError;

const END_BLOCK: u64 = 0;
const ENTER_SUBBLOCK: u64 = 1;
const DEFINE_ABBREV: u64 = 2;
const UNABBREV_RECORD: u64 = 3;
const FIRST_ABBREV: u64 = 4;

/// The blocks of a stream's top level, one after the other.
pub(crate) struct Blocks<'b>(Cursor<'b>);

impl<'b> Blocks<'b> {
    /// Starts behind the magic number, where bit positions count from.
    pub(crate) fn new(bytes: &'b [u8]) -> Self {
        Blocks(Cursor { bytes, bit: 0 })
    }

    /// The next block; `None` at the end.
    pub(crate) fn next(&mut self) -> Result<Option<Block<'b>>, BitcodeError> {
        if self.0.is_at_end() {
            return Ok(None);
        }
        if self.0.fixed(2)? != ENTER_SUBBLOCK {
            return Err(BitcodeError::Malformed("no block at the top level"));
        }
        self.0.block().map(Some)
    }
}

/// A block whose header was read.
pub(crate) struct Block<'b> {
    pub(crate) id: u64,
    abbrev_width: u32,
    content: Cursor<'b>,
}

impl<'b> Block<'b> {
    pub(crate) fn records(self) -> Records<'b> {
        self.records_with(Abbreviations::default())
    }

    /// The records of a block to which a BLOCKINFO block gives abbreviations.
    pub(crate) fn records_with(self, abbreviations: Abbreviations) -> Records<'b> {
        Records {
            cursor: self.content,
            abbrev_width: self.abbrev_width,
            abbreviations,
        }
    }

    /// What this BLOCKINFO block gives to blocks with the number `id`.
    pub(crate) fn abbreviations_for(self, id: u64) -> Result<Abbreviations, BitcodeError> {
        const CODE_SETBID: u64 = 1;
        let mut cursor = self.content;
        let mut given = Abbreviations::default();
        let mut current = None;
        loop {
            match cursor.fixed(self.abbrev_width)? {
                END_BLOCK => return Ok(given),
                DEFINE_ABBREV => {
                    let abbreviation = cursor.abbreviation()?;
                    if current == Some(id) {
                        given.0.push(abbreviation);
                    }
                }
                UNABBREV_RECORD => {
                    let record = cursor.plain_record()?;
                    if record.code == CODE_SETBID {
                        current = record.operands.first().copied();
                    }
                }
                _ => return Err(BitcodeError::Malformed("block information of an odd shape")),
            }
        }
    }
}

/// A record's code and operands, and the bytes of its blob if it has one.
pub(crate) struct Record<'b> {
    pub(crate) code: u64,
    pub(crate) operands: Vec<u64>,
    pub(crate) blob: &'b [u8],
}

/// What is in a block, one after the other.
pub(crate) struct Records<'b> {
    cursor: Cursor<'b>,
    abbrev_width: u32,
    abbreviations: Abbreviations,
}

impl<'b> Records<'b> {
    /// The next record, blocks stepped over; `None` at the end.
    pub(crate) fn next(&mut self) -> Result<Option<Record<'b>>, BitcodeError> {
        loop {
            match self.next_item()? {
                Some(Item::Record(record)) => return Ok(Some(record)),
                Some(Item::Block(_)) => {}
                None => return Ok(None),
            }
        }
    }

    /// The next record or block; `None` at the end.
    pub(crate) fn next_item(&mut self) -> Result<Option<Item<'b>>, BitcodeError> {
        let cursor = &mut self.cursor;
        loop {
            return Ok(Some(match cursor.fixed(self.abbrev_width)? {
                END_BLOCK => return Ok(None),
                ENTER_SUBBLOCK => Item::Block(cursor.block()?),
                DEFINE_ABBREV => {
                    self.abbreviations.0.push(cursor.abbreviation()?);
                    continue;
                }
                UNABBREV_RECORD => Item::Record(cursor.plain_record()?),
                id => {
                    let encodings = usize::try_from(id - FIRST_ABBREV)
                        .ok()
                        .and_then(|index| self.abbreviations.0.get(index))
                        .ok_or(BitcodeError::Malformed("undefined abbreviation"))?;
                    Item::Record(cursor.abbreviated_record(encodings)?)
                }
            }));
        }
    }
}

/// What is in a block.
pub(crate) enum Item<'b> {
    Record(Record<'b>),
    Block(Block<'b>),
}

/// How the records of a block are stored.
#[derive(Clone, Default)]
pub(crate) struct Abbreviations(Vec<Vec<Encoding>>);

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
    fn plain_record(&mut self) -> Result<Record<'b>, BitcodeError> {
        let mut values = vec![self.vbr(6)?];
        for _ in 0..self.vbr(6)? {
            values.push(self.vbr(6)?);
        }
        Ok(record(values, &[]))
    }

    /// A record's code and operands as the abbreviation says.
    fn abbreviated_record(&mut self, encodings: &[Encoding]) -> Result<Record<'b>, BitcodeError> {
        let mut values = Vec::new();
        let mut blob: &[u8] = &[];
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
                        values.push(self.scalar(element)?);
                    }
                }
                Encoding::Blob => blob = self.blob()?,
                scalar => values.push(self.scalar(scalar)?),
            }
        }
        Ok(record(values, blob))
    }

    /// Bytes behind their number, filled up to a whole word.
    fn blob(&mut self) -> Result<&'b [u8], BitcodeError> {
        let size = self.vbr(6)?;
        self.align();
        let start = self.bit / 8;
        let end = usize::try_from(size)
            .ok()
            .and_then(|size| size.checked_add(start))
            .ok_or(BitcodeError::Truncated)?;
        let bytes = self.bytes.get(start..end).ok_or(BitcodeError::Truncated)?;
        self.bit = end.checked_mul(8).ok_or(BitcodeError::Truncated)?;
        self.align();
        Ok(bytes)
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
                Err(BitcodeError::Malformed("array of arrays or blobs"))
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

/// Splits the code off.
fn record(values: Vec<u64>, blob: &[u8]) -> Record<'_> {
    let mut values = values.into_iter();
    Record {
        code: values.next().unwrap_or_default(),
        operands: values.collect(),
        blob,
    }
}
