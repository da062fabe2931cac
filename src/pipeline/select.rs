//! Which inputs the host linker will take, and with them the device code and
//! the entries that belong to the link.
//!
//! Objects and members of whole archives are always taken. Of other archives,
//! members are taken while they define a symbol that is still needed, the
//! first file of the line to define it winning. That is what lld does; GNU ld
//! takes the same members or stops with an undefined symbol.

use super::scan::host_object::HostObject;
use super::scan::{Archive, Item, ScanError, Scanned, member_at};
use super::symbols;
use crate::device_input::DeviceInput;
use crate::mapped_file;
use crate::request::{OutputKind, Request, Style};
use bytes::Bytes;
use object::read::archive::ArchiveFile;
use offlink_bundle::entry::{self, OffloadEntry};
use std::collections::{BTreeMap, HashMap, HashSet};
use thiserror::Error;

/// What takes part in the link.
#[derive(Debug)]
pub struct Selected {
    /// Device code in the order of the line.
    pub device: Vec<DeviceInput>,
    /// The entries of all host objects.
    pub entries: Entries,
}

/// The offload entries that the program is to have.
#[derive(Debug, Default)]
pub struct Entries {
    /// Each entry with the object that it is from.
    pub entries: Vec<(String, OffloadEntry)>,
    /// The least size in bytes of the program's section of entries.
    pub size: u64,
}

/// What takes part in the link can't be found out.
#[derive(Debug, Error)]
pub enum SelectError {
    /// An input is damaged.
    #[error(transparent)]
    Scan(#[from] ScanError),
    /// The entries of an object can't be read.
    #[error("cannot read the offload entries of '{origin}': {source}")]
    Entries {
        /// The object.
        origin: String,
        /// What is wrong.
        source: entry::Error,
    },
    /// The entries have a form that only runtimes before LLVM 21 read.
    #[error(
        "'{origin}' has offload entries in section {section}, a form from before LLVM 21; \
         compile it with clang 21 or newer"
    )]
    Legacy {
        /// The object.
        origin: String,
        /// The section.
        section: &'static str,
    },
}

/// Finds out which objects take part and reads their device code and entries.
///
/// # Errors
/// [`SelectError`] when one of them is damaged.
pub fn select(scanned: &Scanned, request: &Request) -> Result<Selected, SelectError> {
    let mut members = if scanned.items.iter().any(is_archive_of_concern) {
        Resolver::new(request)?.resolve(scanned)?
    } else {
        BTreeMap::new()
    };
    let mut selected = Selected {
        device: Vec::new(),
        entries: Entries::default(),
    };
    for (position, item) in scanned.items.iter().enumerate() {
        match item {
            Item::Object(object) => selected.add(object)?,
            Item::Archive(_) => {
                for object in members.remove(&position).unwrap_or_default().values() {
                    selected.add(object)?;
                }
            }
            Item::SharedLibrary(_) => {}
            Item::Device(inputs) => selected.device.extend(inputs.iter().cloned()),
        }
    }
    Ok(selected)
}

fn is_archive_of_concern(item: &Item) -> bool {
    matches!(item, Item::Archive(archive) if archive.concerns_devices)
}

impl Selected {
    fn add(&mut self, object: &HostObject) -> Result<(), SelectError> {
        self.device.extend(object.device_inputs()?);
        if object.has_entries {
            let failed = |source| SelectError::Entries {
                origin: object.name.clone(),
                source,
            };
            if let Some(section) = entry::legacy_entries(&object.data).map_err(failed)? {
                return Err(SelectError::Legacy {
                    origin: object.name.clone(),
                    section,
                });
            }
            let entries = entry::read_object(&object.data).map_err(failed)?;
            let named = entries
                .into_iter()
                .map(|entry| (object.name.clone(), entry));
            self.entries.entries.extend(named);
            if !object.entries_in_group {
                self.entries.size += entry::entries_size(&object.data).map_err(failed)?;
            }
        }
        Ok(())
    }
}

/// Taken members of each archive: position of the archive in the line, then
/// position of the member in the archive.
type Members = BTreeMap<usize, BTreeMap<u64, HostObject>>;

/// Who defines a symbol first.
#[derive(Clone, Copy)]
enum Provider<'a> {
    Member {
        position: usize,
        archive: &'a Archive,
        offset: u64,
    },
    SharedLibrary,
}

struct Resolver {
    needed: Vec<String>,
    defined: HashSet<String>,
}

impl Resolver {
    /// Starts with what is needed without any file saying so.
    fn new(request: &Request) -> Result<Self, ScanError> {
        let mut needed = request.line.required_symbols.clone();
        // A driver adds the start files, which need main, by itself.
        if request.style == Style::Cc && request.line.output_kind == OutputKind::Executable {
            needed.push("main".into());
        }
        Ok(Self {
            needed,
            defined: HashSet::new(),
        })
    }

    fn resolve(mut self, scanned: &Scanned) -> Result<Members, ScanError> {
        let mut providers: HashMap<String, Provider<'_>> = HashMap::new();
        for (position, item) in scanned.items.iter().enumerate() {
            match item {
                Item::Object(object) => self.take(&object.data),
                Item::Archive(archive) => {
                    for (name, offset) in index(archive)? {
                        let member = Provider::Member {
                            position,
                            archive,
                            offset,
                        };
                        providers.entry(name).or_insert(member);
                    }
                }
                Item::SharedLibrary(path) => {
                    let data = mapped_file::map(path)?;
                    let symbols = symbols::of_shared_library(&data);
                    for name in symbols.defined {
                        providers
                            .entry(name.into())
                            .or_insert(Provider::SharedLibrary);
                    }
                    self.needed
                        .extend(symbols.needed.into_iter().map(str::to_owned));
                }
                Item::Device(_) => {}
            }
        }
        let mut members = Members::new();
        while let Some(name) = self.needed.pop() {
            if self.defined.contains(&name) {
                continue;
            }
            let Some(Provider::Member {
                position,
                archive,
                offset,
            }) = providers.get(&name)
            else {
                continue;
            };
            let taken = members.entry(*position).or_default();
            if taken.contains_key(offset) {
                continue;
            }
            if let Some(object) = member_at(archive, *offset)? {
                self.take(&object.data);
                taken.insert(*offset, object);
            }
        }
        Ok(members)
    }

    fn take(&mut self, object: &Bytes) {
        let symbols = symbols::of_object(object);
        self.defined
            .extend(symbols.defined.into_iter().map(str::to_owned));
        let new = symbols
            .needed
            .into_iter()
            .filter(|name| !self.defined.contains(*name));
        self.needed.extend(new.map(str::to_owned));
    }
}

/// The archive's own index: symbol, and where the member that defines it
/// starts. An archive without one is empty to the linker too.
fn index(archive: &Archive) -> Result<Vec<(String, u64)>, ScanError> {
    let damaged = |source| ScanError::Archive {
        path: archive.path.clone(),
        source,
    };
    let file = ArchiveFile::parse(&*archive.data).map_err(damaged)?;
    let Some(symbols) = file.symbols().map_err(damaged)? else {
        return Ok(Vec::new());
    };
    symbols
        .map(|symbol| {
            let symbol = symbol.map_err(damaged)?;
            Ok((
                String::from_utf8_lossy(symbol.name()).into_owned(),
                symbol.offset().0,
            ))
        })
        .collect()
}
