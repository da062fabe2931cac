//! The offload entry, by which the runtime knows a kernel.

use core::ffi::{CStr, c_char, c_void};
use core::ptr;

/// The offload kind of kernels that libomptarget launches (`OFK_OpenMP`).
const OPENMP: u16 = 1;

/// A kernel's offload entry, as LLVM 21 and later lay it out
/// (`__tgt_offload_entry`, 56 bytes).
///
/// [`kernel!`](crate::kernel) declares these. The runtime finds one if it is a
/// `static` in the section of offload entries.
#[repr(C)]
pub struct Kernel {
    reserved: u64,
    version: u16,
    kind: u16,
    flags: u32,
    region: *const c_void,
    name: *const c_char,
    size: u64,
    data: u64,
    aux: *const c_void,
}

// SAFETY: what it points to is never written.
unsafe impl Sync for Kernel {}

impl Kernel {
    /// The entry for the kernel that device images define as `name`, which ends in
    /// a zero byte. `region` belongs to this kernel alone: the runtime knows it by
    /// that address.
    ///
    /// # Panics
    /// If `name` does not end in its only zero byte; in a `static`, that is an
    /// error of the compiler.
    pub const fn new(region: &'static u8, name: &'static str) -> Self {
        Self {
            reserved: 0,
            version: 1,
            kind: OPENMP,
            flags: 0,
            region: ptr::from_ref(region).cast(),
            name: c_string(name).as_ptr(),
            size: 0,
            data: 0,
            aux: ptr::null(),
        }
    }

    /// The address by which the runtime knows the kernel.
    pub(crate) const fn region(&self) -> *const c_void {
        self.region
    }

    /// The name that images define the kernel by.
    pub(crate) fn name(&self) -> &'static str {
        // SAFETY: `new` took it from a `&'static str` that ends in a zero byte.
        let name = unsafe { CStr::from_ptr(self.name) };
        name.to_str().unwrap_or_default()
    }
}

/// `text`, which ends in its only zero byte, for C.
pub(crate) const fn c_string(text: &'static str) -> &'static CStr {
    match CStr::from_bytes_with_nul(text.as_bytes()) {
        Ok(text) => text,
        Err(_) => panic!("the text must end in its only zero byte"),
    }
}

/// Whether `names`, a list with commas that `offlink-build` makes, has `name`; so
/// without a list, which means that nobody knows.
#[doc(hidden)]
pub const fn is_listed(name: &str, names: Option<&str>) -> bool {
    let Some(names) = names else { return true };
    let (name, names) = (name.as_bytes(), names.as_bytes());
    let mut start = 0;
    loop {
        let mut end = start;
        while end < names.len() && names[end] != b',' {
            end += 1;
        }
        if equals_at(names, start, end, name) {
            return true;
        }
        if end == names.len() {
            return false;
        }
        start = end + 1;
    }
}

/// Whether `bytes[start..end]` is `other`.
const fn equals_at(bytes: &[u8], start: usize, end: usize, other: &[u8]) -> bool {
    if end - start != other.len() {
        return false;
    }
    let mut at = 0;
    while at < other.len() {
        if bytes[start + at] != other[at] {
            return false;
        }
        at += 1;
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_entry_is_laid_out_as_llvm_has_it() {
        assert_eq!(size_of::<Kernel>(), 56);
        assert_eq!(core::mem::offset_of!(Kernel, region), 16);
        assert_eq!(core::mem::offset_of!(Kernel, aux), 48);
    }

    #[test]
    fn names_are_found_whole() {
        assert!(is_listed("saxpy", None));
        assert!(is_listed("saxpy", Some("saxpy")));
        assert!(is_listed("b", Some("a,b,c")));
        assert!(is_listed("c", Some("a,b,c")));
        assert!(!is_listed("a", Some("")));
        assert!(!is_listed("a", Some("aa,ba")));
        assert!(!is_listed("aa", Some("a,a")));
    }
}
