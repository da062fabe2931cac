//! Static libraries, thin ones too, and their members.

use super::contents::{self, Contents};
use super::{Item, ScanError};
use crate::mapped_file;
use bytes::Bytes;
use object::read::archive::{ArchiveFile, ArchiveMember, ArchiveOffset};
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// A static library.
#[derive(Debug)]
pub struct Archive {
    /// Its path, for messages.
    pub path: PathBuf,
    /// The whole file.
    pub data: Bytes,
    /// Some member holds device code or offload entries.
    pub concerns_devices: bool,
    /// There are members, and all of them are device code: nothing in it is
    /// for the host linker.
    pub is_for_devices: bool,
}

/// A member of an archive, and where it starts.
pub struct Member {
    /// Its offset into the archive, by which the archive's index names it.
    pub offset: u64,
    /// What it is.
    pub contents: Contents,
}

impl Archive {
    /// Looks at each member, at no more of it than tells whether it concerns
    /// devices.
    ///
    /// # Errors
    /// [`ScanError`] when the archive, or a member that concerns devices, is
    /// damaged.
    pub fn open(path: &Path, data: Bytes) -> Result<Self, ScanError> {
        let mut archive = Self {
            path: path.into(),
            data,
            concerns_devices: false,
            is_for_devices: false,
        };
        let (mut members, mut for_devices) = (0_usize, 0_usize);
        let mut concerns_devices = false;
        archive.visit(|archive, file, member| {
            let data = archive.contents(file, member)?;
            members += 1;
            if contents::is_device_code(&data) {
                for_devices += 1;
                concerns_devices = true;
            } else if contents::may_concern_devices(&data)
                && let Contents::Host(object) = contents::read(archive.name(member), data)?
            {
                concerns_devices |= object.concerns_devices();
            }
            Ok(())
        })?;
        archive.concerns_devices = concerns_devices;
        archive.is_for_devices = members > 0 && members == for_devices;
        Ok(archive)
    }

    /// Its path without symbolic links, by which it is known to be the same.
    pub fn real_path(&self) -> PathBuf {
        let real = self.path.canonicalize();
        real.unwrap_or_else(|_| self.path.clone())
    }

    /// All members.
    ///
    /// # Errors
    /// [`ScanError`] when the archive or a member is damaged.
    pub fn members(&self) -> Result<Vec<Member>, ScanError> {
        let mut members = Vec::new();
        self.visit(|_, file, member| {
            members.push(self.read(file, member)?);
            Ok(())
        })?;
        Ok(members)
    }

    /// The name and the bytes of each member.
    ///
    /// # Errors
    /// As [`Archive::members`].
    pub fn files(&self) -> Result<Vec<(String, Bytes)>, ScanError> {
        let mut files = Vec::new();
        self.visit(|archive, file, member| {
            files.push((archive.name(member), archive.contents(file, member)?));
            Ok(())
        })?;
        Ok(files)
    }

    /// The members with this name, which need not be unique.
    ///
    /// # Errors
    /// As [`Archive::members`].
    pub fn members_named(&self, name: &str) -> Result<Vec<Member>, ScanError> {
        let mut members = Vec::new();
        self.visit(|_, file, member| {
            if member.name() == name.as_bytes() {
                members.push(self.read(file, member)?);
            }
            Ok(())
        })?;
        Ok(members)
    }

    /// The member that starts at `offset`.
    ///
    /// # Errors
    /// As [`Archive::members`].
    pub fn member_at(&self, offset: u64) -> Result<Member, ScanError> {
        let file = self.parse()?;
        let member = file
            .member(ArchiveOffset(offset))
            .map_err(|source| self.damaged(source))?;
        self.read(&file, &member)
    }

    /// Symbols, and the offsets of the members that define them, by the
    /// archive's own index; `None` if it has none.
    ///
    /// # Errors
    /// [`ScanError::Archive`] when the index is damaged.
    pub fn index(&self) -> Result<Option<Vec<(String, u64)>>, ScanError> {
        let damaged = |source| self.damaged(source);
        let Some(symbols) = self.parse()?.symbols().map_err(damaged)? else {
            return Ok(None);
        };
        let named = symbols.map(|symbol| {
            let symbol = symbol.map_err(damaged)?;
            let name = String::from_utf8_lossy(symbol.name()).into_owned();
            Ok((name, symbol.offset().0))
        });
        named.collect::<Result<_, _>>().map(Some)
    }

    fn parse(&self) -> Result<ArchiveFile<'_>, ScanError> {
        ArchiveFile::parse(&*self.data).map_err(|source| self.damaged(source))
    }

    fn damaged(&self, source: object::read::Error) -> ScanError {
        ScanError::Archive {
            path: self.path.clone(),
            source,
        }
    }

    fn visit(
        &self,
        mut visitor: impl FnMut(&Self, &ArchiveFile<'_>, &ArchiveMember<'_>) -> Result<(), ScanError>,
    ) -> Result<(), ScanError> {
        let file = self.parse()?;
        for member in file.members() {
            let member = member.map_err(|source| self.damaged(source))?;
            visitor(self, &file, &member)?;
        }
        Ok(())
    }

    fn read(
        &self,
        file: &ArchiveFile<'_>,
        member: &ArchiveMember<'_>,
    ) -> Result<Member, ScanError> {
        Ok(Member {
            offset: self.offset(member),
            contents: contents::read(self.name(member), self.contents(file, member)?)?,
        })
    }

    /// Where the member's header is, which lies in the archive also if the
    /// archive is thin.
    fn offset(&self, member: &ArchiveMember<'_>) -> u64 {
        let header = member
            .header()
            .map(|header| std::ptr::from_ref(header).addr());
        header.map_or(0, |header| header.wrapping_sub(self.data.as_ptr().addr())) as u64
    }

    /// `libx.a(m.o)`.
    fn name(&self, member: &ArchiveMember<'_>) -> String {
        let name = String::from_utf8_lossy(member.name());
        format!("{}({name})", self.path.display())
    }

    fn contents(
        &self,
        file: &ArchiveFile<'_>,
        member: &ArchiveMember<'_>,
    ) -> Result<Bytes, ScanError> {
        if file.is_thin() {
            // Paths in a thin archive are relative to its own directory.
            let name = OsStr::from_bytes(member.name());
            return Ok(mapped_file::map(&self.path.with_file_name("").join(name))?);
        }
        let contents = member
            .data(&*self.data)
            .map_err(|source| self.damaged(source))?;
        Ok(self.data.slice_ref(contents))
    }
}

/// The members as items of their own, for whoever takes all.
pub fn items(members: Vec<Member>) -> impl Iterator<Item = Item> {
    members
        .into_iter()
        .filter_map(|member| match member.contents {
            Contents::Host(object) => Some(Item::Object(object)),
            Contents::Device(inputs) => Some(Item::Device(inputs)),
            Contents::Other => None,
        })
}

/// Whether `data` is an archive, thin or not.
pub fn is_archive(data: &[u8]) -> bool {
    data.starts_with(b"!<arch>\n") || data.starts_with(b"!<thin>\n")
}
