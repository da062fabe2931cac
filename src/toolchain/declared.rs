//! What the toolchain file adds to what options and environment name.

use super::Toolchain;
use super::file::{Declared, Key};
use crate::target::Target;
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::path::PathBuf;

impl Toolchain {
    /// The toolchain for the device links of one target, of which the toolchain
    /// file may say more.
    pub fn for_target(&self, target: &Target) -> Cow<'_, Self> {
        let Some(file) = &self.chosen.file else {
            return Cow::Borrowed(self);
        };
        let mut tables = file.for_target(target.triple(), &target.arch()).peekable();
        if tables.peek().is_none() {
            return Cow::Borrowed(self);
        }
        let mut own = self.clone();
        own.is_for_one_target = true;
        own.named = self.chosen.clone();
        own.rules.launchers = BTreeMap::new();
        tables
            .chain([file.tools()])
            .for_each(|table| own.complete(table));
        Cow::Owned(own)
    }

    /// Whether the toolchain file says more of its target than of others.
    pub fn is_for_one_target(&self) -> bool {
        self.is_for_one_target
    }

    /// Names what has no name yet.
    pub(super) fn complete(&mut self, table: &BTreeMap<Key, Declared>) {
        for (key, Declared { path, launcher }) in table {
            let slot = self.slot(*key);
            if slot.is_none() {
                *slot = Some(path.clone());
                self.rules.launchers.insert(*key, launcher.clone());
            }
        }
    }

    fn slot(&mut self, key: Key) -> &mut Option<PathBuf> {
        let named = &mut self.named;
        match key {
            Key::Llvm => &mut named.llvm,
            Key::Ptxas => &mut named.ptxas,
            Key::Nvlink => &mut named.nvlink,
            Key::Lld => &mut named.lld,
            Key::SpirvLink => &mut named.spirv_link,
            Key::HostLinker => &mut named.host_linker,
            Key::Cc => &mut named.cc,
            Key::Cuda => &mut named.cuda,
            Key::Rocm => &mut named.rocm,
            Key::Libdevice => &mut named.libdevice,
            Key::RocmDeviceLibs => &mut named.rocm_device_libs,
            Key::Omptarget => &mut self.omptarget,
        }
    }
}
