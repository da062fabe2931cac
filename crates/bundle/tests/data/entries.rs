//! Two offload entries written by hand, in one object: names are in `.rodata.*`.
#![no_std]
#![crate_type = "lib"]

use core::ffi::{CStr, c_char, c_void};
use core::ptr;

#[repr(C)]
pub struct Entry {
    reserved: u64,
    version: u16,
    kind: u16,
    flags: u32,
    address: *const c_void,
    name: *const c_char,
    size: u64,
    data: u64,
    auxiliary: *const c_void,
}

unsafe impl Sync for Entry {}

static KERNEL: u8 = 0;
static VARIABLE: u32 = 0;

const fn entry(address: *const c_void, name: &'static CStr, size: u64) -> Entry {
    Entry {
        reserved: 0,
        version: 1,
        kind: 1,
        flags: 0,
        address,
        name: name.as_ptr(),
        size,
        data: 0,
        auxiliary: ptr::null(),
    }
}

#[unsafe(link_section = "llvm_offload_entries")]
#[used]
static FIRST: Entry = entry((&raw const KERNEL).cast(), c"scale", 0);

#[unsafe(link_section = "llvm_offload_entries")]
#[used]
static SECOND: Entry = entry((&raw const VARIABLE).cast(), c"offset", 4);
