//! Which members of archives of device code a link takes: those that define
//! what is still undefined, until nothing is added.

use super::super::PeerError;
use super::{TRIPLE, library};
use crate::Error;
use crate::device_input::DeviceInput;
use crate::mapped_file;
use crate::options::Options;
use crate::pipeline::device::DeviceError;
use crate::pipeline::symbols;
use crate::target::{Device, Target};
use crate::toolchain::Toolchain;
use bytes::Bytes;
use object::read::archive::{ArchiveFile, ArchiveMember, ArchiveOffset};
use offlink_bundle::image::ImageFormat;
use offlink_bundle::offload_binary::OffloadKind;
use offlink_llvm::{Emit, Keep, Module, OptLevel};
use std::collections::{BTreeSet, HashMap};
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

/// A word of the line that is linked, and whether `--whole-archive` held.
#[derive(Debug, PartialEq, Eq)]
pub enum Input {
    /// A file.
    File(PathBuf, bool),
    /// What `-l` names.
    Library(String, bool),
}

/// What the line offers to the link.
pub struct Candidates {
    taken: Vec<DeviceInput>,
    archives: Vec<Archive>,
    arch: String,
}

struct Archive {
    path: PathBuf,
    data: Bytes,
}

/// A member: the position of its archive and where it starts in that.
type Place = (usize, u64);

/// Opens all inputs. Files and whole archives are taken at once.
///
/// # Errors
/// [`Error`] when one can't be found or read or is no device code.
pub fn open(inputs: &[Input], dirs: &[PathBuf], arch: &str) -> Result<Candidates, Error> {
    let mut candidates = Candidates {
        taken: Vec::new(),
        archives: Vec::new(),
        arch: arch.into(),
    };
    for input in inputs {
        let (path, whole) = match input {
            Input::File(path, whole) => (path.clone(), *whole),
            Input::Library(name, whole) => (library(name, dirs)?, *whole),
        };
        let data = mapped_file::map(&path)?;
        if !data.starts_with(b"!<arch>\n") && !data.starts_with(b"!<thin>\n") {
            let taken = candidates.device_input(path.display().to_string(), data)?;
            candidates.taken.push(taken);
            continue;
        }
        let archive = Archive { path, data };
        if whole {
            for member in archive.file()?.members() {
                let member = member.map_err(|source| archive.damaged(source))?;
                let taken = candidates.member(&archive, &member)?;
                candidates.taken.push(taken);
            }
        } else {
            candidates.archives.push(archive);
        }
    }
    Ok(candidates)
}

impl Archive {
    fn file(&self) -> Result<ArchiveFile<'_>, PeerError> {
        ArchiveFile::parse(&*self.data).map_err(|source| self.damaged(source))
    }

    fn damaged(&self, source: object::read::Error) -> PeerError {
        PeerError::Archive {
            file: self.path.display().to_string(),
            source,
        }
    }
}

impl Candidates {
    fn device_input(&self, source: String, data: Bytes) -> Result<DeviceInput, PeerError> {
        match ImageFormat::detect(&data) {
            ImageFormat::Bitcode
            | ImageFormat::Ptx
            | ImageFormat::CubinRelocatable
            | ImageFormat::CubinFinal => Ok(DeviceInput {
                source,
                kind: OffloadKind::None,
                triple: TRIPLE.into(),
                arch: self.arch.clone(),
                data,
            }),
            _ => Err(PeerError::NotDeviceCode(source)),
        }
    }

    fn member(&self, archive: &Archive, member: &ArchiveMember<'_>) -> Result<DeviceInput, Error> {
        let name = String::from_utf8_lossy(member.name());
        let source = format!("{}({name})", archive.path.display());
        // A thin archive holds paths, relative to its own folder.
        let contents = if archive.file()?.is_thin() {
            let file = OsStr::from_bytes(member.name());
            mapped_file::map(&archive.path.with_file_name("").join(file))?
        } else {
            let contents = member
                .data(&*archive.data)
                .map_err(|source| archive.damaged(source))?;
            archive.data.slice_ref(contents)
        };
        Ok(self.device_input(source, contents)?)
    }

    /// Everything that is linked: files in order, and behind them the members
    /// that they need, in the order of archives and members.
    ///
    /// # Errors
    /// [`Error`] when an archive is damaged or code can't be linked.
    pub fn resolve(
        self,
        target: &Target,
        required: &[String],
        options: &Options,
    ) -> Result<Vec<DeviceInput>, Error> {
        let providers = self.providers()?;
        let toolchain = Toolchain::new(&options.device.tools, &[]);
        let mut members: BTreeSet<Place> = BTreeSet::new();
        loop {
            let mut inputs = self.taken.clone();
            for (position, offset) in &members {
                let archive = &self.archives[*position];
                let file = archive.file()?;
                let member = file
                    .member(ArchiveOffset(*offset))
                    .map_err(|source| archive.damaged(source))?;
                inputs.push(self.member(archive, &member)?);
            }
            if providers.is_empty() {
                return Ok(inputs);
            }
            let before = members.len();
            let needed = needed(target, &inputs, required, &toolchain)?;
            members.extend(needed.iter().filter_map(|name| providers.get(name)));
            if members.len() == before {
                return Ok(inputs);
            }
        }
    }

    /// Which member defines a symbol, by the archives' own indexes; the first
    /// on the line wins.
    fn providers(&self) -> Result<HashMap<String, Place>, PeerError> {
        let mut providers = HashMap::new();
        for (position, archive) in self.archives.iter().enumerate() {
            let file = archive.file()?;
            let symbols = file.symbols().map_err(|source| archive.damaged(source))?;
            for symbol in symbols.into_iter().flatten() {
                let symbol = symbol.map_err(|source| archive.damaged(source))?;
                let name = String::from_utf8_lossy(symbol.name()).into_owned();
                providers
                    .entry(name)
                    .or_insert((position, symbol.offset().0));
            }
        }
        Ok(providers)
    }
}

/// What of their needs and of `required` the `inputs` don't define.
/// Bitcode is linked to find that out, without optimising it.
fn needed(
    target: &Target,
    inputs: &[DeviceInput],
    required: &[String],
    toolchain: &Toolchain,
) -> Result<Vec<String>, Error> {
    let mut needed: BTreeSet<String> = required.iter().cloned().collect();
    let mut defined: BTreeSet<String> = BTreeSet::new();
    let is_bitcode =
        |input: &&DeviceInput| ImageFormat::detect(&input.data) == ImageFormat::Bitcode;
    for input in inputs.iter().filter(|input| !is_bitcode(input)) {
        let symbols = symbols::of_object(&input.data);
        needed.extend(symbols.needed.into_iter().map(str::to_owned));
        defined.extend(symbols.defined.into_iter().map(str::to_owned));
    }
    let bitcode: Vec<&DeviceInput> = inputs.iter().filter(is_bitcode).collect();
    if let (Device::Nvptx(arch), false) = (target.device(), bitcode.is_empty()) {
        let library = toolchain
            .llvm(bitcode.iter().copied())
            .map_err(DeviceError::from)?;
        let modules = bitcode
            .iter()
            .map(|input| Module {
                name: input.source.clone(),
                bitcode: input.data.clone(),
            })
            .collect();
        let options = offlink_llvm::Options {
            triple: target.triple().into(),
            cpu: arch.name().into(),
            features: arch.min_ptx().feature(),
            opt_level: OptLevel::O0,
            passes: None,
            exports: Vec::new(),
            keep: Keep::Visible,
            emit: Emit::Bitcode,
        };
        let linked = offlink_llvm::compile(library, modules, options).map_err(|error| {
            DeviceError::Bitcode {
                target: target.to_string(),
                kept: None,
                source: error.into(),
            }
        })?;
        needed.extend(
            linked
                .undefined
                .into_iter()
                .map(|undefined| undefined.symbol),
        );
        defined.extend(linked.defined);
    }
    Ok(needed.difference(&defined).cloned().collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_device_code_is_refused() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("x.o");
        std::fs::write(&path, "text").unwrap();
        let error = open(&[Input::File(path, false)], &[], "sm_90")
            .err()
            .unwrap();
        assert!(error.to_string().contains("neither bitcode"), "{error}");
    }

    #[test]
    fn libraries_are_looked_for_where_the_line_says() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join("libk.a"), b"!<arch>\n").unwrap();
        let dirs = [PathBuf::from("/nowhere"), dir.path().into()];
        let found = |name: &str| open(&[Input::Library(name.into(), false)], &dirs, "sm_90");
        assert_eq!(found("k").unwrap().archives[0].path, dirs[1].join("libk.a"));
        assert!(found(":libk.a").is_ok());
        assert!(found("m").err().unwrap().to_string().contains("-lm"));
    }
}
