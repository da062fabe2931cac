//! The library that OpenMP's images are registered with: the one that the line names
//! has to read the program's entries, and where nothing brings one it is added to the
//! host link.

use super::host::Host;
use super::scan::{Item, Scanned};
use super::select::Entries;
use super::symbols;
use crate::loader::Loader;
use crate::mapped_file;
use crate::options::{Choice, strip_prefix};
use crate::request::{InputName, OutputKind, Request, Style};
use crate::toolchain::Toolchain;
use crate::toolchain::omptarget::{self, Omptarget, OmptargetError, Wanted};
use offlink_bundle::entry::Generation;
use offlink_bundle::host_object::Platform;
use offlink_bundle::offload_binary::OffloadKind;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use thiserror::Error;

/// What the registration code calls.
pub const REGISTER: &str = "__tgt_register_lib";

/// The line's runtime is too old for the entries.
#[derive(Debug, Error)]
#[error(
    "'{}' is of LLVM {version} and does not read the offload entries of '{origin}', which \
     are those of {}; link with the libomptarget of that clang",
    library.display(),
    entries.compilers()
)]
pub struct TooOld {
    library: PathBuf,
    version: u32,
    origin: String,
    entries: Generation,
}

/// Checks the libraries of the line against the entries for OpenMP. A library that
/// does not tell its version is taken.
///
/// # Errors
/// [`TooOld`] for the first that does not read them.
pub fn check(scanned: &Scanned, entries: &Entries) -> Result<(), TooOld> {
    let Some((origin, entry)) = entries.first(OffloadKind::OpenMp) else {
        return Ok(());
    };
    for item in &scanned.items {
        let Item::SharedLibrary(library) = item else {
            continue;
        };
        if !library.file_name().is_some_and(omptarget::is_name) {
            continue;
        }
        let found = Omptarget::at(library, "the line");
        if let (Some((version, _)), false) = (found.version, found.reads(entry.generation)) {
            return Err(TooOld {
                library: library.clone(),
                version,
                origin: origin.clone(),
                entries: entry.generation,
            });
        }
    }
    Ok(())
}

/// The arguments for the host linker, in the style of the line, that bring the
/// runtime of these kinds: none without OpenMP among them, if the result is linked
/// once more, or for hosts other than Linux.
///
/// # Errors
/// [`OmptargetError`] when a library is wanted and there is none.
pub fn arguments<'a>(
    kinds: impl IntoIterator<Item = &'a OffloadKind>,
    entries: &Entries,
    request: &Request,
    host: &Host,
    scanned: &Scanned,
    toolchain: &Toolchain,
) -> Result<Vec<OsString>, OmptargetError> {
    let is_linux = host.platform.and_then(Platform::gnu_name).is_some();
    let is_openmp = |kind: &OffloadKind| *kind == OffloadKind::OpenMp;
    let is_relocatable = request.line.output_kind == OutputKind::Relocatable;
    if !kinds.into_iter().any(is_openmp) || is_relocatable || !is_linux {
        return Ok(Vec::new());
    }
    let options = &request.options;
    let mut arguments = Vec::new();
    let mut run_path = None;
    if options.omptarget != Choice::None && !is_brought(request, scanned) {
        let library = toolchain.omptarget(&Wanted {
            choice: &options.omptarget,
            platform: host.platform,
            entries: entries.form(OffloadKind::OpenMp),
            line: &request.line,
        })?;
        // What this machine's loader finds must not decide over a hermetic output.
        if !options.device.tools.is_hermetic() {
            let loader = Loader::new(host.platform, request.line.sysroot.as_deref());
            run_path = library.run_path(&loader);
        }
        // One without a name of its own is looked for by this path at run time.
        let path = std::path::absolute(&library.path).unwrap_or(library.path);
        arguments.push(path.into());
    }
    match &options.rpath {
        Choice::Found => {}
        Choice::None => run_path = None,
        Choice::Named(dir) => run_path = Some(dir.clone()),
    }
    if let Some(dir) = run_path {
        // A folder's name may hold a comma, at which -Wl would split it.
        for word in ["-rpath".into(), dir.into_os_string()] {
            if request.style == Style::Cc {
                arguments.push("-Xlinker".into());
            }
            arguments.push(word);
        }
    }
    Ok(arguments)
}

/// Whether the line or one of its inputs brings a runtime.
fn is_brought(request: &Request, scanned: &Scanned) -> bool {
    let inputs = &request.line.inputs;
    inputs.iter().any(|input| names_it(&input.name))
        || request.arguments.iter().any(|argument| is_clangs(argument))
        || scanned.items.iter().any(defines_it)
}

fn names_it(name: &InputName) -> bool {
    match name {
        InputName::File(path) => path.file_name().is_some_and(is_file_name),
        InputName::Library(name) => match strip_prefix(name, ":") {
            Some(file) => is_file_name(file),
            None => name == "omptarget",
        },
    }
}

fn is_file_name(name: &OsStr) -> bool {
    omptarget::is_name(name) || name == "libomptarget.a"
}

/// Options with which clang, as the driver of the host link, adds its own.
fn is_clangs(argument: &OsStr) -> bool {
    ["-fopenmp-targets=", "--offload-arch="]
        .iter()
        .any(|option| strip_prefix(argument, option).is_some())
}

/// A file that can't be read defines nothing here; the host linker will tell.
fn defines_it(item: &Item) -> bool {
    match item {
        Item::Object(object) => symbols::of_code(&object.data)
            .defined
            .iter()
            .any(|name| name == REGISTER),
        Item::Archive(archive) => archive.index().is_ok_and(|index| {
            let mut names = index.iter().flatten();
            names.any(|(name, _)| name == REGISTER)
        }),
        Item::SharedLibrary(path) => library_defines_it(path),
        Item::Device(_) => false,
    }
}

/// Whether a shared library is a runtime, whatever it is called.
pub fn library_defines_it(path: &Path) -> bool {
    mapped_file::map(path).is_ok_and(|library| symbols::shared_library_defines(&library, REGISTER))
}
