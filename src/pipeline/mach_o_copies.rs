//! Linkers for macOS leave out the offload entries where compilers put them. They
//! get copies of the objects and archives that have entries, in which these are
//! in a section that stays.

use super::host::Host;
use super::scan::archive::{self, Archive};
use super::scan::contents::Contents;
use super::scan::libraries::Libraries;
use super::scan::{ScanError, mach_o};
use super::work_dir::WorkDir;
use crate::mapped_file::{self, ReadError};
use crate::output_file::{self, OutputError};
use crate::request::{InputName, Request, Style};
use bytes::Bytes;
use offlink_bundle::mach_o::keep_entries;
use std::collections::HashMap;
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};
use thiserror::Error;

/// The host linker can't be given the entries.
#[derive(Debug, Error)]
pub enum CopyError {
    /// An input can't be understood.
    #[error(transparent)]
    Scan(#[from] ScanError),
    /// An input can't be read.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// A copy can't be written.
    #[error(transparent)]
    Write(#[from] OutputError),
    /// An object is damaged.
    #[error("cannot read the sections of '{origin}': {source}; compile it anew")]
    Object {
        /// The object.
        origin: String,
        /// What is wrong.
        source: object::read::Error,
    },
    /// The members of a thin archive are not in it.
    #[error(
        "the thin archive '{}' has objects with offload entries, which macOS's linkers drop from \
         it; make it an ordinary archive",
        path.display()
    )]
    Thin {
        /// The archive.
        path: PathBuf,
    },
    /// The copy has no place in the line.
    #[error(
        "macOS's linkers drop the offload entries of '{}', and it is named in a way that no copy \
         can stand in for; name it by its path, alone or behind -force_load",
        path.display()
    )]
    NoPlace {
        /// The input.
        path: PathBuf,
    },
}

/// The copies, each by the word of the line that names what it was made of; none
/// for other hosts.
#[derive(Debug, Default)]
pub struct Copies {
    by_word: HashMap<OsString, PathBuf>,
    /// Where they are, if that is a place of its own for each link.
    temporary_dir: Option<PathBuf>,
}

impl Copies {
    /// Writes a copy of every input with entries, if the link is for macOS.
    ///
    /// # Errors
    /// [`CopyError`] when an input can't be read or no copy can stand in for it.
    pub fn write(request: &Request, host: &Host, work_dir: &WorkDir) -> Result<Self, CopyError> {
        let mut copies = Self::default();
        if !host.is_macos() {
            return Ok(copies);
        }
        let libraries = Libraries::new(
            &request.line,
            host,
            request.options.device.tools.is_hermetic(),
        );
        for input in &request.line.inputs {
            let Some((word, path)) = place_of(&input.name, &libraries) else {
                continue;
            };
            if copies.by_word.contains_key(&word) || !path.is_file() {
                continue;
            }
            let Some(copy) = changed(&path)? else {
                continue;
            };
            if !is_in(&word, &request.arguments) {
                return Err(CopyError::NoPlace { path });
            }
            let name = path.file_name().unwrap_or_default();
            let dir = Path::new("entries").join(copies.by_word.len().to_string());
            let file = work_dir.file(&dir.join(name).to_string_lossy());
            output_file::write_bytes(&file, &copy)?;
            keep_time(&path, &file);
            if request.options.save_temps.is_none() && !request.wrapper.save_temps {
                copies.temporary_dir = file.ancestors().nth(3).map(Path::to_owned);
            }
            copies.by_word.insert(word, file);
        }
        Ok(copies)
    }

    /// What keeps the place of the copies out of programs with debug information,
    /// which names objects by their paths: else no two links made the same program.
    pub fn without_place(&self, style: Style) -> Vec<OsString> {
        let Some(dir) = &self.temporary_dir else {
            return Vec::new();
        };
        let words = ["-oso_prefix".into(), dir.join("").into_os_string()];
        match style {
            Style::Cc => ["-Xlinker", "-Xlinker"]
                .into_iter()
                .zip(words)
                .flat_map(|(option, word)| [option.into(), word])
                .collect(),
            _ => words.into(),
        }
    }

    /// The argument with copies in the place of what they were made of, also in
    /// `-Wl,…`.
    pub fn in_place(&self, argument: &OsStr) -> OsString {
        let words = words(argument).map(|word| {
            let copy = self.by_word.get(OsStr::from_bytes(word));
            copy.map_or(word, |copy| copy.as_os_str().as_bytes())
        });
        OsString::from_vec(words.collect::<Vec<_>>().join(&b','))
    }
}

/// Debug information names the times of objects too. A program is as good with
/// another, so that failing is no error.
fn keep_time(original: &Path, copy: &Path) {
    let time = std::fs::metadata(original).and_then(|original| original.modified());
    let copy = File::options().write(true).open(copy);
    if let (Ok(time), Ok(copy)) = (time, copy) {
        let _ = copy.set_modified(time);
    }
}

/// The words that the linker gets of an argument.
fn words(argument: &OsStr) -> impl Iterator<Item = &[u8]> {
    let is_group = argument.as_bytes().starts_with(b"-Wl,");
    argument
        .as_bytes()
        .split(move |byte| is_group && *byte == b',')
}

fn is_in(word: &OsStr, arguments: &[OsString]) -> bool {
    arguments
        .iter()
        .any(|argument| words(argument).any(|found| found == word.as_bytes()))
}

/// How an input is named, and its file.
fn place_of(name: &InputName, libraries: &Libraries<'_>) -> Option<(OsString, PathBuf)> {
    match name {
        InputName::File(path) => Some((path.into(), path.clone())),
        InputName::Library(library) => {
            let mut word = OsString::from("-l");
            word.push(library);
            Some((word, libraries.find(library, false)?))
        }
    }
}

/// The contents of a file whose entries stay; `None` if it has none.
fn changed(path: &Path) -> Result<Option<Vec<u8>>, CopyError> {
    let data = mapped_file::map(path)?;
    if archive::is_archive(&data) {
        let archive = Archive::open(path, data)?;
        return if archive.concerns_devices {
            changed_archive(&archive)
        } else {
            Ok(None)
        };
    }
    if !mach_o::is_object(&data) || !mach_o::may_concern_devices(&data) {
        return Ok(None);
    }
    let mut copy = data.to_vec();
    let has_entries = keep(&mut copy, &path.display().to_string())?;
    Ok(has_entries.then_some(copy))
}

/// Members are changed where they lie, as none becomes larger or smaller.
fn changed_archive(archive: &Archive) -> Result<Option<Vec<u8>>, CopyError> {
    let mut copy = None;
    for member in archive.members()? {
        let Contents::Host(object) = member.contents else {
            continue;
        };
        if !object.has_entries || !mach_o::is_object(&object.data) {
            continue;
        }
        let Some(range) = range_in(&archive.data, &object.data) else {
            let path = archive.path.clone();
            return Err(CopyError::Thin { path });
        };
        let copy = copy.get_or_insert_with(|| archive.data.to_vec());
        keep(&mut copy[range], &object.name)?;
    }
    Ok(copy)
}

/// Where a part lies in the whole; `None` if it is not of it.
fn range_in(whole: &Bytes, part: &Bytes) -> Option<std::ops::Range<usize>> {
    let whole = whole.as_ptr_range();
    let part = part.as_ptr_range();
    let is_part = whole.start <= part.start && part.end <= whole.end;
    let start = part.start.addr().wrapping_sub(whole.start.addr());
    let size = part.end.addr() - part.start.addr();
    is_part.then_some(start..start + size)
}

fn keep(object: &mut [u8], origin: &str) -> Result<bool, CopyError> {
    keep_entries(object).map_err(|source| CopyError::Object {
        origin: origin.into(),
        source,
    })
}
