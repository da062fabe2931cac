//! The kinds of images and of offload runtimes, as numbers and as names.

use std::path::Path;

/// What the bytes of an image are (LLVM's `ImageKind`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum ImageKind {
    /// Not said (0).
    None,
    /// A relocatable object (1).
    Object,
    /// LLVM bitcode (2).
    Bitcode,
    /// A linked NVIDIA image (3).
    Cubin,
    /// A bundle of images in the vendor's own format (4).
    Fatbinary,
    /// PTX assembly (5).
    Ptx,
    /// SPIR-V (6).
    SpirV,
    /// A number that LLVM 24 has no name for.
    Unknown(u16),
}

impl ImageKind {
    /// The kind that a number in a file stands for.
    pub fn from_number(number: u16) -> Self {
        match number {
            0 => Self::None,
            1 => Self::Object,
            2 => Self::Bitcode,
            3 => Self::Cubin,
            4 => Self::Fatbinary,
            5 => Self::Ptx,
            6 => Self::SpirV,
            other => Self::Unknown(other),
        }
    }

    /// The number that a file holds for this kind.
    pub fn number(self) -> u16 {
        match self {
            Self::None => 0,
            Self::Object => 1,
            Self::Bitcode => 2,
            Self::Cubin => 3,
            Self::Fatbinary => 4,
            Self::Ptx => 5,
            Self::SpirV => 6,
            Self::Unknown(other) => other,
        }
    }

    /// The kind of a file, found as llvm-offload-binary finds it: bitcode by
    /// its magic, since compilers name it `.o`, anything else by the extension
    /// of `path`. An extension that says nothing gives [`ImageKind::None`].
    /// `.spv` is known from LLVM 23 on.
    pub fn of_file(path: &Path, bytes: &[u8]) -> Self {
        if bytes.starts_with(b"BC\xc0\xde") || bytes.starts_with(&[0xde, 0xc0, 0x17, 0x0b]) {
            return Self::Bitcode;
        }
        match path.extension().and_then(|extension| extension.to_str()) {
            Some("o") => Self::Object,
            Some("bc") => Self::Bitcode,
            Some("cubin") => Self::Cubin,
            Some("fatbin") => Self::Fatbinary,
            Some("s") => Self::Ptx,
            Some("spv") => Self::SpirV,
            _ => Self::None,
        }
    }

    /// The name of the kind, which is also the extension that
    /// llvm-offload-binary gives to a file of it; empty for no or an unknown kind.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Object => "o",
            Self::Bitcode => "bc",
            Self::Cubin => "cubin",
            Self::Fatbinary => "fatbin",
            Self::Ptx => "s",
            Self::SpirV => "spv",
            Self::None | Self::Unknown(_) => "",
        }
    }
}

/// The runtime that an image is for (LLVM's `OffloadKind`).
///
/// The same numbers stand in the `kind` field of offload entries.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum OffloadKind {
    /// Not said (0).
    None,
    /// OpenMP, by libomptarget (1).
    OpenMp,
    /// CUDA (2).
    Cuda,
    /// HIP (4).
    Hip,
    /// SYCL (8).
    Sycl,
    /// A number that LLVM 24 has no name for.
    Unknown(u16),
}

impl OffloadKind {
    /// The kind that a number in a file stands for. LLVM 20 and older count the kinds,
    /// so that HIP is 3 (seen in objects of clang 19.1.7 and 20.1.2).
    pub fn from_number(number: u16) -> Self {
        match number {
            0 => Self::None,
            1 => Self::OpenMp,
            2 => Self::Cuda,
            3 | 4 => Self::Hip,
            8 => Self::Sycl,
            other => Self::Unknown(other),
        }
    }

    /// The number that a file holds for this kind.
    pub fn number(self) -> u16 {
        match self {
            Self::None => 0,
            Self::OpenMp => 1,
            Self::Cuda => 2,
            Self::Hip => 4,
            Self::Sycl => 8,
            Self::Unknown(other) => other,
        }
    }

    /// The kind that a command line names; any other name than `openmp`,
    /// `cuda`, `hip` and `sycl` gives [`OffloadKind::None`], as in
    /// llvm-offload-binary 22.
    pub fn from_name(name: &str) -> Self {
        match name {
            "openmp" => Self::OpenMp,
            "cuda" => Self::Cuda,
            "hip" => Self::Hip,
            "sycl" => Self::Sycl,
            _ => Self::None,
        }
    }

    /// The name that command lines use; `none` for no or an unknown kind.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::OpenMp => "openmp",
            Self::Cuda => "cuda",
            Self::Hip => "hip",
            Self::Sycl => "sycl",
            Self::None | Self::Unknown(_) => "none",
        }
    }
}
