//! Why a device link failed.

use super::elsewhere::ElsewhereError;
use crate::mapped_file::ReadError;
use crate::output_file::OutputError;
use crate::process::ToolError;
use crate::toolchain::{LlvmError, NotFound};
use offlink_llvm::{ConfigureError, Undefined};
use offlink_ptx::PtxVersion;
use std::error::Error as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use thiserror::Error;

/// Why a device link failed.
#[derive(Debug, Error)]
pub enum DeviceError {
    /// No libLLVM can link the bitcode.
    #[error(transparent)]
    Llvm(#[from] LlvmError),
    /// LLVM does not take its options.
    #[error(transparent)]
    LlvmOption(#[from] ConfigureError),
    /// A tool is nowhere.
    #[error(transparent)]
    NotFound(#[from] NotFound),
    /// A tool failed, and offlink knows no more than the tool says.
    #[error(transparent)]
    Tool(#[from] ToolError),
    /// libLLVM failed.
    #[error("device link for {target}: {source}{}", kept_in(.kept.as_deref()))]
    Bitcode {
        /// The target.
        target: String,
        /// The folder that holds what is needed to fail again, if LLVM crashed.
        kept: Option<PathBuf>,
        /// What LLVM said.
        source: Arc<offlink_llvm::Error>,
    },
    /// The libLLVM is older than the GPU.
    #[error(
        "LLVM {version} ({}) does not know {arch}; that needs LLVM {needed} or newer, named with \
         --offlink-llvm",
        library.display()
    )]
    LlvmTooOld {
        /// The library's version.
        version: String,
        /// The library.
        library: PathBuf,
        /// The arch or processor.
        arch: String,
        /// The first major version that knows it.
        needed: u32,
    },
    /// The libLLVM can't make SPIR-V.
    #[error(
        "LLVM {version} ({}) cannot make SPIR-V for {target}: it has no SPIR-V backend (rustc's has \
         none); name a libLLVM that has one with --offlink-llvm, such as that of Debian's \
         libllvm22",
        library.display()
    )]
    NoSpirVInLlvm {
        /// The target.
        target: String,
        /// The library's version.
        version: String,
        /// The library.
        library: PathBuf,
    },
    /// ptxas is older, or newer, than the GPU.
    #[error(
        "ptxas ('{}') does not know {arch}; name another with --offlink-ptxas, or make PTX with \
         --offlink-emit=ptx, for a runtime that compiles it",
        ptxas.display()
    )]
    PtxasLacksArch {
        /// The program.
        ptxas: PathBuf,
        /// The architecture.
        arch: String,
    },
    /// ptxas is older than the PTX.
    #[error(
        "ptxas ('{}') takes PTX {newest} at most, but {arch} needs {needed}; name a newer one \
         with --offlink-ptxas",
        ptxas.display()
    )]
    PtxasTooOld {
        /// The program.
        ptxas: PathBuf,
        /// The architecture.
        arch: String,
        /// The newest version that ptxas takes.
        newest: PtxVersion,
        /// The version of the PTX.
        needed: PtxVersion,
    },
    /// Device code uses what no input defines.
    #[error(
        "undefined device symbol{} for {target}: {}{}",
        plural(symbols),
        list(symbols),
        libraries(symbols)
    )]
    Undefined {
        /// The target.
        target: String,
        /// The symbols; the user may be unknown, and is empty then.
        symbols: Vec<Undefined>,
    },
    /// Inputs that only a cubin can join.
    #[error(
        "cannot make PTX for {target} of {what}; leave out --offlink-emit=ptx, so that nvlink \
         joins them"
    )]
    PtxOfObjects {
        /// The target.
        target: String,
        /// What the inputs are.
        what: &'static str,
    },
    /// Inputs that are no bitcode any more, where bitcode is to be made.
    #[error(
        "cannot make bitcode for {target} of '{origin}', which is machine code, PTX or SPIR-V; \
         compile it to bitcode, as -foffload-lto does"
    )]
    BitcodeOfObjects {
        /// The target.
        target: String,
        /// Where the code is.
        origin: String,
    },
    /// An object can't be read.
    #[error("cannot read the device code in '{origin}' for {target}: {source}")]
    Object {
        /// The target.
        target: String,
        /// Where the object is.
        origin: String,
        /// What is wrong.
        source: offlink_bundle::image::Error,
    },
    /// Kernels of a link in parts are not in the image that nvlink made of them.
    #[error(
        "nvlink left kernels out of the image for {target}: {}; link without parts, with \
         --offlink-split=never",
        kernels.join(", ")
    )]
    LostKernels {
        /// The target.
        target: String,
        /// The kernels.
        kernels: Vec<String>,
    },
    /// The link failed elsewhere, or could not be run there.
    #[error(transparent)]
    Elsewhere(#[from] ElsewhereError),
    /// A temporary file can't be written.
    #[error(transparent)]
    Write(#[from] OutputError),
    /// The result of a tool can't be read.
    #[error(transparent)]
    Read(#[from] ReadError),
}

impl DeviceError {
    /// All that the failed tool printed.
    pub fn details(&self) -> Option<&str> {
        match self {
            Self::Tool(error) => Some(error.stderr()),
            Self::Elsewhere(error) => error.details(),
            _ => None,
        }
    }

    /// The PTX version that the code asked for, where LLVM gave up on a lower
    /// one.
    pub(super) fn declared_ptx(&self) -> Option<u32> {
        match self {
            Self::Bitcode { source, .. } => match **source {
                offlink_llvm::Error::Fatal { declared_ptx, .. } => declared_ptx,
                _ => None,
            },
            _ => None,
        }
    }

    /// The same error with the inputs kept by `keep`, if it is a defect of LLVM
    /// or of the code: the inputs of rustc and cargo are gone when the link has
    /// failed.
    pub(super) fn keeping(mut self, keep: impl FnOnce() -> Option<PathBuf>) -> Self {
        if let Self::Bitcode { kept, source, .. } = &mut self
            && matches!(**source, offlink_llvm::Error::Fatal { .. })
        {
            *kept = keep();
        }
        self
    }

    /// Whether a hermetic link needs what was not declared.
    pub fn is_undeclared(&self) -> bool {
        match self {
            Self::NotFound(error) | Self::Llvm(LlvmError::Undeclared(error)) => {
                error.is_undeclared()
            }
            // A device library was wanted in the middle of a compile.
            Self::Bitcode { source, .. } => {
                let mut causes = std::iter::successors(source.source(), |&cause| cause.source());
                causes.any(|cause| cause.downcast_ref().is_some_and(NotFound::is_undeclared))
            }
            _ => false,
        }
    }

    /// Whether a tool ran and failed, in contrast to the link being impossible.
    pub fn is_tool_failure(&self) -> bool {
        matches!(self, Self::Tool(_))
    }
}

fn kept_in(dir: Option<&Path>) -> String {
    dir.map(|dir| format!("; inputs and command are kept in '{}'", dir.display()))
        .unwrap_or_default()
}

fn plural(symbols: &[Undefined]) -> &'static str {
    if symbols.len() == 1 { "" } else { "s" }
}

/// Which library of device code would define one of the symbols, and how to get it
/// into the link.
fn libraries(symbols: &[Undefined]) -> String {
    let known = symbols
        .iter()
        .find_map(|undefined| Some((undefined, remedy(&undefined.symbol)?)));
    known.map_or_else(String::new, |(undefined, remedy)| {
        format!("; '{}' {remedy}", undefined.symbol)
    })
}

fn remedy(symbol: &str) -> Option<&'static str> {
    let begins = |prefixes: &[&str]| prefixes.iter().any(|prefix| symbol.starts_with(prefix));
    if begins(&["__nv_"]) {
        Some(
            "is for libdevice to define, which only bitcode is linked with: compile what uses it \
             to bitcode, or name a libdevice that has it with --offlink-libdevice=PATH",
        )
    } else if begins(&["__ocml_", "__ockl_", "__oclc_"]) {
        Some(
            "is for ROCm's device libraries to define, which only bitcode is linked with: compile \
             what uses it to bitcode, or name libraries that have it with \
             --offlink-rocm-device-libs=DIR",
        )
    } else if begins(&["__kmpc_", "__tgt_", "__omp_", "omp_", "ompx_"]) {
        Some(
            "is for OpenMP's device runtime to define: name its libompdevice.a or \
             libomptarget-….bc with --offlink-device-lib=FILE",
        )
    } else {
        None
    }
}

/// The first few, each with who uses it.
fn list(symbols: &[Undefined]) -> String {
    const SHOWN: usize = 5;
    let mut parts: Vec<String> = symbols
        .iter()
        .take(SHOWN)
        .map(|undefined| match undefined.used_by.as_str() {
            "" => format!("'{}'", undefined.symbol),
            user => format!("'{}' (used by '{user}')", undefined.symbol),
        })
        .collect();
    if symbols.len() > SHOWN {
        parts.push(format!("and {} more", symbols.len() - SHOWN));
    }
    parts.join(", ")
}

/// The undefined symbols that a tool named, with the users that LLVM knows.
pub(super) fn with_users(symbols: Vec<String>, known: &[Undefined]) -> Vec<Undefined> {
    symbols
        .into_iter()
        .map(|symbol| {
            let used_by = known
                .iter()
                .find(|undefined| undefined.symbol == symbol)
                .map(|undefined| undefined.used_by.clone())
                .unwrap_or_default();
            Undefined { symbol, used_by }
        })
        .collect()
}
