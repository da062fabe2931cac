//! From bitcode modules to the code of one image.

use std::mem;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use bytes::Bytes;
use inkwell::context::Context;
use inkwell::llvm_sys::linker::LLVMLinkModules2;
use inkwell::memory_buffer::MemoryBuffer;
use inkwell::module::Module as LinkedModule;
use inkwell::targets::TargetMachine;

use crate::attributes::Shared;
use crate::bitcode::Identification;
use crate::diagnostics::Diagnostics;
use crate::error::Error;
use crate::fault::Fault;
use crate::libraries::{FindLibraries, Wants};
use crate::library::Library;
use crate::options::{Compiled, Module, Options};
use crate::split::{self, Parts, Split};
use crate::steps::Steps;
use crate::worker::{self, Stopped};
use crate::{attributes, kernels, libraries, machine, math, retain, undefined};

/// The linked module's name, which can turn up in the output and so can't be a path.
const MODULE_NAME: &str = "offlink";

/// Links `modules` in order, keeps what the host can look up, optimises and emits code for one target.
///
/// Equal modules and options give equal code, wherever and whenever; [`Module::name`] has no influence. Any
/// number of compiles may run at the same time, each on a thread of its own that this call starts and waits
/// for. Nothing is printed, but for LLVM's warning about a CPU it doesn't know.
///
/// Files cut short and files of newer LLVMs are errors. LLVM trusts the rest of a file, though: one with
/// flipped bits can make it crash or ask for memory without end, and no caller in the same process can stop
/// that (seen with 19.1.7 and 22.1.8).
///
/// # Errors
/// Every [`Error`]. After [`Error::Fatal`] and [`Error::MissingSymbol`] the memory of the failed compile stays
/// allocated, and its thread asleep, until the process ends.
pub fn compile(
    library: &'static Library,
    modules: Vec<Module>,
    options: Options,
) -> Result<Compiled, Error> {
    compile_with_libraries(library, modules, Box::new(|_| Ok(Vec::new())), options)
}

/// As [`compile`], and `find` gives the device libraries for what the modules leave undefined.
///
/// Of a library only what is needed is linked, none of which can be found by name in the image. Its functions are
/// compiled with the target features and the treatment of denormal numbers that the modules' functions have.
///
/// # Errors
/// As [`compile`], and [`Error::Libraries`] when `find` fails.
pub fn compile_with_libraries(
    library: &'static Library,
    modules: Vec<Module>,
    find: FindLibraries,
    options: Options,
) -> Result<Compiled, Error> {
    match compile_or_split(library, modules, find, options, Split::Never)? {
        Outcome::Whole(compiled) => Ok(compiled),
        Outcome::Parts(_) => unreachable!("nothing is split that is never to be"),
    }
}

/// What [`compile_or_split`] came to.
#[derive(Debug)]
pub enum Outcome {
    /// The code.
    Whole(Compiled),
    /// The linked module, not yet compiled.
    Parts(Parts),
}

/// As [`compile_with_libraries`], but code for NVIDIA's GPUs that is big in the sense of `split` is not compiled: it
/// is returned in parts, each of which [`compile_part`] makes PTX of. nvlink joins the relocatable cubins of all parts
/// to an image of the same meaning.
///
/// What the parts are depends on modules and options alone. A big module that can't be split is compiled, and a warning
/// says why.
///
/// # Errors
/// As [`compile_with_libraries`].
pub fn compile_or_split(
    library: &'static Library,
    modules: Vec<Module>,
    find: FindLibraries,
    options: Options,
    split: Split,
) -> Result<Outcome, Error> {
    check_strings(&options)?;
    let triple = options.triple.clone();
    run(library, triple, None, move |declared_ptx| {
        link_and_emit(library, &modules, find, &options, split, declared_ptx)
    })
}

/// The bitcode of one part of a module, before the optimiser: the same for the same code, whatever is in other parts.
///
/// # Errors
/// As [`compile`].
///
/// # Panics
/// If there is no such part.
pub fn cut_part(parts: &Parts, part: usize) -> Result<Vec<u8>, Error> {
    assert!(part < parts.weights().len(), "there is no part {part}");
    let parts = parts.clone();
    let library = parts.library;
    let triple = parts.options.triple.clone();
    run(library, triple, parts.declared_ptx, move |_| {
        cut(&parts, part)
    })
}

/// Compiles what [`cut_part`] gave to PTX. `features` take the place of [`Options::features`].
///
/// [`Compiled::undefined`] has what other parts define as well, by [`Parts::defines`].
///
/// # Errors
/// As [`compile`].
pub fn compile_part(parts: &Parts, bitcode: Bytes, features: &str) -> Result<Compiled, Error> {
    let options = Options {
        features: features.to_owned(),
        ..parts.options.clone()
    };
    check_strings(&options)?;
    let triple = options.triple.clone();
    let (library, declared_ptx) = (parts.library, parts.declared_ptx);
    run(library, triple, declared_ptx, move |_| {
        let mut compiled = emit_part(library, bitcode, &options)?;
        compiled.declared_ptx = declared_ptx;
        Ok(compiled)
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

/// Runs `work` on a thread of its own; it may raise the declared PTX version that a fatal error tells.
fn run<T: Send + 'static>(
    library: &'static Library,
    triple: String,
    declared_ptx: Option<u32>,
    work: impl FnOnce(&AtomicU32) -> Result<T, Error> + Send + 'static,
) -> Result<T, Error> {
    // The one thing that is wanted from a compile that doesn't come back; 0 stands for none.
    let declared_ptx = Arc::new(AtomicU32::new(declared_ptx.unwrap_or(0)));
    let seen_ptx = Arc::clone(&declared_ptx);
    let outcome = worker::run(move || work(&seen_ptx));
    outcome.unwrap_or_else(|stopped| {
        Err(match stopped {
            Stopped::Fault(Fault::Fatal(message)) => Error::Fatal {
                triple,
                message,
                declared_ptx: some_ptx(&declared_ptx),
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

fn some_ptx(declared: &AtomicU32) -> Option<u32> {
    Some(declared.load(Ordering::Acquire)).filter(|&version| version != 0)
}

fn link_and_emit(
    library: &'static Library,
    modules: &[Module],
    find: FindLibraries,
    options: &Options,
    split: Split,
    declared_ptx: &AtomicU32,
) -> Result<Outcome, Error> {
    let mut steps = Steps::begin();
    let diagnostics = Diagnostics::default();
    let context = Context::create();
    // SAFETY: the collector was made before the context, so it is dropped after it, and nothing moves it.
    unsafe { diagnostics.collect(&context) };
    let session = Session {
        library,
        options,
        diagnostics: &diagnostics,
    };
    // Parsed before there is a machine, whose making is fatal to LLVM if the features don't fit the GPU: the
    // caller then wants to know what the modules ask for.
    let mut all_parsed = Vec::new();
    for module in modules {
        let parsed = session.parse(&context, module)?;
        if let Some(version) = attributes::declared_ptx(&parsed) {
            declared_ptx.fetch_max(version, Ordering::AcqRel);
        }
        all_parsed.push(parsed);
    }
    let machine = session.machine()?;

    let image = context.create_module(MODULE_NAME);
    machine::adopt(&machine, &image);
    for (module, parsed) in modules.iter().zip(all_parsed) {
        machine::adopt(&machine, &parsed);
        retain::promote(&parsed, options);
        session.link(&image, parsed, module)?;
    }
    session.verify(&image)?;
    retain::internalise(&image, options);
    attributes::retarget(&image, options);
    math::call_libraries(&image, options);
    session.link_libraries(&context, &machine, &image, find)?;
    steps.end("LLVM link");
    let declared_ptx = some_ptx(declared_ptx);
    let mut stays_whole = None;
    if split::is_big(&image, options, split) {
        session.drop_dead_code(&machine, &image)?;
        match split::plan(library, &image, options, split) {
            Ok(mut parts) => {
                parts.warnings = diagnostics.take_warnings();
                parts.declared_ptx = declared_ptx;
                steps.end("split");
                parts.steps = steps.done();
                return Ok(Outcome::Parts(parts));
            }
            Err(whole) => stays_whole = Some(format!("the code is not split: {whole}")),
        }
    }
    let mut compiled = session.finish(&machine, &image, &mut steps)?;
    compiled.declared_ptx = declared_ptx;
    compiled.steps = steps.done();
    compiled.warnings.extend(stays_whole);
    Ok(Outcome::Whole(compiled))
}

fn cut(parts: &Parts, part: usize) -> Result<Vec<u8>, Error> {
    let diagnostics = Diagnostics::default();
    let whole = Module {
        name: format!("part {part} of the linked module"),
        bitcode: parts.bitcode.clone(),
    };
    let context = Context::create();
    // SAFETY: as in `link_and_emit`.
    unsafe { diagnostics.collect(&context) };
    let session = Session {
        library: parts.library,
        options: &parts.options,
        diagnostics: &diagnostics,
    };
    let machine = session.machine()?;
    let image = context.create_module(MODULE_NAME);
    machine::adopt(&machine, &image);
    let opened = session.open(&context, &whole)?;
    machine::adopt(&machine, &opened);
    split::prepare(&opened, parts, part);
    session.link(&image, opened, &whole)?;
    split::return_lent(&image, parts, part);
    session.verify(&image)?;
    Ok(image.write_bitcode_to_memory().as_slice().to_vec())
}

fn emit_part(
    library: &'static Library,
    bitcode: Bytes,
    options: &Options,
) -> Result<Compiled, Error> {
    let mut steps = Steps::begin();
    let diagnostics = Diagnostics::default();
    let part = Module {
        name: "a part of the linked module".into(),
        bitcode,
    };
    let context = Context::create();
    // SAFETY: as in `link_and_emit`.
    unsafe { diagnostics.collect(&context) };
    let session = Session {
        library,
        options,
        diagnostics: &diagnostics,
    };
    let machine = session.machine()?;
    let image = session.parse(&context, &part)?;
    machine::adopt(&machine, &image);
    let mut compiled = session.finish(&machine, &image, &mut steps)?;
    compiled.steps = steps.done();
    Ok(compiled)
}

/// What all steps of one compile share.
struct Session<'a> {
    library: &'a Library,
    options: &'a Options,
    diagnostics: &'a Diagnostics,
}

impl Session<'_> {
    fn machine(&self) -> Result<TargetMachine, Error> {
        machine::create(self.options).map_err(|message| Error::Target {
            triple: self.options.triple.clone(),
            message,
            library: self.library.path().to_owned(),
            version: self.library.version(),
        })
    }

    fn parse<'c>(&self, context: &'c Context, module: &Module) -> Result<LinkedModule<'c>, Error> {
        let buffer = MemoryBuffer::create_from_memory_range(&module.bitcode, MODULE_NAME);
        let parsed = LinkedModule::parse_bitcode_from_buffer(&buffer, context)
            .map_err(|message| self.unreadable(module, message.to_string()))?;
        self.check(module, &parsed)?;
        Ok(parsed)
    }

    /// Reads the list of a module's globals; bodies are read as they are linked.
    fn open<'c>(
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

    fn link(
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

    /// Adds what the image needs of device libraries, and asks for them only then.
    fn link_libraries(
        &self,
        context: &Context,
        machine: &TargetMachine,
        image: &LinkedModule<'_>,
        find: FindLibraries,
    ) -> Result<(), Error> {
        if undefined::undefined(image, &self.options.triple).is_empty() {
            return Ok(());
        }
        // Code that nobody calls needs no library.
        self.drop_dead_code(machine, image)?;
        let shared = Shared::of(image);
        let Some(wants) = Wants::of(image, &shared, self.library, self.options) else {
            return Ok(());
        };
        let libraries = find(&wants).map_err(Error::Libraries)?;
        for module in &libraries {
            let opened = self.open(context, module)?;
            machine::adopt(machine, &opened);
            libraries::make_optional(&opened);
            shared.impose(&opened, self.options);
            self.link(image, opened, module)?;
        }
        if !libraries.is_empty() {
            self.verify(image)?;
            retain::internalise(image, self.options);
        }
        Ok(())
    }

    fn drop_dead_code(
        &self,
        machine: &TargetMachine,
        image: &LinkedModule<'_>,
    ) -> Result<(), Error> {
        machine::drop_dead_code(machine, image).map_err(|message| self.failed(message))
    }

    fn verify(&self, image: &LinkedModule<'_>) -> Result<(), Error> {
        image.verify().map_err(|message| Error::Verify {
            triple: self.options.triple.clone(),
            message: message.to_string(),
        })
    }

    /// What LLVM said while it worked on the image, else how it ended.
    fn failed(&self, message: String) -> Error {
        let messages = self.diagnostics.take_errors();
        let triple = self.options.triple.clone();
        if messages.is_empty() {
            Error::Codegen { triple, message }
        } else {
            Error::Diagnostic { triple, messages }
        }
    }

    fn finish(
        &self,
        machine: &TargetMachine,
        image: &LinkedModule<'_>,
        steps: &mut Steps,
    ) -> Result<Compiled, Error> {
        let options = self.options;
        let mut kernels: Vec<String> = Vec::new();
        if kernels::has_kernels(&options.triple) {
            kernels.extend(
                kernels::kernels(image)
                    .into_iter()
                    .map(|kernel| undefined::text(kernel.name())),
            );
            kernels.sort();
        }
        machine::optimise(machine, image, options).map_err(|message| self.failed(message))?;
        steps.end("optimise");
        let undefined = undefined::undefined(image, &options.triple);
        let mut defined: Vec<String> = retain::visible(image)
            .map(|global| undefined::text(global.name()))
            .collect();
        defined.sort();
        let code =
            machine::emit(machine, image, options).map_err(|message| self.failed(message))?;
        steps.end("emit");
        let messages = self.diagnostics.take_errors();
        if !messages.is_empty() {
            return Err(Error::Diagnostic {
                triple: options.triple.clone(),
                messages,
            });
        }
        Ok(Compiled {
            code,
            kernels,
            defined,
            undefined,
            warnings: self.diagnostics.take_warnings(),
            declared_ptx: None,
            steps: Vec::new(),
        })
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
