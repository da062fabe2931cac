//! Archives whose members are bundles.

use super::super::PeerError;
use super::container::{self, Container, Part};
use object::read::archive::ArchiveFile;
use std::path::Path;

/// A member that is a bundle.
pub struct Member<'a> {
    name: String,
    /// What is in it.
    pub parts: Vec<Part<'a>>,
}

impl Member<'_> {
    /// What the peer calls a part of this member in an archive of its own: the
    /// member's stem, the ID without colons, the stem again, and an ending that
    /// tells the device.
    pub fn name_of(&self, part: &Part<'_>) -> String {
        let path = Path::new(&self.name);
        let stem = path.file_stem().unwrap_or_default().to_string_lossy();
        let ending = if part.id.contains("gfx") {
            "bc".into()
        } else if part.id.contains("sm_") {
            "cubin".into()
        } else {
            path.extension().unwrap_or_default().to_string_lossy()
        };
        format!("{stem}-{}{stem}.{ending}", part.id.replace(':', "_"))
    }
}

/// The members of `archive` that are bundles, in order. Other members, such as
/// objects of the host alone, are passed over.
///
/// # Errors
/// [`PeerError`] when the archive or a bundle in it is damaged.
pub fn read<'a>(name: &str, archive: &'a [u8]) -> Result<Vec<Member<'a>>, PeerError> {
    let damaged = |source| PeerError::Archive {
        file: name.into(),
        source,
    };
    let file = ArchiveFile::parse(archive).map_err(damaged)?;
    let mut members = Vec::new();
    for member in file.members() {
        let member = member.map_err(damaged)?;
        let data = member.data(archive).map_err(damaged)?;
        let own = String::from_utf8_lossy(member.name()).into_owned();
        let parts = container::read(Container::Object, &format!("{name}({own})"), data)?;
        if !parts.is_empty() {
            members.push(Member { name: own, parts });
        }
    }
    Ok(members)
}

/// The IDs in all members, each once, in order of appearance.
///
/// # Errors
/// As [`read`].
pub fn ids(name: &str, archive: &[u8]) -> Result<Vec<String>, PeerError> {
    let mut ids: Vec<String> = Vec::new();
    for part in read(name, archive)?
        .into_iter()
        .flat_map(|member| member.parts)
    {
        if !ids.contains(&part.id) {
            ids.push(part.id);
        }
    }
    Ok(ids)
}
