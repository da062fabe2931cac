//! Device link-time optimisation through a libLLVM that is opened at run time.
//!
//! The crate is built without LLVM. [`Library::open`] opens one by path and makes its C API callable for the
//! whole process; [`compile`] links bitcode modules with it, keeps what a host can look up, optimises, and
//! emits PTX, an object or bitcode; [`assemble()`] makes bitcode of text. [`Identification`] says which LLVM wrote a bitcode file, without needing
//! one, so that a library can be chosen that is able to read it.
//!
//! With the feature `static-llvm` LLVM's static libraries are linked into the program instead, and
//! [`Library::built_in`] is all there is.
//!
//! This crate holds the only foreign calls of offlink. The C API and its meaning are those of LLVM's `llvm-c`
//! headers, as declared by llvm-sys 221 (LLVM 22.1); it was tried with LLVM 19.1.7, 22.1.2, 22.1.4 and 22.1.8.

mod allocator;
mod assemble;
mod attributes;
mod bitcode;
mod bitstream;
mod callseq;
mod configure;
mod device_lto;
mod diagnostics;
mod error;
mod fault;
mod host_module;
mod ir;
mod kernels;
mod libraries;
mod library;
mod link;
mod machine;
mod math;
mod options;
mod retain;
mod session;
mod split;
mod steps;
#[cfg(not(feature = "static-llvm"))]
mod stubs;
mod symbols;
mod undefined;
mod worker;

pub use assemble::{AssembleError, assemble};
pub use bitcode::{BitcodeError, Identification, is_bitcode};
pub use configure::ConfigureError;
pub use device_lto::{
    Outcome, compile, compile_linked, compile_part, compile_with_libraries, cut_part,
};
pub use error::Error;
pub use host_module::{HostEntry, HostModule};
pub use libraries::{FindLibraries, NoLibraries, Wants};
pub use library::{Library, LoadError, Version};
pub use link::{Linked, link};
pub use options::{Compiled, Emit, Keep, Module, OptLevel, Options};
pub use split::{Parts, Split};
pub use steps::Step;
pub use symbols::Symbols;
pub use undefined::Undefined;
