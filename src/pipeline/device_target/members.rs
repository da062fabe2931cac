//! What a device target's link takes of the files on its line: objects, and of
//! archives, such as Rust's rlibs, the members that define what is needed.

use crate::device_input::DeviceInput;
use crate::mapped_file;
use crate::pipeline::scan::ScanError;
use crate::pipeline::scan::archive::{Archive, is_archive};
use crate::pipeline::symbols::{self, Names};
use bytes::Bytes;
use offlink_bundle::image::ImageFormat;
use offlink_bundle::offload_binary::OffloadKind;
use std::collections::{BTreeSet, HashMap, HashSet};
use std::path::Path;

/// The files of a line that were opened so far.
pub struct Inputs<'a> {
    triple: &'a str,
    taken: Vec<DeviceInput>,
    /// Members of archives, in the order of the line.
    offered: Vec<DeviceInput>,
}

impl<'a> Inputs<'a> {
    /// No files yet; all code is for `triple`.
    pub fn new(triple: &'a str) -> Self {
        Self {
            triple,
            taken: Vec::new(),
            offered: Vec::new(),
        }
    }

    /// Opens an object, which is taken, or an archive, whose members are, if it is
    /// `whole`. Members that are no device code, as an rlib's metadata, are
    /// passed over.
    ///
    /// # Errors
    /// [`ScanError`] when the file can't be read.
    pub fn add(&mut self, path: &Path, whole: bool) -> Result<(), ScanError> {
        let data = mapped_file::map(path)?;
        if !is_archive(&data) {
            let input = self.input(path.display().to_string(), data);
            self.taken.push(input);
            return Ok(());
        }
        for (name, data) in Archive::open(path, data)?.files()? {
            if is_device_code(&data) {
                let input = self.input(name, data);
                if whole {
                    self.taken.push(input);
                } else {
                    self.offered.push(input);
                }
            }
        }
        Ok(())
    }

    fn input(&self, source: String, data: Bytes) -> DeviceInput {
        DeviceInput {
            source,
            kind: OffloadKind::None,
            triple: self.triple.into(),
            arch: String::new(),
            data,
        }
    }

    /// The symbols that what was taken defines.
    pub fn defined(&self) -> Vec<String> {
        let names = self.taken.iter();
        names
            .flat_map(|input| symbols::of_code(&input.data).defined)
            .collect()
    }

    /// What is linked: what was taken, and behind it the members that define
    /// what that or `exports` need, and what they need in turn. The first member
    /// that defines a symbol wins.
    pub fn resolve(self, exports: &[String]) -> Vec<DeviceInput> {
        let mut providers: HashMap<String, usize> = HashMap::new();
        let mut needs = Vec::with_capacity(self.offered.len());
        for (number, member) in self.offered.iter().enumerate() {
            let Names { defined, needed } = symbols::of_code(&member.data);
            for name in defined {
                providers.entry(name).or_insert(number);
            }
            needs.push(needed);
        }
        let mut open = exports.to_vec();
        let mut defined = HashSet::new();
        for input in &self.taken {
            let names = symbols::of_code(&input.data);
            defined.extend(names.defined);
            open.extend(names.needed);
        }
        let mut wanted = BTreeSet::new();
        while let Some(name) = open.pop() {
            if let Some(&number) = providers.get(&name)
                && !defined.contains(&name)
                && wanted.insert(number)
            {
                open.append(&mut needs[number]);
            }
        }
        let mut inputs = self.taken;
        let members = self.offered.into_iter().enumerate();
        inputs.extend(
            members.filter_map(|(number, member)| wanted.contains(&number).then_some(member)),
        );
        inputs
    }
}

fn is_device_code(data: &[u8]) -> bool {
    use ImageFormat::{Bitcode, CubinRelocatable, HsacoRelocatable};
    matches!(
        ImageFormat::detect(data),
        Bitcode | CubinRelocatable | HsacoRelocatable
    )
}
