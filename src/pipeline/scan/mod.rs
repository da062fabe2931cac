//! Which files of a line hold device code or offload entries: the first look,
//! without LLVM and without reading more of a file than its section headers.

pub mod archive;
pub mod coff;
pub mod containers;
pub mod contents;
mod device_lib;
pub mod host_object;
pub mod libraries;
mod linker_script;
pub mod mach_o;

use super::host::Host;
use crate::device_input::DeviceInput;
use crate::files;
use crate::image_argument::{ImageArgument, NoTriple};
use crate::mapped_file::{self, ReadError};
use crate::options::{DeviceLib, Options};
use crate::request::{Input, InputName, LinkLine};
use archive::{Archive, is_archive};
use containers::{container, is_container, offload_binary};
use contents::Contents;
use host_object::HostObject;
use libraries::Libraries;
use offlink_bundle::offload_binary::{self, ParseError};
use offlink_bundle::{fatbin, hip_bundle, image};
use offlink_llvm::BitcodeError;
use std::collections::HashSet;
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};
use thiserror::Error;

/// The inputs of a link in the order of the line.
#[derive(Debug, Default)]
pub struct Scanned {
    /// What each input turned out to be.
    pub items: Vec<Item>,
    /// Arguments that the host linker must not see: files of nothing but device
    /// code.
    pub device_arguments: Vec<usize>,
    /// Archives of which all members are among the items: naming one again adds
    /// no device code.
    whole_archives: HashSet<PathBuf>,
}

/// What an input is.
#[derive(Debug)]
pub enum Item {
    /// A host object: the linker takes it in any case.
    Object(HostObject),
    /// An archive of which the linker takes what it needs.
    Archive(Archive),
    /// A shared library.
    SharedLibrary(PathBuf),
    /// Device code outside any host object.
    Device(Vec<DeviceInput>),
}

/// An input can't be understood.
#[derive(Debug, Error)]
pub enum ScanError {
    /// A file can't be read.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// Device code is for no device.
    #[error(transparent)]
    NoTriple(#[from] NoTriple),
    /// An archive is damaged.
    #[error("cannot read archive '{}': {source}; make it anew", path.display())]
    Archive {
        /// The archive.
        path: PathBuf,
        /// What is wrong.
        source: object::read::Error,
    },
    /// Device code is damaged, or in a version that is not known.
    #[error("cannot read the device code in '{origin}': {source}")]
    OffloadBinary {
        /// The file or archive member.
        origin: String,
        /// What is wrong.
        source: ParseError,
    },
    /// A relocatable object for a GPU can't be assigned to a target.
    #[error(
        "cannot tell what device object '{origin}' is for: {source}; name it with \
         --offlink-image=file=…,triple=…,arch=…,kind=…"
    )]
    DeviceObject {
        /// The file or archive member.
        origin: String,
        /// What is wrong.
        source: image::Error,
    },
    /// A host object is bitcode, and its device code can't be read.
    #[error("cannot read the device code in bitcode '{origin}': {source}; compile it anew")]
    HostBitcode {
        /// The file or archive member.
        origin: String,
        /// What is wrong.
        source: BitcodeError,
    },
    /// A fatbin is damaged.
    #[error("cannot read the fatbin in '{origin}': {source}")]
    Fatbin {
        /// The file or archive member.
        origin: String,
        /// What is wrong.
        source: fatbin::ParseError,
    },
    /// A HIP bundle is damaged.
    #[error("cannot read the HIP bundle in '{origin}': {source}")]
    HipBundle {
        /// The file or archive member.
        origin: String,
        /// What is wrong.
        source: hip_bundle::ParseError,
    },
    /// Bitcode for macOS has entries that its linkers would drop.
    #[error(
        "'{origin}' is bitcode for macOS with offload entries, which linkers drop; compile it to \
         an object, without -flto"
    )]
    MacBitcode {
        /// The file or archive member.
        origin: String,
    },
    /// An object asks for a library with device code, which the line does not name.
    #[error(
        "'{object}' asks for '{}' by itself, whose offload entries macOS's linkers drop; name the \
         library on the line too",
        library.display()
    )]
    AskedFor {
        /// The object.
        object: String,
        /// The library.
        library: PathBuf,
    },
    /// A universal file holds device code.
    #[error(
        "'{origin}' is a universal file with device code; take the part for the host out of it \
         (lipo -thin) and link that"
    )]
    Universal {
        /// The file.
        origin: String,
    },
    /// A library of device code holds none.
    #[error(
        "'{}' is no library of device code: it is neither bitcode for a GPU nor an archive of that",
        path.display()
    )]
    NoDeviceLib {
        /// The file.
        path: PathBuf,
    },
    /// A section lies outside of its file.
    #[error("'{origin}' is damaged: its section {section} lies outside of the file")]
    Section {
        /// The file or archive member.
        origin: String,
        /// The section's name.
        section: &'static str,
    },
}

impl Scanned {
    /// Whether all members of the archive are among the items anyway.
    pub fn takes_whole(&self, archive: &Archive) -> bool {
        self.whole_archives.contains(&archive.real_path())
    }

    /// Whether the link is anything else than the host linker's business.
    pub fn concerns_devices(&self) -> bool {
        self.items.iter().any(|item| match item {
            Item::Object(object) => object.concerns_devices(),
            Item::Archive(archive) => archive.concerns_devices,
            Item::SharedLibrary(_) => false,
            Item::Device(_) => true,
        })
    }
}

/// Looks at every input of the line, and maps the images and the libraries of
/// device code named beside it.
/// Files that don't exist and formats that hold no device code are passed
/// over: the host linker will say what it thinks of them.
///
/// # Errors
/// [`ScanError`] when a file that concerns devices is damaged.
pub fn scan(line: &LinkLine, options: &Options, host: &Host) -> Result<Scanned, ScanError> {
    let libraries = Libraries::new(line, host, options.device.tools.is_hermetic());
    let mut scanned = Scanned::default();
    for input in &line.inputs {
        let path = match &input.name {
            InputName::File(path) => Some(path.clone()),
            InputName::Library(name) => libraries.find(name, input.prefer_static),
        };
        if let Some(path) = path.filter(|path| path.is_file()) {
            scanned.add_file(&path, input, &libraries, 0)?;
        }
    }
    if host.is_macos() {
        scanned.check_libraries_asked_for(&libraries)?;
    }
    // Libraries alone make no device link.
    if scanned.concerns_devices() || !options.images.is_empty() {
        scanned.add_device_libs(&options.device_libs, &line.search_dirs)?;
    }
    for image in &options.images {
        scanned.items.push(Item::Device(device_code(image)?));
    }
    Ok(scanned)
}

/// The device code of an image argument, whose file may be an offload binary.
///
/// # Errors
/// [`ScanError`] when the file can't be read, is a damaged offload binary, or is
/// none and has no triple.
pub fn device_code(image: &ImageArgument) -> Result<Vec<DeviceInput>, ScanError> {
    let data = mapped_file::map(&image.file)?;
    if data.starts_with(&offload_binary::MAGIC) {
        return offload_binary(&image.file.display().to_string(), &data);
    }
    Ok(vec![image.describe(data)?])
}

/// What a file holds, whoever would take it: all members of an archive, the one
/// that `LIB.a(MEMBER)` names, also the device code of a finished program.
///
/// # Errors
/// [`ScanError`] when the file can't be read or is damaged.
pub fn whole_file(path: &Path) -> Result<Vec<Item>, ScanError> {
    if let Some((archive, member)) = member_name(path) {
        let archive = Archive::open(archive, mapped_file::map(archive)?)?;
        return Ok(archive::items(archive.members_named(member)?).collect());
    }
    let data = mapped_file::map(path)?;
    if is_archive(&data) {
        let archive = Archive::open(path, data)?;
        return Ok(archive::items(archive.members()?).collect());
    }
    let name = path.display().to_string();
    if is_container(&data) {
        return Ok(vec![Item::Device(container(&name, &data)?)]);
    }
    let item = match contents::read(name.clone(), data.clone())? {
        Contents::Host(object) => Some(Item::Object(object)),
        Contents::Device(inputs) => Some(Item::Device(inputs)),
        Contents::Other => host_object::read_linked(name, data)?.map(Item::Object),
    };
    Ok(item.into_iter().collect())
}

/// The parts of `LIB.a(MEMBER)`, unless a file has that name.
fn member_name(path: &Path) -> Option<(&Path, &str)> {
    let (archive, member) = path.to_str()?.strip_suffix(')')?.rsplit_once('(')?;
    (!path.exists()).then_some((Path::new(archive), member))
}

/// How deep linker scripts may name others; deeper ones are most likely one
/// that names itself.
const MAX_DEPTH: usize = 8;

impl Scanned {
    /// Adds libraries of device code; those that are named only are looked for in
    /// `search_dirs`.
    ///
    /// # Errors
    /// [`ScanError`] when a library is damaged or holds no device code.
    pub fn add_device_libs(
        &mut self,
        libs: &[DeviceLib],
        search_dirs: &[PathBuf],
    ) -> Result<(), ScanError> {
        for path in device_lib::files(libs, search_dirs) {
            self.items.push(device_lib::open(&path)?);
        }
        Ok(())
    }

    fn add_file(
        &mut self,
        path: &Path,
        input: &Input,
        libraries: &Libraries<'_>,
        depth: usize,
    ) -> Result<(), ScanError> {
        // Shared libraries are large and many, and hold nothing of interest yet.
        if path.extension().is_some_and(|extension| extension == "so") && is_elf(path) {
            self.items.push(Item::SharedLibrary(path.into()));
            return Ok(());
        }
        let data = mapped_file::map(path)?;
        if is_archive(&data) {
            return self.add_archive(Archive::open(path, data)?, input);
        }
        if host_object::is_shared_library(&data) {
            self.items.push(Item::SharedLibrary(path.into()));
            return Ok(());
        }
        if let Some(names) = linker_script::inputs(&data).filter(|_| depth < MAX_DEPTH) {
            for name in names {
                let named = match &name {
                    InputName::File(file) => libraries.find_for_script(file, path),
                    InputName::Library(name) => libraries.find(name, input.prefer_static),
                };
                if let Some(named) = named {
                    // The script is the host linker's in any case.
                    let arguments = 0..0;
                    let input = Input {
                        arguments,
                        ..input.clone()
                    };
                    self.add_file(&named, &input, libraries, depth + 1)?;
                }
            }
            return Ok(());
        }
        match contents::read(path.display().to_string(), data)? {
            Contents::Host(object) => self.items.push(Item::Object(object)),
            Contents::Device(inputs) => {
                self.items.push(Item::Device(inputs));
                self.device_arguments.extend(input.arguments.clone());
            }
            Contents::Other => {}
        }
        Ok(())
    }

    /// Refuses libraries of device code that objects ask for but that the line does
    /// not name: the linker would get them as they are.
    fn check_libraries_asked_for(&self, libraries: &Libraries<'_>) -> Result<(), ScanError> {
        for item in &self.items {
            let Item::Object(object) = item else {
                continue;
            };
            for name in mach_o::libraries_asked_for(&object.data) {
                let Some(path) = libraries.find(name.as_ref(), false) else {
                    continue;
                };
                let data = mapped_file::map(&path)?;
                if !is_archive(&data) || self.has_archive(&path) {
                    continue;
                }
                if Archive::open(&path, data)?.concerns_devices {
                    return Err(ScanError::AskedFor {
                        object: object.name.clone(),
                        library: path,
                    });
                }
            }
        }
        Ok(())
    }

    /// Whether the archive is one of the line's.
    fn has_archive(&self, path: &Path) -> bool {
        let real = path.canonicalize().unwrap_or_else(|_| path.into());
        self.whole_archives.contains(&real)
            || self
                .items
                .iter()
                .any(|item| matches!(item, Item::Archive(archive) if archive.real_path() == real))
    }

    fn add_archive(&mut self, archive: Archive, input: &Input) -> Result<(), ScanError> {
        if archive.is_for_devices {
            self.device_arguments.extend(input.arguments.clone());
        }
        if !input.whole_archive {
            self.items.push(Item::Archive(archive));
            return Ok(());
        }
        if self.whole_archives.insert(archive.real_path()) {
            self.items.extend(archive::items(archive.members()?));
        }
        Ok(())
    }
}

/// Whether the file starts as ELF files do.
fn is_elf(path: &Path) -> bool {
    let mut magic = [0; 4];
    let read = File::open(path).and_then(|mut file| file.read_exact(&mut magic));
    files::read(path);
    read.is_ok() && magic == goblin::elf::header::ELFMAG[..]
}
