//! The root folder of an action: a device link with all that it needs, for a machine
//! that has nothing. Each program comes with its shared libraries and their loader, in
//! a folder of its own, so that it runs in an empty root as well as in one that has
//! another C library.

use super::DeviceError;
use super::parcel::{Parcel, stays, text, toolchain_file};
use crate::cache::{Digest, Programs};
use crate::loader::{self, Loader};
use crate::target::Target;
use crate::{files, mapped_file, process};
use bytes::Bytes;
use goblin::elf::Elf;
use offlink_remote::{Action, InputFile};
use std::collections::{BTreeMap, HashMap};
use std::convert::Infallible;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

/// The output of the action.
pub(super) const IMAGE: &str = "image";

const TOOLCHAIN: &str = "offlink.toml";

/// An action, and the inputs' names in it with what the user knows them by.
pub(super) struct Packed {
    pub(super) action: Action,
    pub(super) origins: Vec<(String, String)>,
}

/// What packs the actions of one invocation.
pub(super) struct Packer<'a> {
    /// What remembers digests of programs, if there is a cache.
    programs: Option<&'a Programs>,
    loader: Loader,
    library_path: Option<OsString>,
    /// Programs and libraries, which actions have in common, by path.
    known: Mutex<HashMap<PathBuf, InputFile>>,
    closures: Mutex<HashMap<PathBuf, Closure>>,
}

/// Shared libraries by name; those that were not found are `None`.
type Closure = BTreeMap<String, Option<PathBuf>>;

/// The files below the root.
type Files = BTreeMap<String, InputFile>;

impl<'a> Packer<'a> {
    pub(super) fn new(programs: Option<&'a Programs>) -> Self {
        Self {
            programs,
            loader: Loader::new(None, None),
            library_path: std::env::var_os("LD_LIBRARY_PATH"),
            known: Mutex::default(),
            closures: Mutex::default(),
        }
    }

    /// The link as an action.
    ///
    /// # Errors
    /// That the link can't be run elsewhere, for something that can't be sent.
    pub(super) fn pack(&self, parcel: &Parcel<'_>) -> Result<Packed, DeviceError> {
        let target = parcel.target;
        let mut root = Files::new();
        let mut tools = Vec::new();
        for (key, tool) in &parcel.tools {
            if !tool.launcher.is_empty() {
                return Err(stays(target, &format!("{} has a launcher", tool.name)));
            }
            // lld goes by its name.
            let name = file_name(target, &tool.path)?;
            let words = self.program(key, &name, &tool.path, None, target, &mut root)?;
            tools.push((*key, words));
            files::read(&tool.path);
        }
        let own = process::own_path();
        let llvm = parcel.llvm.as_deref();
        let mut arguments = self.program("offlink", "offlink", &own, llvm, target, &mut root)?;
        if let Some(llvm) = llvm {
            let path = format!("tools/llvm/{}", file_name(target, llvm)?);
            root.insert(path.clone(), self.file(llvm, target)?);
            tools.push(("llvm", vec![path]));
            files::read(llvm);
        }
        let folder = format!("tools/{}", parcel.library_key());
        for library in &parcel.libraries {
            let path = format!("{folder}/{}", file_name(target, library)?);
            root.insert(path.clone(), self.file(library, target)?);
            files::read(library);
            if parcel.library_key() == "libdevice" {
                tools.push(("libdevice", vec![path]));
            }
        }
        if parcel.library_key() != "libdevice" && !parcel.libraries.is_empty() {
            tools.push((parcel.library_key(), vec![folder]));
        }
        let toolchain = toolchain_file(true, &parcel.environment, &tools);
        root.insert(TOOLCHAIN.into(), InputFile::data(toolchain.into()));
        let mut inputs = Vec::new();
        let mut origins = Vec::new();
        for (name, input) in parcel.input_names().zip(parcel.link.inputs()) {
            let name = format!("inputs/{name}");
            root.insert(name.clone(), InputFile::data(input.data.clone()));
            origins.push((name.clone(), input.source.clone()));
            inputs.push(name);
        }
        let linker_arguments = self.linker_arguments(parcel, &mut root)?;
        arguments.push("link".into());
        arguments.extend(parcel.arguments(TOOLCHAIN, &linker_arguments, IMAGE, &inputs)?);
        let action = Action {
            arguments,
            inputs: root,
            outputs: vec![IMAGE.into()],
        };
        Ok(Packed { action, origins })
    }

    /// The arguments for the image's linker with its version script as an input. Folders
    /// of libraries stay among them although nothing is looked for there: nvlink writes
    /// its arguments into cubins.
    fn linker_arguments(
        &self,
        parcel: &Parcel<'_>,
        root: &mut Files,
    ) -> Result<Vec<OsString>, DeviceError> {
        const OPTION: &str = "--version-script=";
        const NAME: &str = "inputs/version-script";
        let mut arguments = Vec::new();
        for argument in &parcel.link.options.linker_arguments {
            let Some(path) = argument.as_bytes().strip_prefix(OPTION.as_bytes()) else {
                arguments.push(argument.clone());
                continue;
            };
            let script = read(parcel.target, Path::new(OsStr::from_bytes(path)))?;
            let name = format!("{NAME}-{}", arguments.len());
            arguments.push(format!("{OPTION}{name}").into());
            root.insert(name, InputFile::data(script));
        }
        Ok(arguments)
    }

    /// Adds a program to `tools/<folder>`, with the shared libraries that it needs and
    /// those of `library`, which it opens; returns the words that start it.
    fn program(
        &self,
        folder: &str,
        name: &str,
        path: &Path,
        library: Option<&Path>,
        target: &Target,
        root: &mut Files,
    ) -> Result<Vec<String>, DeviceError> {
        let program = format!("tools/{folder}/{name}");
        root.insert(program.clone(), self.file(path, target)?);
        let data = read(target, path)?;
        let Ok(elf) = Elf::parse(&data) else {
            let reason = format!("'{}' is no ELF file, such as a script", path.display());
            return Err(stays(target, &reason));
        };
        // A static program has no loader.
        let Some(interpreter) = elf.interpreter else {
            return Ok(vec![program]);
        };
        let libraries = format!("tools/{folder}/lib");
        for user in [Some(path), library].into_iter().flatten() {
            for (soname, found) in self.closure(user) {
                let Some(found) = found else {
                    let reason = format!(
                        "'{soname}', which '{}' needs, is not where the loader looks",
                        user.display()
                    );
                    return Err(stays(target, &reason));
                };
                root.insert(format!("{libraries}/{soname}"), self.file(&found, target)?);
            }
        }
        let interpreter = Path::new(interpreter);
        let loader = format!("{libraries}/{}", file_name(target, interpreter)?);
        root.insert(loader.clone(), self.file(interpreter, target)?);
        Ok(vec![loader, "--library-path".into(), libraries, program])
    }

    /// The shared libraries of a program or library, which are looked for once.
    fn closure(&self, user: &Path) -> Closure {
        let mut known = self.closures.lock().unwrap_or_else(PoisonError::into_inner);
        let find = || {
            let read = |path: &Path| Ok::<_, Infallible>(loader::dynamic_of(path));
            let found = self.loader.closure(user, self.library_path.as_ref(), read);
            found.unwrap_or_else(|never| match never {})
        };
        known.entry(user.into()).or_insert_with(find).clone()
    }

    /// A program or library. Each is read once, while others wait who need the same.
    fn file(&self, path: &Path, target: &Target) -> Result<InputFile, DeviceError> {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(file) = known.get(path) {
            return Ok(file.clone());
        }
        let remembered = |programs: &Programs| programs.file_digest(path).ok();
        let digest = self.programs.and_then(remembered);
        let hash = digest.as_ref().map(Digest::as_str);
        let file = InputFile::program(read(target, path)?, hash);
        known.insert(path.into(), file.clone());
        Ok(file)
    }
}

fn read(target: &Target, path: &Path) -> Result<Bytes, DeviceError> {
    // Libraries that the loader brings are not listed.
    mapped_file::map_unlisted(path).map_err(|error| stays(target, &error.to_string()))
}

fn file_name(target: &Target, path: &Path) -> Result<String, DeviceError> {
    text(target, path.file_name().unwrap_or_default())
}
