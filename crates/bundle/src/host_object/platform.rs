//! The hosts that a compiler makes registration objects for.

use goblin::elf::header::{EM_AARCH64, EM_PPC64, EM_RISCV, EM_X86_64};
use goblin::mach::constants::cputype::{CPU_SUBTYPE_ARM64_E, CPU_TYPE_ARM64, CPU_TYPE_X86_64};
use goblin::pe::header::{COFF_MACHINE_ARM64, COFF_MACHINE_X86_64};

use super::UnsupportedHost;
use super::flags::{ELF_FLAGS, FLAGS, X86_64_FLAGS};

/// A host: its processor and the format of its objects. The runtimes, and with
/// them the entries, are 64-bit and little endian on all of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Platform {
    pub(super) architecture: Architecture,
    pub(super) format: Format,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Architecture {
    X86_64,
    Aarch64,
    Riscv64,
    Ppc64Le,
}

/// The format of a host's objects.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// Of Linux.
    Elf,
    /// Of Windows.
    Coff,
    /// Of macOS.
    MachO,
}

/// What 64-bit little-endian Mach-O files start with (`MH_MAGIC_64` in Apple's
/// `mach-o/loader.h`).
const MACH_O_MAGIC: [u8; 4] = [0xcf, 0xfa, 0xed, 0xfe];

const fn platform(architecture: Architecture, format: Format) -> Platform {
    Platform {
        architecture,
        format,
    }
}

/// All platforms, each with its triple as clang normalises it.
const ALL: [(Platform, &str); 8] = [
    (
        platform(Architecture::X86_64, Format::Elf),
        "x86_64-unknown-linux-gnu",
    ),
    (
        platform(Architecture::Aarch64, Format::Elf),
        "aarch64-unknown-linux-gnu",
    ),
    (
        platform(Architecture::Riscv64, Format::Elf),
        "riscv64-unknown-linux-gnu",
    ),
    (
        platform(Architecture::Ppc64Le, Format::Elf),
        "powerpc64le-unknown-linux-gnu",
    ),
    (
        platform(Architecture::X86_64, Format::Coff),
        "x86_64-pc-windows-msvc",
    ),
    (
        platform(Architecture::Aarch64, Format::Coff),
        "aarch64-pc-windows-msvc",
    ),
    (
        platform(Architecture::X86_64, Format::MachO),
        "x86_64-apple-macosx",
    ),
    (
        platform(Architecture::Aarch64, Format::MachO),
        "arm64-apple-macosx",
    ),
];

impl Platform {
    /// The platform that a target triple names. Of a Linux triple neither the
    /// vendor nor the C library matters, of a macOS triple not the version.
    ///
    /// # Errors
    /// [`UnsupportedHost`], which names the supported hosts.
    pub fn from_triple(triple: &str) -> Result<Platform, UnsupportedHost> {
        let unsupported = || UnsupportedHost {
            triple: triple.to_owned(),
            supported: ALL.map(|(_, triple)| triple).join(", "),
        };
        let (processor, system) = triple.split_once('-').ok_or_else(unsupported)?;
        let architecture = match processor {
            "x86_64" | "amd64" => Architecture::X86_64,
            "aarch64" | "arm64" => Architecture::Aarch64,
            "powerpc64le" | "ppc64le" => Architecture::Ppc64Le,
            // Rust's triples list extensions, as in riscv64gc.
            _ if processor.starts_with("riscv64") => Architecture::Riscv64,
            _ => return Err(unsupported()),
        };
        let has = |start: &str| system.split('-').any(|part| part.starts_with(start));
        // x32 and AArch64's ILP32 have other pointers.
        let format = match () {
            () if has("linux") && !system.ends_with("32") => Format::Elf,
            () if has("windows") && has("msvc") => Format::Coff,
            () if has("apple") && (has("macos") || has("darwin")) => Format::MachO,
            () => return Err(unsupported()),
        };
        let found = platform(architecture, format);
        let is_known = ALL.iter().any(|(known, _)| *known == found);
        is_known.then_some(found).ok_or_else(unsupported)
    }

    /// The platform whose linker takes this relocatable object, program or
    /// library, by its header; `None` for other files and other hosts. For an ELF
    /// file that is Linux, for a Mach-O file macOS.
    pub fn of_file(data: &[u8]) -> Option<Platform> {
        let half = |at: usize| Some(u16::from_le_bytes(*data.get(at..)?.first_chunk()?));
        let (architecture, format) = if data.starts_with(b"\x7fELF\x02\x01") {
            let architecture = match half(18)? {
                EM_X86_64 => Architecture::X86_64,
                EM_AARCH64 => Architecture::Aarch64,
                EM_RISCV => Architecture::Riscv64,
                EM_PPC64 => Architecture::Ppc64Le,
                _ => return None,
            };
            (architecture, Format::Elf)
        } else if data.starts_with(&MACH_O_MAGIC) {
            let word = |at: usize| Some(u32::from_le_bytes(*data.get(at..)?.first_chunk()?));
            // The high byte of the subtype holds flags; pointers of arm64e are signed.
            let architecture = match (word(4)?, word(8)? & 0xff_ffff) {
                (CPU_TYPE_X86_64, _) => Architecture::X86_64,
                (CPU_TYPE_ARM64, CPU_SUBTYPE_ARM64_E) => return None,
                (CPU_TYPE_ARM64, _) => Architecture::Aarch64,
                _ => return None,
            };
            (architecture, Format::MachO)
        } else {
            // An object of Windows has no magic number before its machine.
            let machine = if is_big_coff_object(data) { 6 } else { 0 };
            let architecture = match half(machine)? {
                COFF_MACHINE_X86_64 => Architecture::X86_64,
                COFF_MACHINE_ARM64 => Architecture::Aarch64,
                _ => return None,
            };
            (architecture, Format::Coff)
        };
        Some(platform(architecture, format))
    }

    /// The triple, as clang normalises it.
    pub fn triple(self) -> &'static str {
        let mut known = ALL.iter();
        known
            .find(|(platform, _)| *platform == self)
            .map_or("", |(_, triple)| triple)
    }

    /// The format of its objects.
    pub fn format(self) -> Format {
        self.format
    }

    /// How GNU's tools call it, also in the names of cross compilers and of
    /// directories (Debian); `None` where it has none.
    pub fn gnu_name(self) -> Option<&'static str> {
        (self.format == Format::Elf).then_some(match self.architecture {
            Architecture::X86_64 => "x86_64-linux-gnu",
            Architecture::Aarch64 => "aarch64-linux-gnu",
            Architecture::Riscv64 => "riscv64-linux-gnu",
            Architecture::Ppc64Le => "powerpc64le-linux-gnu",
        })
    }

    /// The flags, for gcc and clang alike, that turn registration code into an
    /// object that fits into any program of the platform.
    pub fn compiler_flags(self) -> Vec<&'static str> {
        let mut flags = FLAGS.to_vec();
        if self.format == Format::Elf {
            flags.extend(ELF_FLAGS);
        }
        match self.architecture {
            Architecture::X86_64 if self.format != Format::MachO => flags.extend(X86_64_FLAGS),
            Architecture::Aarch64 if self.format == Format::Elf => {
                flags.push("-mbranch-protection=standard");
            }
            _ => {}
        }
        flags
    }
}

/// Whether the file is a COFF object with room for more sections than others have,
/// and so with another header (`ANON_OBJECT_HEADER_BIGOBJ` in Windows' `winnt.h`;
/// version 0 of the same start is an import).
pub fn is_big_coff_object(data: &[u8]) -> bool {
    matches!(data, [0, 0, 0xff, 0xff, version, 0, ..] if *version >= 2)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_platform_by_its_triple() {
        for (platform, triple) in ALL {
            assert_eq!(Platform::from_triple(triple), Ok(platform));
            assert_eq!(platform.triple(), triple);
        }
    }

    #[test]
    fn other_spellings() {
        for (spelling, triple) in [
            ("aarch64-linux-gnu", "aarch64-unknown-linux-gnu"),
            ("aarch64-unknown-linux-musl", "aarch64-unknown-linux-gnu"),
            ("riscv64gc-unknown-linux-gnu", "riscv64-unknown-linux-gnu"),
            ("ppc64le-linux-gnu", "powerpc64le-unknown-linux-gnu"),
            ("x86_64-pc-windows-msvc19.33.0", "x86_64-pc-windows-msvc"),
            ("arm64-pc-windows-msvc", "aarch64-pc-windows-msvc"),
            ("aarch64-apple-darwin", "arm64-apple-macosx"),
            ("arm64-apple-macosx14.0.0", "arm64-apple-macosx"),
            ("x86_64-apple-darwin23", "x86_64-apple-macosx"),
        ] {
            let platform = Platform::from_triple(spelling);
            assert_eq!(platform.map(Platform::triple), Ok(triple), "{spelling}");
        }
        for triple in [
            "",
            "aarch64",
            "powerpc64-linux-gnu",
            "riscv32-linux-gnu",
            "riscv64-pc-windows-msvc",
            "x86_64-linux-gnux32",
            "aarch64-linux-gnu_ilp32",
            "x86_64-pc-windows-gnu",
            "x86_64-unknown-freebsd",
            "arm64-apple-ios17.0.0",
            "arm64e-apple-macosx14.0.0",
            "powerpc64le-apple-macosx",
        ] {
            let error = Platform::from_triple(triple).unwrap_err();
            assert!(
                error.to_string().contains("riscv64-unknown-linux-gnu"),
                "{error}"
            );
        }
    }

    #[test]
    fn headers() {
        let elf = |machine: u16| {
            let mut header = b"\x7fELF\x02\x01\x01".to_vec();
            header.resize(18, 0);
            header.extend(machine.to_le_bytes());
            Platform::of_file(&header).map(Platform::triple)
        };
        assert_eq!(elf(183), Some("aarch64-unknown-linux-gnu"));
        assert_eq!(elf(243), Some("riscv64-unknown-linux-gnu"));
        assert_eq!(elf(40), None);
        let coff = |bytes: &[u8]| Platform::of_file(bytes).map(Platform::triple);
        assert_eq!(coff(b"\x64\x86"), Some("x86_64-pc-windows-msvc"));
        assert_eq!(coff(b"\x64\xaa"), Some("aarch64-pc-windows-msvc"));
        assert_eq!(coff(b"\x64"), None);
        let big = coff(b"\0\0\xff\xff\x02\0\x64\x86");
        assert_eq!(big, Some("x86_64-pc-windows-msvc"));
        assert_eq!(coff(b"\0\0\xff\xff\0\0\x64\x86"), None, "an import");
        assert_eq!(coff(b"!<arch>\n"), None);
        let mach_o = |header: &[u8]| Platform::of_file(header).map(Platform::triple);
        let arm64 = b"\xcf\xfa\xed\xfe\x0c\0\0\x01\0\0\0\0";
        assert_eq!(mach_o(arm64), Some("arm64-apple-macosx"));
        let arm64e = b"\xcf\xfa\xed\xfe\x0c\0\0\x01\x02\0\0\x80";
        assert_eq!(mach_o(arm64e), None);
        let x86_64 = b"\xcf\xfa\xed\xfe\x07\0\0\x01\x03\0\0\0";
        assert_eq!(mach_o(x86_64), Some("x86_64-apple-macosx"));
    }
}
