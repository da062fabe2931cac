//! Big modules in parts that are compiled side by side, each with some of the kernels and all that those reach.
//!
//! What the parts must not have twice lives in one of them and is declared in the others: variables that can change,
//! functions and constants whose address may be known, and whatever was visible before. A function that is only
//! called is copied, and so is static shared memory, of which each kernel has its own, unless a function behind a
//! pointer uses it as well.
//!
//! This is done for NVIDIA only, where nvlink joins the parts. The metadata of kernels in AMD's code objects is one
//! note a file, which lld does not join.

mod cut;
mod homes;
mod partition;
mod references;

use bytes::Bytes;
use inkwell::module::Module;

use crate::ir::{self, Global, Operand};
use crate::kernels;
use crate::library::Library;
use crate::options::{Emit, Keep, Options};
use crate::steps::Step;
use crate::undefined::text;
use homes::Homes;
use partition::{Kernel, hash};
use references::{Number, References};

pub(crate) use cut::{prepare, return_lent};

/// Whether a compile may be split, and how far.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Split {
    /// All in one.
    Never,
    /// Into parts of about this many instructions, if there are more than twice as many. Parts of big modules are
    /// bigger, so that there are some dozens of them.
    Parts(u64),
    /// Every kernel by itself, however small: to try what splitting does.
    EachKernel,
}

/// A linked module that is to be compiled in parts, by [`crate::cut_part`] and [`crate::compile_part`].
#[derive(Debug, Clone)]
pub struct Parts {
    /// The library that linked it, which reads what it has written.
    pub(crate) library: &'static Library,
    /// The linked module, before the optimiser.
    pub(crate) bitcode: Bytes,
    /// What it is compiled for.
    pub(crate) options: Options,
    /// Every definition that must not be copied.
    pub(crate) owned: Vec<Owned>,
    weights: Vec<u64>,
    kernels: Vec<String>,
    pub(crate) warnings: Vec<String>,
    /// What was done so far.
    pub(crate) steps: Vec<Step>,
    /// [`crate::Compiled::declared_ptx`] of the modules.
    pub(crate) declared_ptx: Option<u32>,
}

/// A definition that one part has and the others don't copy.
#[derive(Debug, Clone)]
pub(crate) struct Owned {
    /// Its name in the linked module.
    pub name: Vec<u8>,
    /// The part that has it.
    pub part: usize,
    /// The other parts may look at its body, which is the same wherever it runs.
    pub is_lent: bool,
}

impl Parts {
    /// The instructions of each part, before the optimiser; there are at least two parts.
    pub fn weights(&self) -> &[u64] {
        &self.weights
    }

    /// The kernels of all parts, sorted.
    pub fn kernels(&self) -> &[String] {
        &self.kernels
    }

    /// Whether a part has a symbol that others may name.
    pub fn defines(&self, symbol: &str) -> bool {
        self.owned
            .iter()
            .any(|owned| owned.name == symbol.as_bytes())
    }

    /// How long linking and splitting took.
    pub fn steps(&self) -> &[Step] {
        &self.steps
    }

    /// LLVM's warnings about the link of the modules.
    pub fn warnings(&self) -> &[String] {
        &self.warnings
    }
}

/// Why a module that is big enough stays whole.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Whole {
    /// LLVM's OpenMP passes change variables and kernels together.
    #[error("it is OpenMP's")]
    OpenMp,
    /// Nobody knows what it defines and uses.
    #[error("it has assembly outside of functions")]
    Assembly,
    /// An alias and what it stands for can't be apart.
    #[error("'{0}' is an alias")]
    Alias(String),
    /// The attribute would be lost where the variable is only declared.
    #[error("'{0}' is a managed variable, a texture or a surface")]
    Annotated(String),
    /// A declaration does not tell a kernel from a function.
    #[error("device code refers to the kernel '{0}'")]
    UsedKernel(String),
    /// Copies would cost more than is won.
    #[error("its kernels share most of their code")]
    Shared,
}

/// Whether `module`, which is linked and internalised, is big enough for parts.
pub(crate) fn is_big(module: &Module<'_>, options: &Options, split: Split) -> bool {
    let fits = options.triple.starts_with("nvptx")
        && options.emit == Emit::Assembly
        && options.keep != Keep::Linkable;
    fits && match split {
        Split::Never => false,
        Split::EachKernel => kernels::kernels(module).len() > 1,
        Split::Parts(target) => {
            let weight: u64 = ir::globals(module)
                .into_iter()
                .map(Global::instruction_count)
                .sum();
            weight > target.saturating_mul(2)
        }
    }
}

/// Decides on the parts of `module`, whose dead code is gone, and makes it ready for [`prepare`]: what parts share gets
/// names that other code can't have.
pub(crate) fn plan(
    library: &'static Library,
    module: &Module<'_>,
    options: &Options,
    split: Split,
) -> Result<Parts, Whole> {
    refuse(module)?;
    let references = References::of(module);
    let kernels = kernels::kernels(module);
    let numbers: Vec<Number> = kernels
        .iter()
        .filter_map(|kernel| references.number(*kernel))
        .collect();
    if let Some(number) = numbers.iter().find(|number| references.is_used(**number)) {
        return Err(Whole::UsedKernel(text(
            references.definitions[*number].name(),
        )));
    }
    let sizes: Vec<u64> = references
        .definitions
        .iter()
        .map(|global| global.instruction_count())
        .collect();
    let kernels_of: Vec<&[Number]> = match split {
        Split::Never => return Err(Whole::Shared),
        Split::EachKernel => numbers.chunks(1).collect(),
        Split::Parts(target) => {
            let weighed: Vec<Kernel> = numbers
                .iter()
                .map(|number| weigh(*number, &references, &sizes))
                .collect();
            let target = target.max(partition::least_of_big(sizes.iter().sum()));
            let parts = partition::partition(&weighed, target);
            parts.into_iter().map(|part| &numbers[part]).collect()
        }
    };
    if kernels_of.len() < 2 {
        return Err(Whole::Shared);
    }
    let mut names: Vec<String> = kernels.iter().map(|kernel| text(kernel.name())).collect();
    names.sort();
    let homes = Homes::find(module, &references, &kernels_of, &sizes);
    let (owned, weights) = homes.publish(references);
    Ok(Parts {
        library,
        bitcode: Bytes::copy_from_slice(module.write_bitcode_to_memory().as_slice()),
        options: options.clone(),
        owned,
        weights,
        kernels: names,
        warnings: Vec::new(),
        steps: Vec::new(),
        declared_ptx: None,
    })
}

/// What can't be split without a change of its meaning.
fn refuse(module: &Module<'_>) -> Result<(), Whole> {
    let has_flag = |name: &[u8]| {
        ir::named_metadata(module, c"llvm.module.flags")
            .iter()
            .any(|flag| matches!(flag.get(1), Some(Operand::String(flag)) if *flag == name))
    };
    if has_flag(b"openmp") || has_flag(b"openmp-device") {
        return Err(Whole::OpenMp);
    }
    if ir::has_assembly(module) {
        return Err(Whole::Assembly);
    }
    let is_alias = |global: &Global<'_>| !global.is_function() && !global.is_variable();
    if let Some(alias) = ir::globals(module).into_iter().find(is_alias) {
        return Err(Whole::Alias(text(alias.name())));
    }
    for annotation in ir::named_metadata(module, c"nvvm.annotations") {
        if let Some(Operand::Global(global)) = annotation.first()
            && global.is_variable()
        {
            return Err(Whole::Annotated(text(global.name())));
        }
    }
    Ok(())
}

/// The functions that a kernel reaches. What stands in a variable that can change is not compiled with the kernel.
fn weigh(kernel: Number, references: &References<'_>, sizes: &[u64]) -> Kernel {
    let mut reach = Vec::new();
    references.reach([kernel], |number| {
        let global = references.definitions[number];
        if global.is_function() {
            reach.push((number, sizes[number]));
        }
        global.is_function() || global.is_constant()
    });
    Kernel {
        hash: hash(references.definitions[kernel].name()),
        reach,
    }
}
