//! The libraries that a program loads, as far as its images need them.

use crate::loader::{Dynamic, Loader, dynamic_of};
use crate::pipeline::openmp_runtime::{REGISTER, library_defines_it};
use crate::pipeline::symbols;
use crate::toolchain::omptarget::{self, Omptarget};
use offlink_bundle::entry::Generation;
use offlink_bundle::host_object::Platform;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// What a program loads.
#[derive(Debug, Default)]
pub struct Loaded {
    /// The libomptarget, if it is a shared library.
    pub omptarget: Option<PathBuf>,
    /// What is missing or does not fit, with a remedy.
    pub problems: Vec<String>,
}

/// Looks for the libraries of a program as the loader of this machine would now.
/// OpenMP's has to read entries of this form, if the program is one of OpenMP's.
pub fn of_program(path: &Path, data: &[u8], openmp: Option<Generation>) -> Loaded {
    let search = Search {
        loader: Loader::new(Platform::of_file(data), None),
        library_path: std::env::var_os("LD_LIBRARY_PATH"),
    };
    let mut loaded = Loaded::default();
    let dynamic = Dynamic::read(data);
    let needed = search.needed(path, &dynamic, &mut loaded.problems);
    let Some(entries) = openmp else {
        return loaded;
    };
    match register_by(data) {
        Register::Itself | Register::Unknown => {}
        Register::Nobody => loaded.problems.push(
            "no code in it registers OpenMP's images (there is no __tgt_register_lib), so they are \
             never loaded; link it with offlink"
                .into(),
        ),
        Register::Library => {
            let is_it = |path: &&PathBuf| path.file_name().is_some_and(omptarget::is_name);
            let library = needed.iter().find(is_it);
            let library = library.or_else(|| needed.iter().find(|path| library_defines_it(path)));
            search.check(library, &dynamic, entries, &mut loaded);
        }
    }
    loaded
}

/// Who has the code that OpenMP's images are registered with.
enum Register {
    /// The program.
    Itself,
    /// A library.
    Library,
    /// Nobody: the program does not call it.
    Nobody,
    /// The program's symbols have been removed.
    Unknown,
}

fn register_by(data: &[u8]) -> Register {
    let (dynamic, all) = (symbols::of_shared_library(data), symbols::of_object(data));
    if dynamic.defined.contains(&REGISTER) || all.defined.contains(&REGISTER) {
        Register::Itself
    } else if dynamic.needed.contains(&REGISTER) {
        Register::Library
    } else if all.defined.is_empty() && all.needed.is_empty() && dynamic.needed.is_empty() {
        Register::Unknown
    } else {
        Register::Nobody
    }
}

struct Search {
    loader: Loader,
    library_path: Option<OsString>,
}

impl Search {
    /// The files of the libraries that `user` needs; the others are problems.
    fn needed(&self, user: &Path, dynamic: &Dynamic, problems: &mut Vec<String>) -> Vec<PathBuf> {
        let library_path = self.library_path.as_ref();
        let mut found = Vec::new();
        for name in &dynamic.needed {
            match self.loader.resolve(name, user, dynamic, library_path) {
                Some(path) => found.push(path),
                None => problems.push(format!(
                    "'{}' needs {name}, which the loader does not find; install it, name its \
                     folder in LD_LIBRARY_PATH, or link with an rpath (--offlink-rpath=DIR for \
                     libomptarget)",
                    user.display()
                )),
            }
        }
        found
    }

    fn check(
        &self,
        library: Option<&PathBuf>,
        dynamic: &Dynamic,
        entries: Generation,
        loaded: &mut Loaded,
    ) {
        let Some(path) = library else {
            let is_named = |name: &String| omptarget::is_name(name.as_ref());
            // That it is missing has been said then.
            if !dynamic.needed.iter().any(is_named) {
                loaded.problems.push(
                    "no library that it names has __tgt_register_lib; whoever loads it has to \
                     bring libomptarget"
                        .into(),
                );
            }
            return;
        };
        self.needed(path, &dynamic_of(path), &mut loaded.problems);
        let library = Omptarget::at(path, "");
        if let (Some((major, _)), false) = (library.version, library.reads(entries)) {
            loaded.problems.push(format!(
                "'{}' is of LLVM {major}, which does not read the program's offload entries, those \
                 of {}; let it load the libomptarget of that clang",
                path.display(),
                entries.compilers()
            ));
        }
        loaded.omptarget = Some(path.clone());
    }
}
