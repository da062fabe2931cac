//! What a finished image, or an object to be linked, says that it was made for.

use goblin::elf::header::EM_X86_64;

use super::{Error, ImageFormat};
use crate::elf::Elf;

/// Cubins from this ABI version on have their architecture in the second byte
/// of `e_flags` instead of the first; ptxas of CUDA 13 writes no older ones.
pub(crate) const CUBIN_ABI_WITH_ARCH_IN_SECOND_BYTE: u8 = 8;

/// Where an ELF file's ABI version stands (`EI_ABIVERSION`).
pub(crate) const ABI_VERSION: usize = 8;

/// The section in which ptxas keeps its own command line (seen with 13.0), and what
/// stands there before the architecture, however the option was spelled.
const TOOL_NOTE: &str = ".note.nv.tkinfo";
const ARCH_OPTION: &[u8] = b"-arch ";

/// The entry of AMD's metadata, a MessagePack map, that names the target (LLVM's
/// "User Guide for AMDGPU Backend" 22, code object version 4 and newer); objects
/// have it as linked images do.
const AMD_TARGET_KEY: &[u8] = b"amdhsa.target";

/// The target of an image in a form that offlink's registration takes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ImageTarget {
    /// The triple.
    pub triple: String,
    /// The arch or target ID; empty for CPUs.
    pub arch: String,
}

/// Reads the target from the image itself: a cubin's architecture from its
/// header, where a suffix as in `sm_90a` leaves no trace (ptxas 13.0); an
/// hsaco's target ID from its metadata; of other ELF files the processor.
///
/// # Errors
/// [`Error::Format`] when the image is no linked ELF file of these,
/// [`Error::Target`] when it does not say, [`Error::Elf`] when it is broken.
pub fn target(image: &[u8]) -> Result<ImageTarget, Error> {
    let (triple, arch) = match ImageFormat::detect(image) {
        ImageFormat::CubinFinal => ("nvptx64-nvidia-cuda", cubin_arch(image)?),
        ImageFormat::HsacoFinal => return amd_target(image),
        ImageFormat::ElfShared(EM_X86_64) => ("x86_64-unknown-linux-gnu", String::new()),
        format => return Err(Error::Format(format)),
    };
    Ok(ImageTarget {
        triple: triple.into(),
        arch,
    })
}

/// Reads the target from a relocatable object for a GPU; `None` for anything else.
/// The suffix of an NVIDIA architecture, of which the header says nothing, is taken
/// from the command line of ptxas, if the object holds it.
///
/// # Errors
/// [`Error::Target`] when an AMD object does not say, [`Error::Elf`] when it is
/// broken.
pub fn object_target(object: &[u8]) -> Result<Option<ImageTarget>, Error> {
    match ImageFormat::detect(object) {
        ImageFormat::CubinRelocatable => {
            let arch = cubin_arch(object)?;
            let assembled = assembled_for(object)?;
            let exact = assembled.filter(|name| {
                let suffix = name.strip_prefix(&arch);
                matches!(suffix, Some("a" | "f"))
            });
            Ok(Some(ImageTarget {
                triple: "nvptx64-nvidia-cuda".into(),
                arch: exact.unwrap_or(arch),
            }))
        }
        ImageFormat::HsacoRelocatable => amd_target(object).map(Some),
        _ => Ok(None),
    }
}

/// `sm_90a` of the `-arch sm_90a` that ptxas was called with.
fn assembled_for(object: &[u8]) -> Result<Option<String>, Error> {
    let elf = Elf::parse(object)?;
    let Some(section) = elf.named(TOOL_NOTE)?.first().copied() else {
        return Ok(None);
    };
    let note = elf.contents(section)?;
    let option = note
        .windows(ARCH_OPTION.len())
        .position(|window| window == ARCH_OPTION);
    Ok(option.and_then(|start| {
        let value = note.get(start + ARCH_OPTION.len()..)?;
        let is_end = |byte: &u8| !byte.is_ascii_alphanumeric() && *byte != b'_';
        let name = value.split(is_end).next()?;
        std::str::from_utf8(name).ok().map(str::to_owned)
    }))
}

fn cubin_arch(image: &[u8]) -> Result<String, Error> {
    let header = Elf::header_of(image)?;
    Ok(format!("sm_{}", cubin_arch_number(&header)))
}

/// The number of a cubin's architecture: 90 for `sm_90` and `sm_90a`.
pub(crate) fn cubin_arch_number(header: &goblin::elf::Header) -> u32 {
    let is_new = header.e_ident[ABI_VERSION] >= CUBIN_ABI_WITH_ARCH_IN_SECOND_BYTE;
    header.e_flags >> if is_new { 8 } else { 0 } & 0xff
}

/// The two parts of `amdgcn-amd-amdhsa--gfx90a:xnack+`; LLVM's main may spell the
/// triple otherwise.
fn amd_target(image: &[u8]) -> Result<ImageTarget, Error> {
    let missing = || Error::Target("its metadata do not name a target");
    let key = image
        .windows(AMD_TARGET_KEY.len())
        .position(|window| window == AMD_TARGET_KEY)
        .ok_or_else(missing)?;
    let value = image.get(key + AMD_TARGET_KEY.len()..).unwrap_or_default();
    let target = message_pack_string(value).ok_or_else(missing)?;
    match target.splitn(5, '-').collect::<Vec<_>>()[..] {
        [processor, "amd", "amdhsa", _, arch] => Ok(ImageTarget {
            triple: format!("{processor}-amd-amdhsa"),
            arch: arch.into(),
        }),
        _ => Err(missing()),
    }
}

/// The string that MessagePack data begins with: its length in the low bits of
/// one byte, or in the byte behind a marker.
fn message_pack_string(data: &[u8]) -> Option<&str> {
    const FIXED: u8 = 0xa0;
    const FIXED_MASK: u8 = 0xe0;
    const STRING_8: u8 = 0xd9;
    let (length, rest) = match data {
        [STRING_8, length, rest @ ..] => (usize::from(*length), rest),
        [first, rest @ ..] if first & FIXED_MASK == FIXED => {
            (usize::from(first & !FIXED_MASK), rest)
        }
        _ => return None,
    };
    std::str::from_utf8(rest.get(..length)?).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(image: &[u8]) -> (String, String) {
        let ImageTarget { triple, arch } = target(image).unwrap();
        (triple, arch)
    }

    #[test]
    fn images_name_their_targets() {
        let cubin = told(include_bytes!("../../tests/data/device.cubin"));
        assert_eq!(cubin, ("nvptx64-nvidia-cuda".into(), "sm_90".into()));
        let hsaco = told(include_bytes!("../../tests/data/device.hsaco"));
        assert_eq!(hsaco, ("amdgcn-amd-amdhsa".into(), "gfx90a".into()));
        let cpu = told(include_bytes!("../../tests/data/device.so"));
        assert_eq!(cpu, ("x86_64-unknown-linux-gnu".into(), String::new()));
    }

    #[test]
    fn objects_name_their_targets() {
        let told = |object: &[u8]| {
            let target = object_target(object).unwrap()?;
            Some((target.triple, target.arch))
        };
        let cubin = include_bytes!("../../tests/data/device-rel.cubin");
        assert_eq!(told(cubin).unwrap().1, "sm_90");
        // As ptxas writes it for sm_90a; the headers are the same.
        let mut accelerated = cubin.to_vec();
        let option = b"-arch sm_90 ";
        let place = cubin.windows(option.len()).position(|w| w == option);
        accelerated[place.unwrap() + option.len() - 1] = b'a';
        assert_eq!(told(&accelerated).unwrap().1, "sm_90a");
        let amd = told(include_bytes!("../../tests/data/device-rel.hsaco"));
        assert_eq!(amd.unwrap(), ("amdgcn-amd-amdhsa".into(), "gfx90a".into()));
        assert!(told(include_bytes!("../../tests/data/device.cubin")).is_none());
        assert!(told(include_bytes!("../../tests/data/entries.o")).is_none());
        for end in 0..cubin.len() {
            let _ = object_target(&cubin[..end]);
        }
    }

    #[test]
    fn what_is_no_image_is_refused() {
        for data in [
            &b"text"[..],
            include_bytes!("../../tests/data/device-rel.cubin"),
            include_bytes!("../../tests/data/device.ptx"),
        ] {
            assert!(matches!(target(data), Err(Error::Format(_))));
        }
        let hsaco = include_bytes!("../../tests/data/device.hsaco");
        for end in 0..hsaco.len() {
            let _ = target(&hsaco[..end]);
        }
        let mut renamed = hsaco.to_vec();
        let key = renamed
            .windows(13)
            .position(|w| w == AMD_TARGET_KEY)
            .unwrap();
        renamed[key] = b'x';
        assert!(matches!(target(&renamed), Err(Error::Target(_))));
    }
}
