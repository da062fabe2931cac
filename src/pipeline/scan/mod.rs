//! Which files of a line hold device code or offload entries: the first look,
//! without LLVM and without reading more of a file than its section headers.

pub mod containers;
pub mod host_object;
pub mod libraries;

use crate::device_input::DeviceInput;
use crate::image_argument::ImageArgument;
use crate::mapped_file::{self, ReadError};
use crate::request::{Input, InputName, LinkLine};
use bytes::Bytes;
use containers::{container, is_container, offload_binary};
use host_object::HostObject;
use object::read::archive::{ArchiveFile, ArchiveMember, ArchiveOffset};
use offlink_bundle::offload_binary::{self, ParseError};
use offlink_bundle::{fatbin, hip_bundle};
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use thiserror::Error;

/// The inputs of a link in the order of the line.
#[derive(Debug, Default)]
pub struct Scanned {
    /// What each input turned out to be.
    pub items: Vec<Item>,
    /// Arguments that the host linker must not see: offload binaries.
    pub device_arguments: Vec<usize>,
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

/// A static library.
#[derive(Debug)]
pub struct Archive {
    /// Its path, for messages.
    pub path: PathBuf,
    /// The whole file.
    pub data: Bytes,
    /// Some member holds device code or offload entries.
    pub concerns_devices: bool,
}

/// An input can't be understood.
#[derive(Debug, Error)]
pub enum ScanError {
    /// A file can't be read.
    #[error(transparent)]
    Read(#[from] ReadError),
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
    /// A host object is bitcode, in which its device code can't be seen.
    #[error(
        "'{origin}' is LLVM bitcode with device code in it, which offlink does not take out; \
         compile the host code without -flto"
    )]
    HostBitcode {
        /// The file or archive member.
        origin: String,
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

/// Looks at every input of the line and maps the images named beside it.
/// Files that don't exist and formats that hold no device code are passed
/// over: the host linker will say what it thinks of them.
///
/// # Errors
/// [`ScanError`] when a file that concerns devices is damaged.
pub fn scan(line: &LinkLine, images: &[ImageArgument]) -> Result<Scanned, ScanError> {
    let mut scanned = Scanned::default();
    for input in &line.inputs {
        let path = match &input.name {
            InputName::File(path) => Some(path.clone()),
            InputName::Library(name) => libraries::find(name, input.prefer_static, line),
        };
        if let Some(path) = path.filter(|path| path.is_file()) {
            scan_file(&path, input, &mut scanned)?;
        }
    }
    for image in images {
        scanned.items.push(Item::Device(device_code(image)?));
    }
    Ok(scanned)
}

/// The device code of an image argument, whose file may be an offload binary.
///
/// # Errors
/// [`ScanError`] when the file can't be read or is a damaged offload binary.
pub fn device_code(image: &ImageArgument) -> Result<Vec<DeviceInput>, ScanError> {
    let input = image.load()?;
    if input.data.starts_with(&offload_binary::MAGIC) {
        return offload_binary(&input.source, &input.data);
    }
    Ok(vec![input])
}

/// What a file holds, whoever would take it: all members of an archive, the one
/// that `LIB.a(MEMBER)` names, also the device code of a finished program.
///
/// # Errors
/// [`ScanError`] when the file can't be read or is damaged.
pub fn whole_file(path: &Path) -> Result<Vec<Item>, ScanError> {
    if let Some((archive, member)) = member_name(path) {
        let data = mapped_file::map(archive)?;
        return members_named(archive, &data, member);
    }
    let data = mapped_file::map(path)?;
    let name = path.display().to_string();
    let mut scanned = Scanned::default();
    if is_archive(&data) {
        scan_archive(path, data, true, &mut scanned)?;
    } else if is_container(&data) {
        scanned.items.push(Item::Device(container(&name, &data)?));
    } else if let Some(object) = host_object::read(name.clone(), data.clone())? {
        scanned.items.push(Item::Object(object));
    } else if let Some(object) = host_object::read_linked(name, data)? {
        scanned.items.push(Item::Object(object));
    }
    Ok(scanned.items)
}

/// The parts of `LIB.a(MEMBER)`, unless a file has that name.
fn member_name(path: &Path) -> Option<(&Path, &str)> {
    let (archive, member) = path.to_str()?.strip_suffix(')')?.rsplit_once('(')?;
    (!path.exists()).then_some((Path::new(archive), member))
}

fn members_named(path: &Path, data: &Bytes, name: &str) -> Result<Vec<Item>, ScanError> {
    let members = Members::open(path, data)?;
    let mut items = Vec::new();
    for member in members.file.members() {
        let member = member.map_err(|source| members.damaged(source))?;
        if member.name() == name.as_bytes() {
            items.extend(members.object(&member)?.map(Item::Object));
        }
    }
    Ok(items)
}

fn is_archive(data: &[u8]) -> bool {
    data.starts_with(b"!<arch>\n") || data.starts_with(b"!<thin>\n")
}

fn scan_file(path: &Path, input: &Input, scanned: &mut Scanned) -> Result<(), ScanError> {
    if path.extension().is_some_and(|extension| extension == "so") {
        scanned.items.push(Item::SharedLibrary(path.into()));
        return Ok(());
    }
    let data = mapped_file::map(path)?;
    if is_archive(&data) {
        return scan_archive(path, data, input.whole_archive, scanned);
    }
    if data.starts_with(&offload_binary::MAGIC) {
        let device = offload_binary(&path.display().to_string(), &data)?;
        scanned.items.push(Item::Device(device));
        scanned.device_arguments.extend(input.argument);
    } else if host_object::is_shared_library(&data) {
        scanned.items.push(Item::SharedLibrary(path.into()));
    } else if let Some(object) = host_object::read(path.display().to_string(), data)? {
        scanned.items.push(Item::Object(object));
    }
    Ok(())
}

fn scan_archive(
    path: &Path,
    data: Bytes,
    whole: bool,
    scanned: &mut Scanned,
) -> Result<(), ScanError> {
    let members = Members::open(path, &data)?;
    if whole {
        for member in members.file.members() {
            let member = member.map_err(|source| members.damaged(source))?;
            scanned
                .items
                .extend(members.object(&member)?.map(Item::Object));
        }
        return Ok(());
    }
    let mut concerns_devices = false;
    for member in members.file.members() {
        let member = member.map_err(|source| members.damaged(source))?;
        concerns_devices |= members.concerns_devices(&member)?;
    }
    scanned.items.push(Item::Archive(Archive {
        path: path.into(),
        data: data.clone(),
        concerns_devices,
    }));
    Ok(())
}

/// An archive opened for reading its members.
struct Members<'a> {
    path: &'a Path,
    data: &'a Bytes,
    file: ArchiveFile<'a>,
}

impl<'a> Members<'a> {
    fn open(path: &'a Path, data: &'a Bytes) -> Result<Self, ScanError> {
        let file = ArchiveFile::parse(&**data).map_err(|source| ScanError::Archive {
            path: path.into(),
            source,
        })?;
        Ok(Self { path, data, file })
    }

    fn damaged(&self, source: object::read::Error) -> ScanError {
        ScanError::Archive {
            path: self.path.into(),
            source,
        }
    }

    fn contents(&self, member: &ArchiveMember<'a>) -> Result<Bytes, ScanError> {
        if self.file.is_thin() {
            // Paths in a thin archive are relative to its own directory.
            let name = OsStr::from_bytes(member.name());
            return Ok(mapped_file::map(&self.path.with_file_name("").join(name))?);
        }
        let contents = member
            .data(&**self.data)
            .map_err(|source| self.damaged(source))?;
        Ok(self.data.slice_ref(contents))
    }

    fn object(&self, member: &ArchiveMember<'a>) -> Result<Option<HostObject>, ScanError> {
        let name = String::from_utf8_lossy(member.name());
        host_object::read(
            format!("{}({name})", self.path.display()),
            self.contents(member)?,
        )
    }

    fn concerns_devices(&self, member: &ArchiveMember<'a>) -> Result<bool, ScanError> {
        if !host_object::may_concern_devices(&self.contents(member)?) {
            return Ok(false);
        }
        Ok(self
            .object(member)?
            .is_some_and(|object| object.concerns_devices()))
    }
}

/// The member of `archive` that starts at `offset`, as the archive's symbol
/// index names it; `None` if it is no host object.
///
/// # Errors
/// [`ScanError`] when the archive or the member is damaged.
pub fn member_at(archive: &Archive, offset: u64) -> Result<Option<HostObject>, ScanError> {
    let members = Members::open(&archive.path, &archive.data)?;
    let member = members
        .file
        .member(ArchiveOffset(offset))
        .map_err(|source| members.damaged(source))?;
    members.object(&member)
}
