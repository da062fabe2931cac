//! Registration with a SYCL runtime, in the form of LLVM 22 or of LLVM 24.

mod binary;
mod descriptor;

use std::io::Write;

use super::{Error, HostTarget};
use crate::offload_binary;

/// Writes the object that registers the images of `container` with a SYCL
/// runtime to `out`. The object is the same for the same bytes.
///
/// `container` are offload binaries back to back. Those of version 1 are
/// registered as LLVM 22.1.8's clang-linker-wrapper does it: a constructor of
/// priority 1 passes `__sycl_register_lib` a descriptor of the images, each with
/// an entry for every name in its string `symbols`
/// ([`crate::sycl_symbols::text`]); a destructor of the same priority
/// unregisters them. The one difference is that the entries stand beside the
/// images only, not among the program's offload entries too, from where no
/// SYCL runtime takes them.
///
/// One of version 2 or 3 is registered as LLVM 24 does it (its
/// `OffloadWrapper.cpp` in the autumn of 2026): a constructor of priority 101
/// passes `__sycl_register_lib` its address and size; unregistering is left to
/// `atexit`. It is not looked into.
///
/// # Errors
/// [`Error`]; part of the object may have been written by then.
pub fn write(host: HostTarget, container: &[u8], out: &mut impl Write) -> Result<(), Error> {
    // The version stands behind the magic bytes.
    let version = container.get(4..8);
    if version.is_some_and(|version| version != 1_u32.to_le_bytes()) {
        return binary::write(host, container, out);
    }
    descriptor::write(host, &offload_binary::parse(container)?, out)
}
