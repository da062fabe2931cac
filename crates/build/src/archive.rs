//! A static library of one object: what cargo can hand on with a library crate.

use crate::Error;
use std::fs;
use std::path::Path;

/// Writes the archive `library`, in the format of GNU ar, with `object` as its
/// member and an empty symbol table: registration objects define no symbol that
/// others could need, and are linked with `+whole-archive`.
///
/// # Errors
/// [`Error::File`] if a file can't be read or written.
pub fn write(library: &Path, object: &Path) -> Result<(), Error> {
    let data = fs::read(object).map_err(|source| Error::file(object, source))?;
    let mut archive = b"!<arch>\n".to_vec();
    member(&mut archive, "/", &[0; 4]);
    member(&mut archive, "registration.o/", &data);
    fs::write(library, archive).map_err(|source| Error::file(library, source))
}

/// Appends a member without times and owners, so that the same object gives the same archive.
fn member(archive: &mut Vec<u8>, name: &str, data: &[u8]) {
    let (date, owner, group, mode, size) = (0, 0, 0, 644, data.len());
    let header = format!("{name:<16}{date:<12}{owner:<6}{group:<6}{mode:<8}{size:<10}`\n");
    archive.extend_from_slice(header.as_bytes());
    archive.extend_from_slice(data);
    if data.len() % 2 == 1 {
        archive.push(b'\n');
    }
}
