//! Registration with the CUDA runtime.

use std::io::Write;
use std::path::Path;

use super::embedded::{self, Place};
use super::source;
use super::{Error, HostTarget, Platform};
use crate::entry::Generation;
use crate::offload_binary::OffloadKind;

/// The section is the one where NVIDIA's tools look. The alignment is LLVM's;
/// NVIDIA's own fatbinary asks for 8.
const PLACE: Place = Place {
    section: ".nv_fatbin",
    alignment: 16,
    symbol: "offlink_cuda_fatbin",
};

/// Writes the object that registers `fatbin` with the CUDA runtime to `out`.
///
/// `fatbin` is a fat binary as NVIDIA's `fatbinary` makes them, or an image that
/// the driver takes in its place; it is not looked at, and is written from where
/// it lies. The object is the same for the same bytes.
///
/// A constructor of priority 101 calls `__cudaRegisterFatBinary`, then
/// `__cudaRegisterFunction`, `__cudaRegisterVar` or `__cudaRegisterManagedVar`
/// for each of the program's offload entries of kind 2, then
/// `__cudaRegisterFatBinaryEnd`; `__cudaUnregisterFatBinary` is left to
/// `atexit`. These are the calls that LLVM 22.1.8's clang-linker-wrapper makes,
/// with one difference: managed variables are registered with the arguments
/// that CUDA 13.0's `crt/host_runtime.h` declares, and set up at once by
/// `__cudaInitModule` where the runtime has that. Entries of surfaces and
/// textures are passed over, as CUDA 12 removed the functions for them.
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
    fatbin: &[u8],
    out: &mut impl Write,
) -> Result<(), Error> {
    let section = entries.section(OffloadKind::Cuda);
    embedded::write(
        host,
        host.cuda_template(entries),
        section,
        &PLACE,
        fatbin,
        out,
    )
}

/// The C source of that object for any platform. It takes the fatbin from `file`
/// when it is compiled with [`Platform::compiler_flags`].
pub fn source(platform: Platform, entries: Generation, file: &Path) -> String {
    let entries = (OffloadKind::Cuda, entries);
    source::whole(platform, source::CUDA, entries, &PLACE.blob(), file)
}
