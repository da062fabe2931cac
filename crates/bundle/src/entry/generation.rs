//! The forms of entries, each of compilers from one LLVM on.

use std::str::FromStr;

use super::{Error, OffloadEntry};
use crate::offload_binary::OffloadKind;

/// The LLVM whose compilers, and runtimes, know entries of one form.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Generation {
    /// LLVM 19 and older: 32 bytes in a section of the kind's own (seen in objects of
    /// clang 19.1.7).
    Llvm19,
    /// LLVM 20: 56 bytes, still in that section (clang 20.1.2).
    Llvm20,
    /// LLVM 21 and newer: the same 56 bytes, of all kinds in one section (clang
    /// 22.1.8, and LLVM's main of autumn 2026).
    #[default]
    Llvm21,
}

/// The sections of entries, each with the one kind whose entries it has, if that is
/// so. SYCL never had one of its own.
pub const SECTIONS: [(&str, Option<OffloadKind>); 4] = [
    (COMMON_SECTION, None),
    ("omp_offloading_entries", Some(OffloadKind::OpenMp)),
    ("cuda_offloading_entries", Some(OffloadKind::Cuda)),
    ("hip_offloading_entries", Some(OffloadKind::Hip)),
];

/// The section that all kinds share.
pub(crate) const COMMON_SECTION: &str = "llvm_offload_entries";

impl Generation {
    /// The section that has the entries of `kind`.
    pub fn section(self, kind: OffloadKind) -> &'static str {
        let own = SECTIONS.iter().find(|(_, of)| *of == Some(kind));
        match own {
            Some((section, _)) if self != Generation::Llvm21 => section,
            _ => COMMON_SECTION,
        }
    }

    /// The major versions of clang that emit the form, for people.
    pub fn compilers(self) -> &'static str {
        match self {
            Generation::Llvm19 => "clang 19 or older",
            Generation::Llvm20 => "clang 20",
            Generation::Llvm21 => "clang 21 or newer",
        }
    }
}

impl FromStr for Generation {
    type Err = &'static str;

    /// Reads the major version of the first LLVM; the error says which there are.
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text {
            "19" => Ok(Self::Llvm19),
            "20" => Ok(Self::Llvm20),
            "21" => Ok(Self::Llvm21),
            _ => Err("it is 19, 20 or 21"),
        }
    }
}

/// How the entries of one section are read.
#[derive(Debug, Clone, Copy)]
pub(super) struct Form {
    section: &'static str,
    kind: Option<OffloadKind>,
    generation: Generation,
}

/// Where an entry of LLVM 19 has the pointer to its name, and one of LLVM 20 its
/// version and kind.
const NAME_OFFSET_19: usize = 8;

impl Form {
    /// The only form in the section of all kinds.
    pub(super) const COMMON: Form = Form {
        section: COMMON_SECTION,
        kind: None,
        generation: Generation::Llvm21,
    };

    /// The form of the entries in `contents` of a section of [`SECTIONS`].
    /// `is_relocated` says whether a pointer at an offset into the section is known
    /// to the linker.
    pub(super) fn of(
        (section, kind): (&'static str, Option<OffloadKind>),
        contents: &[u8],
        is_relocated: impl Fn(u64) -> bool,
    ) -> Self {
        let is_of_llvm_20 = || {
            // Reserved, then version 1 and a small number for the kind; in a program
            // of a fixed address LLVM 19 has addresses of 64 bits in both places.
            let is_version = matches!(contents, [0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 1..=3, 0, ..]);
            is_version && !is_relocated(NAME_OFFSET_19 as u64)
        };
        let generation = match kind {
            None => Generation::Llvm21,
            Some(_) if is_of_llvm_20() => Generation::Llvm20,
            Some(_) => Generation::Llvm19,
        };
        Form {
            section,
            kind,
            generation,
        }
    }

    pub(super) fn entry_size(self) -> usize {
        match self.generation {
            Generation::Llvm19 => 32,
            Generation::Llvm20 | Generation::Llvm21 => 56,
        }
    }

    /// Where the pointer to the name stands in an entry.
    pub(super) fn name_offset(self) -> usize {
        match self.generation {
            Generation::Llvm19 => NAME_OFFSET_19,
            Generation::Llvm20 | Generation::Llvm21 => 24,
        }
    }

    /// The entries in the contents of the section.
    pub(super) fn split(self, contents: &[u8]) -> Result<impl Iterator<Item = &[u8]>, Error> {
        if !contents.len().is_multiple_of(self.entry_size()) {
            return Err(Error::SectionSize {
                section: self.section,
                size: contents.len(),
                entry_size: self.entry_size(),
            });
        }
        Ok(contents.chunks_exact(self.entry_size()))
    }

    /// Reads one of them, all but the name.
    pub(super) fn without_name(self, bytes: &[u8]) -> OffloadEntry {
        let (packed, size, flags, data);
        match self.generation {
            Generation::Llvm19 => {
                packed = 0;
                size = word(bytes, 16);
                flags = word(bytes, 24) as u32;
                data = word(bytes, 24) >> 32;
            }
            Generation::Llvm20 | Generation::Llvm21 => {
                packed = word(bytes, 8);
                size = word(bytes, 32);
                flags = (packed >> 32) as u32;
                data = word(bytes, 40);
            }
        }
        OffloadEntry {
            generation: self.generation,
            // LLVM 20 has another number for HIP.
            kind: self.kind.map_or((packed >> 16) as u16, OffloadKind::number),
            flags,
            size,
            data,
            name: String::new(),
        }
    }
}

/// The eight bytes at an offset into an entry, which has them.
pub(super) fn word(entry: &[u8], offset: usize) -> u64 {
    let bytes = entry.get(offset..).and_then(|rest| rest.first_chunk());
    bytes.map_or(0, |bytes| u64::from_le_bytes(*bytes))
}
