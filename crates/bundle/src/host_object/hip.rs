//! Registration with the HIP runtime.

use std::io::Write;
use std::path::Path;

use super::embedded::{self, Place};
use super::source;
use super::{Error, HostTarget, Platform};
use crate::entry::Generation;
use crate::offload_binary::OffloadKind;

/// The HIP runtime maps the bundle from the program's file where it starts a
/// page; clang aligns it so too when it embeds one itself (22.1.8, without
/// `-fgpu-rdc`).
const PLACE: Place = Place {
    section: ".hip_fatbin",
    alignment: 4096,
    symbol: "offlink_hip_bundle",
};

/// Writes the object that registers `bundle` with the HIP runtime to `out`.
///
/// `bundle` is a bundle as clang-offload-bundler makes them, compressed or not;
/// it is not looked at, and is written from where it lies. The object is the
/// same for the same bytes.
///
/// A constructor of priority 101 calls `__hipRegisterFatBinary`, then
/// `__hipRegisterFunction`, `__hipRegisterVar`, `__hipRegisterManagedVar`,
/// `__hipRegisterSurface` or `__hipRegisterTexture` for each of the program's
/// offload entries of kind 4; `__hipUnregisterFatBinary` is left to `atexit`.
/// These are the calls that LLVM 22.1.8's clang-linker-wrapper makes.
///
/// The entries are those of one [`Generation`]. LLVM 19's don't tell enough of a managed
/// variable, which is passed over.
///
/// # Errors
/// [`Error::Template`], [`Error::Layout`] and [`Error::Io`]; part of the object
/// may have been written by then.
pub fn write(
    host: HostTarget,
    entries: Generation,
    bundle: &[u8],
    out: &mut impl Write,
) -> Result<(), Error> {
    let section = entries.section(OffloadKind::Hip);
    embedded::write(
        host,
        host.hip_template(entries),
        section,
        &PLACE,
        bundle,
        out,
    )
}

/// The C source of that object for any platform. It takes the bundle from `file`
/// when it is compiled with [`Platform::compiler_flags`].
pub fn source(platform: Platform, entries: Generation, file: &Path) -> String {
    let entries = (OffloadKind::Hip, entries);
    source::whole(platform, source::HIP, entries, &PLACE.blob(), file)
}
