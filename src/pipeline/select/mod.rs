//! Which inputs take part: those that the host linker will take, and with them
//! the device code and the entries that belong to the link; then the device
//! code that only device code needs.
//!
//! Objects and members of whole archives are always taken. Of other archives,
//! members are taken while they define a symbol that is still needed, the
//! first file of the line to define it winning. That is what lld does; GNU ld
//! takes the same members or stops with an undefined symbol.

mod device_members;
mod host_members;
mod serving;

use super::group::{self, REGISTERED};
use super::scan::host_object::HostObject;
use super::scan::{Item, ScanError, Scanned};
use crate::device_input::DeviceInput;
use crate::options::DeviceLib;
use crate::pipeline::host::Host;
use crate::request::Request;
use crate::target::Target;
use offlink_bundle::entry::{self, Generation, OffloadEntry};
use offlink_bundle::offload_binary::OffloadKind;
use std::collections::BTreeMap;
use thiserror::Error;

/// What is taken of each archive: position of the archive in the line, then
/// position of the member in the archive.
type Members<T> = BTreeMap<usize, BTreeMap<u64, T>>;

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

impl Entries {
    /// The form of the entries of one kind; today's if there are none.
    pub fn form(&self, kind: OffloadKind) -> Generation {
        let first = self.first(kind);
        first.map_or_else(Generation::default, |(_, entry)| entry.generation)
    }

    /// The first entry of one kind.
    pub fn first(&self, kind: OffloadKind) -> Option<&(String, OffloadEntry)> {
        self.of(kind).next()
    }

    fn of(&self, kind: OffloadKind) -> impl Iterator<Item = &(String, OffloadEntry)> {
        let entries = self.entries.iter();
        entries.filter(move |(_, entry)| entry.is_of(kind))
    }

    /// Adds those of an object.
    ///
    /// # Errors
    /// [`SelectError`] if they can't be read.
    pub fn add(&mut self, object: &HostObject) -> Result<(), SelectError> {
        if object.has_entries {
            let failed = |source| SelectError::Entries {
                origin: object.name.clone(),
                source,
            };
            let entries = object.entries().map_err(failed)?;
            let named = entries
                .into_iter()
                .map(|entry| (object.name.clone(), entry));
            self.entries.extend(named);
            self.size += object.certain_entries_size().map_err(failed)?;
        }
        Ok(())
    }

    /// A kind is registered by one walk over entries of one form.
    ///
    /// # Errors
    /// [`SelectError`] that names two objects whose forms differ, or an entry that
    /// its form has no place for.
    pub fn check(&self) -> Result<(), SelectError> {
        for kind in REGISTERED {
            let Some((first, of_first)) = self.first(kind) else {
                continue;
            };
            for (origin, entry) in self.of(kind) {
                if entry.generation != of_first.generation {
                    return Err(SelectError::Forms {
                        kind: kind.as_str(),
                        first: first.clone(),
                        first_form: of_first.generation,
                        other: origin.clone(),
                        other_form: entry.generation,
                    });
                }
                if entry.generation == Generation::Llvm19 && entry.is_managed() {
                    return Err(SelectError::Managed {
                        name: entry.name.clone(),
                        origin: origin.clone(),
                    });
                }
            }
        }
        Ok(())
    }
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
    /// The runtime would read the entries of one as if they were of the other's form.
    #[error(
        "'{first}' has the {kind} offload entries of {}, '{other}' those of {}, and one program \
         can't have both; compile both files with one version of clang",
        first_form.compilers(),
        other_form.compilers()
    )]
    Forms {
        /// The offload kind of the entries.
        kind: &'static str,
        /// The first object with entries of this kind.
        first: String,
        /// Their form.
        first_form: Generation,
        /// An object with entries of another form.
        other: String,
        /// Their form.
        other_form: Generation,
    },
    /// The entry does not lead to the host's pointer to the variable, which the
    /// runtime is to set.
    #[error(
        "managed variable '{name}' of '{origin}' can't be registered, as {} says too little of \
         it; compile with clang 20 or newer",
        Generation::Llvm19.compilers()
    )]
    Managed {
        /// The variable.
        name: String,
        /// The object.
        origin: String,
    },
}

/// Finds out which objects take part and reads their device code and entries.
///
/// # Errors
/// [`SelectError`] when one of them is damaged, or their entries don't go together.
pub fn select(scanned: &Scanned, request: &Request, host: &Host) -> Result<Selected, SelectError> {
    if !scanned.items.iter().any(is_archive_of_concern) {
        return taken(scanned, &mut Members::new(), &mut Members::new());
    }
    let mut members = host_members::find(scanned, request, host)?;
    let certain = taken(scanned, &mut members.clone(), &mut Members::new())?;
    let mut device = device_members::find(scanned, &certain.device, &members)?;
    if device.is_empty() {
        return Ok(certain);
    }
    taken(scanned, &mut members, &mut device)
}

/// `inputs`, which are taken in any case and are for `target`, and what they need
/// of libraries of device code.
///
/// # Errors
/// [`ScanError`] when a library is damaged or holds no device code.
pub fn with_device_libs(
    mut inputs: Vec<DeviceInput>,
    target: &Target,
    libs: &[DeviceLib],
) -> Result<Vec<DeviceInput>, ScanError> {
    let mut scanned = Scanned::default();
    scanned.add_device_libs(libs, &[])?;
    for item in &scanned.items {
        if let Item::Device(lib) = item {
            let fits = lib.iter().filter(|input| group::belongs(input, target));
            inputs.extend(fits.cloned());
        }
    }
    let needed = device_members::find(&scanned, &inputs, &Members::new())?;
    let members = needed.into_values().flat_map(BTreeMap::into_values);
    inputs.extend(members.flatten());
    Ok(inputs)
}

/// All that takes part, in the order of the line.
fn taken(
    scanned: &Scanned,
    host: &mut Members<HostObject>,
    device: &mut Members<Vec<DeviceInput>>,
) -> Result<Selected, SelectError> {
    let mut selected = Selected {
        device: Vec::new(),
        entries: Entries::default(),
    };
    let targets = serving::targets(scanned)?;
    for (position, item) in scanned.items.iter().enumerate() {
        match item {
            Item::Object(object) => selected.add(object, object.device_inputs()?)?,
            Item::Archive(_) => {
                for object in host.remove(&position).unwrap_or_default().values() {
                    let inputs = serving::addressed(object.device_inputs()?, &targets);
                    selected.add(object, inputs)?;
                }
                for inputs in device.remove(&position).unwrap_or_default().into_values() {
                    selected.device.extend(inputs);
                }
            }
            Item::SharedLibrary(_) => {}
            Item::Device(inputs) => selected.device.extend(inputs.iter().cloned()),
        }
    }
    selected.entries.check()?;
    Ok(selected)
}

fn is_archive_of_concern(item: &Item) -> bool {
    matches!(item, Item::Archive(archive) if archive.concerns_devices)
}

impl Selected {
    /// Adds an object's device code, which is `inputs`, and its entries.
    fn add(&mut self, object: &HostObject, inputs: Vec<DeviceInput>) -> Result<(), SelectError> {
        self.device.extend(inputs);
        self.entries.add(object)
    }
}
