//! PTX of relocatable code, for a driver to link: `--image2=kind=reloc`.

use super::super::PeerError;
use super::values;
use crate::{Error, mapped_file};
use bytes::Bytes;
use object::read::archive::ArchiveFile;
use object::read::{Object, ObjectSection};
use offlink_bundle::fatbin::{self, Arch, Entry, Kind};
use offlink_bundle::image::ImageFormat;
use std::borrow::Cow;
use std::collections::HashSet;
use std::path::Path;

/// Where host objects have the fatbins of relocatable code.
const SECTION: &str = "__nv_relfatbin";

/// Fatbins back to back.
pub struct Fatbins {
    /// Where they are, for messages.
    name: String,
    data: Bytes,
}

/// All fatbins of the file that an image argument names: the file itself, those
/// in an object, program or library, or in the objects of an archive. Other code
/// has none.
///
/// # Errors
/// [`Error`] when the argument makes no sense or the file can't be read.
pub fn fatbins(argument: &str) -> Result<Vec<Fatbins>, Error> {
    let fault = |fault: String| PeerError::Image {
        image: argument.into(),
        fault,
    };
    let [kind, file] = values(argument, ["kind", "file"])?;
    if kind != "reloc" {
        return Err(fault(format!("has kind '{kind}', not reloc")).into());
    }
    let data = mapped_file::map(Path::new(file))?;
    if ImageFormat::detect(&data) == ImageFormat::Fatbin {
        let name = file.into();
        return Ok(vec![Fatbins { name, data }]);
    }
    if let Ok(archive) = ArchiveFile::parse(&*data) {
        return of_archive(file, &data, &archive);
    }
    if object::File::parse(&*data).is_err() {
        return Err(fault("is neither a fatbin nor a host object or archive".into()).into());
    }
    Ok(of_object(file, &data)?)
}

fn of_archive(path: &str, data: &Bytes, archive: &ArchiveFile<'_>) -> Result<Vec<Fatbins>, Error> {
    let damaged = |source| PeerError::Archive {
        file: path.into(),
        source,
    };
    let mut all = Vec::new();
    for member in archive.members() {
        let member = member.map_err(damaged)?;
        let name = String::from_utf8_lossy(member.name());
        let contents = if archive.is_thin() {
            mapped_file::map(&Path::new(path).with_file_name("").join(&*name))?
        } else {
            data.slice_ref(member.data(&**data).map_err(damaged)?)
        };
        all.extend(of_object(&format!("{path}({name})"), &contents)?);
    }
    Ok(all)
}

fn of_object(name: &str, data: &Bytes) -> Result<Vec<Fatbins>, PeerError> {
    let Ok(file) = object::File::parse(&**data) else {
        return Ok(Vec::new());
    };
    let sections = file
        .sections()
        .filter(|section| section.name() == Ok(SECTION));
    sections
        .map(|section| {
            let contents = section.data().map_err(|source| PeerError::Section {
                file: name.into(),
                section: SECTION,
                source,
            })?;
            Ok(Fatbins {
                name: name.into(),
                data: data.slice_ref(contents),
            })
        })
        .collect()
}

/// The PTX of the fatbins, each compressed as it was. Cubins are left out.
///
/// # Errors
/// [`PeerError`] when a fatbin is damaged, or when two pieces for one
/// architecture have one identifier, by which a driver tells them apart.
pub fn ptx(all: &[Fatbins]) -> Result<Vec<Entry<'_>>, PeerError> {
    let mut seen: HashSet<(Arch, Option<Cow<'_, [u8]>>)> = HashSet::new();
    let mut pieces = Vec::new();
    for Fatbins { name, data } in all {
        let fatbins = fatbin::parse(data).map_err(|source| PeerError::RelocatableFatbin {
            file: name.clone(),
            source,
        })?;
        let entries = fatbins.into_iter().flat_map(|fatbin| fatbin.entries);
        for mut entry in entries.filter(|entry| entry.kind == Kind::Ptx) {
            if !seen.insert((entry.arch, entry.identifier.clone())) {
                return Err(PeerError::SameIdentifier {
                    file: name.clone(),
                    arch: entry.arch,
                });
            }
            entry.kind = Kind::RelocatablePtx;
            pieces.push(entry);
        }
    }
    Ok(pieces)
}
