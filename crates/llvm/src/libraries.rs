//! Device libraries: bitcode of which a link takes what its code needs and nothing else.

use std::collections::HashSet;
use std::error::Error as StdError;
use std::mem;
use std::ptr;

use inkwell::context::Context;
use inkwell::llvm_sys::LLVMLinkage::{
    LLVMExternalLinkage, LLVMLinkOnceAnyLinkage, LLVMLinkOnceODRLinkage, LLVMWeakAnyLinkage,
    LLVMWeakODRLinkage,
};
use inkwell::llvm_sys::LLVMVisibility::LLVMHiddenVisibility;
use inkwell::llvm_sys::bit_reader::LLVMGetBitcodeModuleInContext2;
use inkwell::memory_buffer::MemoryBuffer;
use inkwell::module::Module as LinkedModule;

use crate::attributes::Shared;
use crate::ir::{self, Operand};
use crate::library::Library;
use crate::options::{Module, Options};
use crate::undefined::{self, Undefined};

/// What linked code wants of device libraries, and what it says about itself that decides which files of them
/// fit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Wants {
    /// What code that is in use refers to and no module defines, sorted by name; never empty.
    pub undefined: Vec<Undefined>,
    /// The `target-features` that all functions have, in LLVM's notation.
    pub features: String,
    /// All functions flush denormal numbers of single precision to zero (`denormal-fp-math-f32`).
    pub flushes_denormals: bool,
    /// The version of the code object that an AMD image will be, times 100: as the modules say it, else LLVM's
    /// default.
    pub code_object_version: u32,
}

/// Why there are no libraries; [`crate::Error::Libraries`] passes it on.
pub type NoLibraries = Box<dyn StdError + Send + Sync>;

/// Finds the libraries that fit, in the order in which they are linked: a library may need those behind it. It is
/// asked once, from the compile's thread, and only if something is undefined.
pub type FindLibraries = Box<dyn FnOnce(&Wants) -> Result<Vec<Module>, NoLibraries> + Send>;

impl Wants {
    /// What `image` wants, whose dead code is gone; `None` if nothing.
    pub(crate) fn of(
        image: &LinkedModule<'_>,
        shared: &Shared,
        library: &Library,
        options: &Options,
    ) -> Option<Self> {
        let undefined = undefined::undefined(image, &options.triple);
        if undefined.is_empty() {
            return None;
        }
        let flag = |wanted: &[u8]| {
            ir::named_metadata(image, c"llvm.module.flags")
                .iter()
                .find_map(|flag| match flag.as_slice() {
                    [_, Operand::String(name), Operand::Integer(value)] if *name == wanted => {
                        u32::try_from(*value).ok()
                    }
                    _ => None,
                })
        };
        // LLVM's default went from 5 to 6 with its release 20; clang always says the version.
        let default = if library.version().major < 20 {
            500
        } else {
            600
        };
        Some(Self {
            undefined,
            features: shared.features().to_owned(),
            flushes_denormals: shared.flushes_denormals(),
            code_object_version: flag(b"amdhsa_code_object_version")
                .or_else(|| flag(b"amdgpu_code_object_version"))
                .unwrap_or(default),
        })
    }
}

/// Reads no more of a library than its list of globals; a body is read when it is linked. `None` if LLVM can't,
/// and then has told why through the context.
pub(crate) fn open<'c>(module: &'c Module, context: &'c Context) -> Option<LinkedModule<'c>> {
    let buffer = MemoryBuffer::create_from_memory_range(&module.bitcode, &module.name);
    let mut opened = ptr::null_mut();
    // SAFETY: context and bytes are alive for `'c`; the call takes the buffer over, which is given up here.
    unsafe {
        let failed =
            LLVMGetBitcodeModuleInContext2(context.raw(), buffer.as_mut_ptr(), &mut opened) != 0;
        mem::forget(buffer);
        (!failed).then(|| LinkedModule::new(opened))
    }
}

/// Makes linking take of a library only what `image` refers to, and what that refers to in turn.
///
/// LLVM links a definition that may be dropped when nothing needs it (`linkonce`) only where something does. Hidden,
/// it ends up as part of the image that nobody outside can name, as in code that clang has linked a library into.
pub(crate) fn make_optional(library: &LinkedModule<'_>) {
    let used: HashSet<_> = ir::referred_to_by(library, &[b"llvm.used", b"llvm.compiler.used"])
        .into_iter()
        .collect();
    for global in ir::globals(library) {
        let optional = matches!(
            global.linkage(),
            LLVMExternalLinkage
                | LLVMWeakAnyLinkage
                | LLVMWeakODRLinkage
                | LLVMLinkOnceAnyLinkage
                | LLVMLinkOnceODRLinkage
        );
        if optional && !global.is_declaration() && !used.contains(&global) {
            global.drop_comdat();
            global.set_linkage(LLVMLinkOnceODRLinkage);
            global.set_visibility(LLVMHiddenVisibility);
        }
    }
}
