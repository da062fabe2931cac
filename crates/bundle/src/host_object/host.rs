//! The hosts that this build of the crate can write objects for.

use crate::entry::Generation;

/// A host to write objects for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum HostTarget {
    /// ELF for x86-64 Linux.
    X86_64Linux,
}

/// There is no embedded registration code for a host.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("no registration code for host {triple}; this build has it for: {supported}")]
pub struct UnsupportedHost {
    /// The triple that was asked for.
    pub triple: String,
    /// The supported triples, separated by commas.
    pub supported: String,
}

impl HostTarget {
    const ALL: [HostTarget; 1] = [HostTarget::X86_64Linux];

    /// The hosts that this build of the crate has code for: its own target, if
    /// it is one of the variants.
    pub fn supported() -> Vec<HostTarget> {
        let mut hosts = Self::ALL.to_vec();
        hosts.retain(|host| !host.openmp_template().is_empty());
        hosts
    }

    /// The host that a target triple names. The vendor does not matter, nor
    /// does the C library: `x86_64-pc-linux-gnu`, `x86_64-unknown-linux-musl`
    /// and `x86_64-linux-gnu` are one. x32 has other pointers and is refused.
    ///
    /// # Errors
    /// [`UnsupportedHost`], which names the supported hosts.
    pub fn from_triple(triple: &str) -> Result<HostTarget, UnsupportedHost> {
        let mut parts = triple.split('-');
        let is_x86_64 = matches!(parts.next(), Some("x86_64" | "amd64"));
        let is_linux = parts.any(|part| part == "linux");
        let is_x32 = triple.ends_with("x32");
        let supported = Self::supported();
        if is_x86_64 && is_linux && !is_x32 && supported.contains(&HostTarget::X86_64Linux) {
            return Ok(HostTarget::X86_64Linux);
        }
        let supported: Vec<_> = supported.iter().map(|host| host.triple()).collect();
        Err(UnsupportedHost {
            triple: triple.to_owned(),
            supported: supported.join(", "),
        })
    }

    /// The triple of the host, as clang normalises it.
    pub fn triple(self) -> &'static str {
        match self {
            HostTarget::X86_64Linux => "x86_64-unknown-linux-gnu",
        }
    }

    /// The compiled `runtime/openmp.c`; empty when this build has none.
    pub(super) fn openmp_template(self) -> &'static [u8] {
        match self {
            HostTarget::X86_64Linux => include_bytes!(concat!(env!("OUT_DIR"), "/openmp.o")),
        }
    }

    /// The compiled `runtime/cuda.c` for such entries; empty when this build has none.
    pub(super) fn cuda_template(self, entries: Generation) -> &'static [u8] {
        let HostTarget::X86_64Linux = self;
        match entries {
            Generation::Llvm19 => include_bytes!(concat!(env!("OUT_DIR"), "/cuda-19.o")),
            Generation::Llvm20 => include_bytes!(concat!(env!("OUT_DIR"), "/cuda-20.o")),
            Generation::Llvm21 => include_bytes!(concat!(env!("OUT_DIR"), "/cuda.o")),
        }
    }

    /// The compiled `runtime/hip.c` for such entries; empty when this build has none.
    pub(super) fn hip_template(self, entries: Generation) -> &'static [u8] {
        let HostTarget::X86_64Linux = self;
        match entries {
            Generation::Llvm19 => include_bytes!(concat!(env!("OUT_DIR"), "/hip-19.o")),
            Generation::Llvm20 => include_bytes!(concat!(env!("OUT_DIR"), "/hip-20.o")),
            Generation::Llvm21 => include_bytes!(concat!(env!("OUT_DIR"), "/hip.o")),
        }
    }

    /// The compiled `runtime/sycl_descriptor.c`; empty when this build has none.
    pub(super) fn sycl_descriptor_template(self) -> &'static [u8] {
        match self {
            HostTarget::X86_64Linux => {
                include_bytes!(concat!(env!("OUT_DIR"), "/sycl_descriptor.o"))
            }
        }
    }

    /// The compiled `runtime/sycl_binary.c`; empty when this build has none.
    pub(super) fn sycl_binary_template(self) -> &'static [u8] {
        match self {
            HostTarget::X86_64Linux => include_bytes!(concat!(env!("OUT_DIR"), "/sycl_binary.o")),
        }
    }

    /// `e_machine` of the host's objects.
    pub(super) fn machine(self) -> u16 {
        match self {
            HostTarget::X86_64Linux => goblin::elf::header::EM_X86_64,
        }
    }

    /// The relocation that stores a 64-bit address.
    pub(super) fn absolute_relocation(self) -> u32 {
        match self {
            HostTarget::X86_64Linux => goblin::elf::reloc::R_X86_64_64,
        }
    }
}
