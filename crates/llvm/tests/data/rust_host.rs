//! Offload entries as statics of a host program: one, and an array of two.
#![no_std]

#[repr(C)]
pub struct Entry {
    reserved: u64,
    version: u16,
    kind: u16,
    flags: u32,
    address: &'static u8,
    name: &'static u8,
    size: u64,
    data: u64,
    aux: u64,
}

static REGIONS: [u8; 3] = [0; 3];

const fn entry(region: &'static u8, name: &'static [u8], kind: u16, size: u64, data: u64) -> Entry {
    let name = &name[0];
    Entry { reserved: 0, version: 1, kind, flags: 0, address: region, name, size, data, aux: 0 }
}

#[used]
#[unsafe(link_section = "llvm_offload_entries")]
static ONE: Entry = entry(&REGIONS[0], b"one\0", 1, 0, 0);

#[used]
#[unsafe(link_section = "llvm_offload_entries")]
static TWO: [Entry; 2] = [
    entry(&REGIONS[0], b"variable\0", 2, 4, 70000),
    entry(&REGIONS[0], b"last\0", 1, 0, 0),
];
