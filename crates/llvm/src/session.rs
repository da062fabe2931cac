//! What all pieces of LLVM's work have in common: a thread, a context, and who hears what LLVM says.

use std::mem;

use inkwell::context::Context;
use inkwell::llvm_sys::linker::LLVMLinkModules2;
use inkwell::memory_buffer::MemoryBuffer;
use inkwell::module::Module as LinkedModule;
use inkwell::targets::TargetMachine;

use crate::bitcode::Identification;
use crate::diagnostics::Diagnostics;
use crate::error::Error;
use crate::fault::Fault;
use crate::library::Library;
use crate::options::{Module, Options};
use crate::worker::{self, Stopped};
use crate::{libraries, machine};

/// The name of modules made here, which can turn up in the output and so can't be a path.
pub(crate) const MODULE_NAME: &str = "offlink";

/// One piece of work of LLVM's, in a context of its own.
pub(crate) struct Session<'a> {
    pub library: &'static Library,
    pub options: &'a Options,
    pub diagnostics: &'a Diagnostics,
}

/// Runs `work` on a thread of its own, in a new context. `declared_ptx` is told if LLVM gives up.
pub(crate) fn run<T: Send + 'static>(
    library: &'static Library,
    options: Options,
    declared_ptx: Option<u32>,
    work: impl FnOnce(&Session<'_>, &Context) -> Result<T, Error> + Send + 'static,
) -> Result<T, Error> {
    check_strings(&options)?;
    let triple = options.triple.clone();
    let outcome = worker::run(move || {
        let diagnostics = Diagnostics::default();
        let context = Context::create();
        // SAFETY: the collector was made before the context, so it is dropped after it, and nothing moves it.
        unsafe { diagnostics.collect(&context) };
        let session = Session {
            library,
            options: &options,
            diagnostics: &diagnostics,
        };
        work(&session, &context)
    });
    outcome.unwrap_or_else(|stopped| {
        Err(match stopped {
            Stopped::Fault(Fault::Fatal(message)) => Error::Fatal {
                triple,
                message,
                declared_ptx,
            },
            Stopped::Fault(Fault::MissingSymbol(symbol)) => Error::MissingSymbol {
                symbol,
                library: library.path().to_owned(),
                version: library.version(),
            },
            Stopped::Spawn(error) => Error::Thread(error),
            Stopped::Panic => Error::Panic { triple },
        })
    })
}

/// LLVM takes these up to the first NUL.
fn check_strings(options: &Options) -> Result<(), Error> {
    for (what, value) in [
        ("triple", &options.triple),
        ("CPU", &options.cpu),
        ("feature list", &options.features),
        (
            "pass pipeline",
            options.passes.as_ref().unwrap_or(&String::new()),
        ),
    ] {
        if value.contains('\0') {
            return Err(Error::Nul {
                what,
                value: value.clone(),
            });
        }
    }
    Ok(())
}

impl Session<'_> {
    /// What the options describe.
    pub(crate) fn machine(&self) -> Result<TargetMachine, Error> {
        self.create(self.options)
    }

    /// For what is the same for all processors of the triple.
    pub(crate) fn machine_of_triple(&self) -> Result<TargetMachine, Error> {
        self.create(&Options {
            cpu: String::new(),
            features: String::new(),
            ..self.options.clone()
        })
    }

    fn create(&self, options: &Options) -> Result<TargetMachine, Error> {
        machine::create(options).map_err(|message| Error::Target {
            triple: self.options.triple.clone(),
            message,
            library: self.library.path().to_owned(),
            version: self.library.version(),
        })
    }

    pub(crate) fn parse<'c>(
        &self,
        context: &'c Context,
        module: &Module,
    ) -> Result<LinkedModule<'c>, Error> {
        let buffer = MemoryBuffer::create_from_memory_range(&module.bitcode, MODULE_NAME);
        let parsed = LinkedModule::parse_bitcode_from_buffer(&buffer, context)
            .map_err(|message| self.unreadable(module, message.to_string()))?;
        self.check(module, &parsed)?;
        Ok(parsed)
    }

    /// Reads the list of a module's globals; bodies are read as they are linked.
    pub(crate) fn open<'c>(
        &self,
        context: &'c Context,
        module: &'c Module,
    ) -> Result<LinkedModule<'c>, Error> {
        let opened = libraries::open(module, context)
            .ok_or_else(|| self.unreadable(module, self.diagnostics.take_errors().join("; ")))?;
        self.check(module, &opened)?;
        Ok(opened)
    }

    /// Whether a module was read well and is for the target.
    fn check(&self, module: &Module, parsed: &LinkedModule<'_>) -> Result<(), Error> {
        let errors = self.diagnostics.take_errors();
        if !errors.is_empty() {
            return Err(self.unreadable(module, errors.join("; ")));
        }
        let found = parsed.get_triple();
        let found = found.as_str().to_string_lossy();
        // Generic device libraries leave out the vendor or name another, and some have no triple at all.
        if !found.is_empty() && arch(&found) != arch(&self.options.triple) {
            return Err(Error::Triple {
                module: module.name.clone(),
                found: found.into_owned(),
                wanted: self.options.triple.clone(),
            });
        }
        Ok(())
    }

    fn unreadable(&self, module: &Module, message: String) -> Error {
        Error::Bitcode {
            module: module.name.clone(),
            message,
            producer: Identification::read(&module.bitcode)
                .ok()
                .map(|identification| identification.producer),
            library: self.library.path().to_owned(),
            version: self.library.version(),
        }
    }

    pub(crate) fn link(
        &self,
        image: &LinkedModule<'_>,
        parsed: LinkedModule<'_>,
        module: &Module,
    ) -> Result<(), Error> {
        let source = parsed.as_mut_ptr();
        mem::forget(parsed);
        // SAFETY: both modules are alive and of one context; the call takes over the second, which was given up.
        let failed = unsafe { LLVMLinkModules2(image.as_mut_ptr(), source) } != 0;
        let errors = self.diagnostics.take_errors();
        if failed || !errors.is_empty() {
            return Err(Error::Link {
                module: module.name.clone(),
                triple: self.options.triple.clone(),
                message: errors.join("; "),
            });
        }
        Ok(())
    }

    pub(crate) fn drop_dead_code(
        &self,
        machine: &TargetMachine,
        image: &LinkedModule<'_>,
    ) -> Result<(), Error> {
        machine::drop_dead_code(machine, image).map_err(|message| self.failed(message))
    }

    pub(crate) fn verify(&self, image: &LinkedModule<'_>) -> Result<(), Error> {
        image.verify().map_err(|message| Error::Verify {
            triple: self.options.triple.clone(),
            message: message.to_string(),
        })
    }

    /// What LLVM said while it worked on the image, else how it ended.
    pub(crate) fn failed(&self, message: String) -> Error {
        let messages = self.diagnostics.take_errors();
        let triple = self.options.triple.clone();
        if messages.is_empty() {
            Error::Codegen { triple, message }
        } else {
            Error::Diagnostic { triple, messages }
        }
    }
}

fn arch(triple: &str) -> &str {
    match triple.split('-').next().unwrap_or_default() {
        "amd64" => "x86_64",
        // LLVM's main has this name, which may go on with the processor's, for what was `amdgcn`.
        arch if arch.starts_with("amdgpu") => "amdgcn",
        arch => arch,
    }
}
