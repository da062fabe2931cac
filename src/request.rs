//! What a link line means, whichever program it was written for.

use crate::options::Options;
use crate::wrapper_request::WrapperRequest;
use std::ffi::OsString;
use std::fmt;
use std::ops::Range;
use std::path::PathBuf;

/// A whole link, as asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Request {
    /// Who the line is written for.
    pub style: Style,
    /// The host linker's arguments: the line without what is meant for offlink.
    pub arguments: Vec<OsString>,
    /// What those arguments mean, as far as a device link needs to know.
    pub line: LinkLine,
    /// offlink's own options.
    pub options: Options,
    /// The host's triple, where the line says it.
    pub host_triple: Option<String>,
    /// What clang-linker-wrapper's own options ask for; nothing in other lines.
    pub wrapper: WrapperRequest,
}

/// The program that a line is written for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Style {
    /// A compiler driver: `cc`, `gcc`, `clang`.
    Cc,
    /// A linker: `ld`, `ld.lld`.
    Ld,
    /// A linker for macOS: Apple's `ld`, `ld64.lld`.
    Ld64,
    /// lld's generic driver, with `-flavor gnu` or another up front.
    LldFlavor,
    /// A linker for Windows: `lld-link`, `link`.
    Link,
}

/// The parts of a link line that decide which files are linked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LinkLine {
    /// Files and libraries, in order.
    pub inputs: Vec<Input>,
    /// `-L` directories, in order.
    pub search_dirs: Vec<PathBuf>,
    /// `--sysroot`.
    pub sysroot: Option<PathBuf>,
    /// The file to be written.
    pub output: PathBuf,
    /// What kind of file that is.
    pub output_kind: OutputKind,
    /// Symbols that must be found although no file needs them: `-u`, `-e`.
    pub required_symbols: Vec<String>,
    /// The line itself says that an lld will link.
    pub names_lld: bool,
    /// The line is for Apple's linker, or one with its options, or for a driver
    /// that it tells to link for macOS.
    pub is_for_macos: bool,
}

impl Default for LinkLine {
    fn default() -> Self {
        Self {
            inputs: Vec::new(),
            search_dirs: Vec::new(),
            sysroot: None,
            output: "a.out".into(),
            output_kind: OutputKind::Executable,
            required_symbols: Vec::new(),
            names_lld: false,
            is_for_macos: false,
        }
    }
}

/// One file or library of a line, with what held where it stood.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Input {
    /// The file or library.
    pub name: InputName,
    /// `--whole-archive` held.
    pub whole_archive: bool,
    /// `-Bstatic` held.
    pub prefer_static: bool,
    /// The arguments that are this input and nothing else; none for `-Wl,-lx`.
    pub arguments: Range<usize>,
}

/// How an input is named.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum InputName {
    /// By path.
    File(PathBuf),
    /// By `-l`, without that prefix; starts with `:` for a file name.
    Library(OsString),
}

/// As it stands on a driver's line.
impl fmt::Display for InputName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File(path) => write!(f, "{}", path.display()),
            Self::Library(name) => write!(f, "-l{}", name.display()),
        }
    }
}

/// What a link makes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OutputKind {
    /// A program.
    Executable,
    /// A shared library (`-shared`).
    SharedLibrary,
    /// An object to be linked again (`-r`).
    Relocatable,
    /// Nothing: the line does not link (`cc -c`).
    NotALink,
}
