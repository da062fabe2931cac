//! Many bitcode modules become one, which serves every GPU of their triple.

use bytes::Bytes;
use inkwell::context::Context;

use crate::error::Error;
use crate::library::Library;
use crate::options::{Module, Options};
use crate::session::{self, MODULE_NAME, Session};
use crate::steps::{Step, Steps};
use crate::{attributes, machine, retain};

/// Linked bitcode modules, of which code for any number of targets can be made, by
/// [`compile_linked`](crate::compile_linked).
///
/// A parsed module belongs to one thread, so that what they share is bitcode again: of what the targets need, and
/// nothing else.
#[derive(Debug, Clone)]
pub struct Linked {
    /// The library that linked it, which reads what it has written.
    pub(crate) library: &'static Library,
    pub(crate) bitcode: Bytes,
    /// What it was linked with.
    options: Options,
    /// The highest PTX version that a function asks for.
    pub(crate) declared_ptx: Option<u32>,
    steps: Vec<Step>,
    warnings: Vec<String>,
}

impl Linked {
    /// Whether code can be made of it with these options.
    pub fn is_for(&self, options: &Options) -> bool {
        self.options.link_alike(options)
    }

    /// How long linking took.
    pub fn steps(&self) -> &[Step] {
        &self.steps
    }

    /// LLVM's warnings, in the order in which they came.
    pub fn warnings(&self) -> &[String] {
        &self.warnings
    }
}

/// Links `modules` in order and keeps what the host can look up, and what that needs.
///
/// Equal modules give an equal result, wherever and whenever; [`Module::name`] has no influence, nor has anything in
/// `options` that [`Options::link_alike`] doesn't look at. For threads, damaged files and what is printed see
/// [`compile`](crate::compile).
///
/// # Errors
/// [`Error::Bitcode`], [`Error::Triple`], [`Error::Link`], [`Error::Verify`], and those that tell of LLVM's end.
pub fn link(
    library: &'static Library,
    modules: Vec<Module>,
    options: &Options,
) -> Result<Linked, Error> {
    session::run(library, options.clone(), None, move |session, context| {
        link_in(session, context, &modules)
    })
}

fn link_in(session: &Session<'_>, context: &Context, modules: &[Module]) -> Result<Linked, Error> {
    let mut steps = Steps::begin();
    let options = session.options;
    let machine = session.machine_of_triple()?;
    let image = context.create_module(MODULE_NAME);
    machine::adopt(&machine, &image);
    let mut declared_ptx = None;
    for module in modules {
        let parsed = session.parse(context, module)?;
        declared_ptx = declared_ptx.max(attributes::declared_ptx(&parsed));
        machine::adopt(&machine, &parsed);
        retain::promote(&parsed, options);
        session.link(&image, parsed, module)?;
    }
    session.verify(&image)?;
    retain::internalise(&image, options);
    session.drop_dead_code(&machine, &image)?;
    let bitcode = Bytes::copy_from_slice(image.write_bitcode_to_memory().as_slice());
    steps.end("LLVM link");
    Ok(Linked {
        library: session.library,
        bitcode,
        options: options.clone(),
        declared_ptx,
        steps: steps.done(),
        warnings: session.diagnostics.take_warnings(),
    })
}
