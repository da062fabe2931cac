//! From linked bitcode to the code of one image.

use bytes::Bytes;
use inkwell::context::Context;
use inkwell::module::Module as LinkedModule;
use inkwell::targets::TargetMachine;

use crate::attributes::Shared;
use crate::error::Error;
use crate::libraries::{FindLibraries, Wants};
use crate::library::Library;
use crate::link::{Linked, link};
use crate::options::{Compiled, Module, Options};
use crate::session::{self, MODULE_NAME, Session};
use crate::split::{self, Parts, Split};
use crate::steps::Steps;
use crate::{attributes, kernels, libraries, machine, math, retain, undefined};

/// Links `modules` in order, keeps what the host can look up, optimises and emits code for one target: [`link()`] and
/// [`compile_linked`] in one.
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
    let linked = link(library, modules, &options)?;
    match compile_linked(&linked, find, options, Split::Never)? {
        Outcome::Whole(mut compiled) => {
            compiled.steps.splice(..0, linked.steps().iter().copied());
            compiled
                .warnings
                .splice(..0, linked.warnings().iter().cloned());
            Ok(compiled)
        }
        Outcome::Parts(_) => unreachable!("nothing is split that is never to be"),
    }
}

/// What [`compile_linked`] came to.
#[derive(Debug)]
pub enum Outcome {
    /// The code.
    Whole(Compiled),
    /// The module, not yet compiled.
    Parts(Parts),
}

/// Makes code of `linked`, with what `find` gives as in [`compile_with_libraries`].
///
/// Code for NVIDIA's GPUs that is big in the sense of `split` is not compiled: it is returned in parts, each of which
/// [`compile_part`] makes PTX of. nvlink joins the relocatable cubins of all parts to an image of the same meaning.
///
/// What the parts are depends on what is linked and on the options alone. A big module that can't be split is compiled,
/// and a warning says why.
///
/// # Errors
/// As [`compile_with_libraries`].
///
/// # Panics
/// If `linked` is for other options, by [`Linked::is_for`].
pub fn compile_linked(
    linked: &Linked,
    find: FindLibraries,
    options: Options,
    split: Split,
) -> Result<Outcome, Error> {
    assert!(linked.is_for(&options), "linked with other options");
    let (library, declared_ptx) = (linked.library, linked.declared_ptx);
    let linked = linked_module(&linked.bitcode);
    session::run(library, options, declared_ptx, move |session, context| {
        let mut outcome = compile_in(session, context, &linked, find, split)?;
        match &mut outcome {
            Outcome::Whole(compiled) => compiled.declared_ptx = declared_ptx,
            Outcome::Parts(parts) => parts.declared_ptx = declared_ptx,
        }
        Ok(outcome)
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
    let (library, options, declared_ptx) =
        (parts.library, parts.options.clone(), parts.declared_ptx);
    session::run(library, options, declared_ptx, move |session, context| {
        cut_in(session, context, &parts, part)
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
    let (library, declared_ptx) = (parts.library, parts.declared_ptx);
    session::run(library, options, declared_ptx, move |session, context| {
        let mut steps = Steps::begin();
        let machine = session.machine()?;
        let image = session.parse(context, &linked_module(&bitcode))?;
        machine::adopt(&machine, &image);
        let mut compiled = session.finish(&machine, &image, &mut steps)?;
        compiled.declared_ptx = declared_ptx;
        compiled.steps = steps.done();
        Ok(compiled)
    })
}

/// Bitcode that LLVM has written here.
fn linked_module(bitcode: &Bytes) -> Module {
    Module {
        name: "the linked module".into(),
        bitcode: bitcode.clone(),
    }
}

fn compile_in(
    session: &Session<'_>,
    context: &Context,
    linked: &Module,
    find: FindLibraries,
    split: Split,
) -> Result<Outcome, Error> {
    let mut steps = Steps::begin();
    let options = session.options;
    let machine = session.machine()?;
    let image = session.parse(context, linked)?;
    machine::adopt(&machine, &image);
    attributes::retarget(&image, options);
    math::call_libraries(&image, options);
    session.link_libraries(context, &machine, &image, find)?;
    steps.end("read");
    let mut stays_whole = None;
    if split::is_big(&image, options, split) {
        match split::plan(session.library, &image, options, split) {
            Ok(mut parts) => {
                parts.warnings = session.diagnostics.take_warnings();
                steps.end("split");
                parts.steps = steps.done();
                return Ok(Outcome::Parts(parts));
            }
            Err(whole) => stays_whole = Some(format!("the code is not split: {whole}")),
        }
    }
    let mut compiled = session.finish(&machine, &image, &mut steps)?;
    compiled.steps = steps.done();
    compiled.warnings.extend(stays_whole);
    Ok(Outcome::Whole(compiled))
}

fn cut_in(
    session: &Session<'_>,
    context: &Context,
    parts: &Parts,
    part: usize,
) -> Result<Vec<u8>, Error> {
    let whole = linked_module(&parts.bitcode);
    let machine = session.machine()?;
    let image = context.create_module(MODULE_NAME);
    machine::adopt(&machine, &image);
    let opened = session.open(context, &whole)?;
    machine::adopt(&machine, &opened);
    split::prepare(&opened, parts, part);
    session.link(&image, opened, &whole)?;
    split::return_lent(&image, parts, part);
    session.verify(&image)?;
    Ok(image.write_bitcode_to_memory().as_slice().to_vec())
}

impl Session<'_> {
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
