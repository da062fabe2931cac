//! Why a compile failed.

use std::io;
use std::path::PathBuf;

use crate::libraries::NoLibraries;
use crate::library::Version;

/// Why [`crate::compile`] failed.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// LLVM can't read a module, because it is damaged or of a newer LLVM.
    #[error(
        "cannot read the bitcode of {module} ({}) with LLVM {version} ({library}): {message}",
        written_by(producer)
    )]
    Bitcode {
        /// [`crate::Module::name`].
        module: String,
        /// LLVM's reason.
        message: String,
        /// Who wrote the bitcode, where it says so.
        producer: Option<String>,
        /// The library that read it.
        library: PathBuf,
        /// That library's version.
        version: Version,
    },
    /// A module is for another architecture.
    #[error("{module} is for {found}, but the image is for {wanted}")]
    Triple {
        /// [`crate::Module::name`].
        module: String,
        /// The triple that the module names.
        found: String,
        /// [`crate::Options::triple`].
        wanted: String,
    },
    /// A module doesn't go with those before it; most often both define a symbol, which the message names.
    #[error("cannot link {module} for {triple}: {message}")]
    Link {
        /// [`crate::Module::name`].
        module: String,
        /// [`crate::Options::triple`].
        triple: String,
        /// LLVM's reason.
        message: String,
    },
    /// The device libraries that the code needs can't be had.
    #[error(transparent)]
    Libraries(NoLibraries),
    /// The linked module breaks a rule of LLVM IR.
    #[error("the bitcode linked for {triple} is not valid LLVM IR: {message}")]
    Verify {
        /// [`crate::Options::triple`].
        triple: String,
        /// LLVM's findings.
        message: String,
    },
    /// The library can't compile for the triple.
    #[error("LLVM {version} ({library}) cannot compile for {triple}: {message}")]
    Target {
        /// [`crate::Options::triple`].
        triple: String,
        /// LLVM's reason.
        message: String,
        /// The library.
        library: PathBuf,
        /// That library's version.
        version: Version,
    },
    /// LLVM refused to optimise or to emit.
    #[error("LLVM failed on {triple}: {message}")]
    Codegen {
        /// [`crate::Options::triple`].
        triple: String,
        /// LLVM's reason.
        message: String,
    },
    /// LLVM reported errors in the code.
    #[error("errors in the device code for {triple}: {}", messages.join("; "))]
    Diagnostic {
        /// [`crate::Options::triple`].
        triple: String,
        /// LLVM's messages, in the order in which they came; at least one.
        messages: Vec<String>,
    },
    /// LLVM hit what it calls a fatal error. The process and other compiles go on.
    #[error("LLVM gave up on {triple}: {message}")]
    Fatal {
        /// [`crate::Options::triple`].
        triple: String,
        /// LLVM's message.
        message: String,
        /// As in [`crate::Compiled::declared_ptx`], of the modules read until then: a target machine with
        /// this PTX version may succeed where a lower one led here.
        declared_ptx: Option<u32>,
    },
    /// The compile needs a function of the C API that the library lacks.
    #[error(
        "libLLVM {library} ({version}) lacks {symbol}, which LLVM 22.1 has; name a newer libLLVM with --llvm"
    )]
    MissingSymbol {
        /// The function.
        symbol: &'static str,
        /// The library.
        library: PathBuf,
        /// That library's version.
        version: Version,
    },
    /// A string that LLVM takes NUL-terminated holds a NUL.
    #[error("the {what} {value:?} holds a NUL character")]
    Nul {
        /// Which option.
        what: &'static str,
        /// Its value.
        value: String,
    },
    /// The thread for LLVM could not be started.
    #[error("cannot start a thread for LLVM")]
    Thread(#[source] io::Error),
    /// A defect of this crate: the code around LLVM panicked.
    #[error("the thread that compiled for {triple} panicked")]
    Panic {
        /// [`crate::Options::triple`].
        triple: String,
    },
}

fn written_by(producer: &Option<String>) -> String {
    match producer {
        Some(producer) => format!("written by {producer}"),
        None => "of unknown producer".into(),
    }
}
