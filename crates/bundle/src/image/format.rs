//! Telling the formats of device images apart by their first bytes.

use std::fmt;

use goblin::elf::header::{EM_X86_64, ET_DYN, ET_REL};

use super::spirv;
use crate::elf::Elf;
use crate::offload_binary;

/// `e_machine` of NVIDIA's images.
pub(super) const EM_CUDA: u16 = 190;
/// `e_machine` of AMD's images.
pub(super) const EM_AMDGPU: u16 = 224;
/// `e_machine` of the container that Intel's OpenMP runtime reads.
pub(crate) const EM_INTELGT: u16 = 205;

/// What sort of file a device image or an input to a device link is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ImageFormat {
    /// LLVM bitcode, with or without wrapper header.
    Bitcode,
    /// PTX assembly.
    Ptx,
    /// An NVIDIA object that nvlink has yet to link.
    CubinRelocatable,
    /// An NVIDIA image that a driver can load.
    CubinFinal,
    /// An AMD object that lld has yet to link.
    HsacoRelocatable,
    /// An AMD image that a driver can load.
    HsacoFinal,
    /// A relocatable ELF object for the processor with this `e_machine`.
    ElfRelocatable(u16),
    /// A shared library or program for the processor with this `e_machine`.
    ElfShared(u16),
    /// A SPIR-V module.
    SpirV,
    /// A SPIR-V module in the container that Intel's OpenMP runtime reads.
    OneOmp,
    /// LLVM's offload binary.
    OffloadBinary,
    /// NVIDIA's container of images.
    Fatbin,
    /// The container of images of HIP and of clang-offload-bundler, compressed
    /// or not.
    HipBundle,
    /// None of these.
    Unknown,
}

impl ImageFormat {
    /// Finds the format of `image` by its magic bytes, ELF files by `e_machine`
    /// and `e_type`, PTX by the `.version` directive that has to come first
    /// (PTX ISA 8.8, "PTX Module Directives").
    pub fn detect(image: &[u8]) -> Self {
        if image.starts_with(b"BC\xc0\xde") || image.starts_with(&[0xde, 0xc0, 0x17, 0x0b]) {
            Self::Bitcode
        } else if image.starts_with(b"\x7fELF") {
            Self::detect_elf(image)
        } else if image.starts_with(&spirv::MAGIC) {
            Self::SpirV
        } else if image.starts_with(&offload_binary::MAGIC) {
            Self::OffloadBinary
        } else if image.starts_with(&0xba55_ed50_u32.to_le_bytes()) {
            Self::Fatbin
        } else if image.starts_with(b"__CLANG_OFFLOAD_BUNDLE__") || image.starts_with(b"CCOB") {
            Self::HipBundle
        } else if offlink_ptx::text::is_ptx(image) {
            Self::Ptx
        } else {
            Self::Unknown
        }
    }

    fn detect_elf(image: &[u8]) -> Self {
        let Ok(header) = Elf::header_of(image) else {
            return Self::Unknown;
        };
        match (header.e_machine, header.e_type == ET_REL) {
            (EM_CUDA, true) => Self::CubinRelocatable,
            (EM_CUDA, false) => Self::CubinFinal,
            (EM_AMDGPU, true) => Self::HsacoRelocatable,
            (EM_AMDGPU, false) => Self::HsacoFinal,
            (EM_INTELGT, false) if header.e_type == ET_DYN => Self::OneOmp,
            (machine, true) => Self::ElfRelocatable(machine),
            (machine, false) => Self::ElfShared(machine),
        }
    }
}

impl fmt::Display for ImageFormat {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Bitcode => formatter.write_str("LLVM bitcode"),
            Self::Ptx => formatter.write_str("PTX"),
            Self::CubinRelocatable => formatter.write_str("relocatable cubin"),
            Self::CubinFinal => formatter.write_str("cubin"),
            Self::HsacoRelocatable => formatter.write_str("relocatable AMDGPU object"),
            Self::HsacoFinal => formatter.write_str("hsaco"),
            Self::ElfRelocatable(EM_X86_64) => formatter.write_str("x86-64 object"),
            Self::ElfShared(EM_X86_64) => formatter.write_str("x86-64 shared object"),
            Self::ElfRelocatable(machine) => {
                write!(formatter, "relocatable ELF object of machine {machine}")
            }
            Self::ElfShared(machine) => write!(formatter, "linked ELF file of machine {machine}"),
            Self::SpirV => formatter.write_str("SPIR-V"),
            Self::OneOmp => formatter.write_str("SPIR-V in oneOMP ELF"),
            Self::OffloadBinary => formatter.write_str("offload binary"),
            Self::Fatbin => formatter.write_str("CUDA fatbin"),
            Self::HipBundle => formatter.write_str("HIP bundle"),
            Self::Unknown => formatter.write_str("unknown"),
        }
    }
}
