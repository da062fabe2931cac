//! What goes into a compile and what comes out.

use bytes::Bytes;

use crate::steps::Step;
use crate::undefined::Undefined;

/// A bitcode module to be linked.
#[derive(Debug, Clone)]
pub struct Module {
    /// What errors call it, for example `libx.a(m.o)`. It has no influence on the output.
    pub name: String,
    /// LLVM bitcode, raw or in the wrapper.
    pub bitcode: Bytes,
}

/// How hard LLVM tries.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum OptLevel {
    /// Only what is needed to be correct, always-inline functions inlined.
    O0,
    /// The link-time passes that make no code bigger.
    O1,
    /// LLVM's default.
    O2,
    /// Everything.
    O3,
}

/// Which definitions stay although nothing in the modules uses them.
///
/// Under all settings, kernels of GPU triples, [`Options::exports`], the operands of `llvm.used` and
/// `llvm.compiler.used`, and externally initialised variables stay.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Keep {
    /// No others: the modules are all of the image.
    Kernels,
    /// Also every definition of external linkage that isn't hidden: for images of CPUs, and where native
    /// objects join the image and may use what the modules define. A hidden definition that such an object
    /// uses has to stand in [`Options::exports`].
    Visible,
    /// Also every definition that isn't local, hidden or not: the output is linked once more.
    Linkable,
}

/// The form of the output.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Emit {
    /// Assembly text; PTX for NVPTX.
    Assembly,
    /// A relocatable object; a module for SPIR-V. LLVM has none for NVPTX.
    Object,
    /// Bitcode of the linked and optimised module.
    Bitcode,
}

/// What to compile for, and how.
#[derive(Debug, Clone)]
pub struct Options {
    /// The target triple, for example `nvptx64-nvidia-cuda`.
    pub triple: String,
    /// The CPU or GPU by LLVM's name, for example `sm_90` or `gfx90a`. LLVM takes any name and warns on
    /// standard error about those it doesn't know, so check it first.
    pub cpu: String,
    /// Target features in LLVM's notation, for example `+ptx78`; may be empty.
    pub features: String,
    /// For the passes and for code generation alike.
    pub opt_level: OptLevel,
    /// A pipeline in the notation of `opt -passes` in place of the level's. What images need to be correct is
    /// done before and after it all the same.
    pub passes: Option<String>,
    /// Symbols, byte for byte as in the modules, whose definitions stay and can be found by name in the image.
    /// Names without a definition are passed over, and so are definitions of internal linkage, of which each
    /// module may have its own.
    pub exports: Vec<String>,
    /// Which other definitions stay.
    pub keep: Keep,
    /// What to make.
    pub emit: Emit,
}

impl Options {
    /// Whether bitcode is linked to the same module with these options and `other`: [`triple`](Self::triple),
    /// [`exports`](Self::exports) and [`keep`](Self::keep) are equal.
    pub fn link_alike(&self, other: &Self) -> bool {
        self.triple == other.triple && self.exports == other.exports && self.keep == other.keep
    }
}

/// The outcome of a compile.
#[derive(Debug, Clone)]
pub struct Compiled {
    /// PTX or assembly text, an object file, a SPIR-V module, or bitcode.
    pub code: Vec<u8>,
    /// The kernels that the modules define, sorted; empty for CPU triples.
    pub kernels: Vec<String>,
    /// Everything that other images and the host can find by name, kernels among it, sorted.
    pub defined: Vec<String>,
    /// What the code uses and doesn't define, sorted by name.
    pub undefined: Vec<Undefined>,
    /// LLVM's warnings, in the order in which they came.
    pub warnings: Vec<String>,
    /// The highest PTX version that a function of the modules asked for (its `+ptx78` is 78 here). The
    /// compile ignored it: for NVPTX [`Options::features`] decides.
    pub declared_ptx: Option<u32>,
    /// What the compile took, step by step.
    pub steps: Vec<Step>,
}
