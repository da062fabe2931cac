//! The members of archives that the host linker takes.

use super::Members;
use crate::mapped_file;
use crate::pipeline::host::Host;
use crate::pipeline::scan::archive::Archive;
use crate::pipeline::scan::contents::Contents;
use crate::pipeline::scan::host_object::HostObject;
use crate::pipeline::scan::{Item, ScanError, Scanned};
use crate::pipeline::symbols;
use crate::request::{OutputKind, Request, Style};
use bytes::Bytes;
use std::collections::{HashMap, HashSet};

/// Resolves the line's symbols.
///
/// # Errors
/// [`ScanError`] when a member that is taken is damaged.
pub(super) fn find(
    scanned: &Scanned,
    request: &Request,
    host: &Host,
) -> Result<Members<HostObject>, ScanError> {
    Resolver::new(request, host).resolve(scanned)
}

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
    fn new(request: &Request, host: &Host) -> Self {
        let mut needed = request.line.required_symbols.clone();
        // A driver adds the start files, which need main, by itself.
        let is_program = request.line.output_kind == OutputKind::Executable;
        if host.is_macos() && is_program {
            // Where a program starts unless -e names another symbol.
            needed.push("_main".into());
        } else if request.style == Style::Cc && is_program {
            needed.push("main".into());
        }
        Self {
            needed,
            defined: HashSet::new(),
        }
    }

    fn resolve(mut self, scanned: &Scanned) -> Result<Members<HostObject>, ScanError> {
        let mut providers: HashMap<String, Provider<'_>> = HashMap::new();
        for (position, item) in scanned.items.iter().enumerate() {
            match item {
                Item::Object(object) => self.take(&object.data),
                // The linker does not get to see it.
                Item::Archive(archive) if archive.is_for_devices => {}
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
        let mut members: Members<HostObject> = Members::new();
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
            if let Contents::Host(object) = archive.member_at(*offset)?.contents {
                self.take(&object.data);
                taken.insert(*offset, object);
            }
        }
        Ok(members)
    }

    fn take(&mut self, object: &Bytes) {
        let names = symbols::of_code(object);
        self.defined.extend(names.defined);
        let new = names
            .needed
            .into_iter()
            .filter(|name| !self.defined.contains(name));
        self.needed.extend(new);
    }
}

/// Symbol, and where the member that defines it starts. lld looks into the
/// members of an archive without an index, and GNU ld refuses it.
fn index(archive: &Archive) -> Result<Vec<(String, u64)>, ScanError> {
    if let Some(index) = archive.index()? {
        return Ok(index);
    }
    let mut index = Vec::new();
    for member in archive.members()? {
        if let Contents::Host(object) = &member.contents {
            let defined = symbols::of_code(&object.data).defined.into_iter();
            index.extend(defined.map(|name| (name, member.offset)));
        }
    }
    Ok(index)
}
