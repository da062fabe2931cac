//! Kernel launches through LLVM's offload runtime (libomptarget 22) from stable
//! Rust: the entry that names a kernel, and the call that runs it.

use std::ffi::{c_char, c_void};
use std::ptr;

/// `__tgt_offload_entry` of LLVM 21 and later: the linker collects these in one
/// section, and the program's start-up code hands the section to the runtime.
#[repr(C)]
pub struct Kernel {
    reserved: u64,
    version: u16,
    kind: u16,
    flags: u32,
    address: *const c_void,
    name: *const c_char,
    size: u64,
    data: u64,
    aux: *const c_void,
}

// Never written after the program's start.
unsafe impl Sync for Kernel {}

/// Declares a kernel that the device images define under the given name.
macro_rules! kernel {
    (static $handle:ident = $name:literal) => {
        #[used]
        #[unsafe(link_section = "llvm_offload_entries")]
        static $handle: Kernel = {
            // The runtime tells kernels apart by an address in the host program.
            static REGION: u8 = 0;
            Kernel::new(&REGION, $name)
        };
    };
}
pub(crate) use kernel;

const OPENMP: u16 = 1;

const TO: i64 = 0x1;
const FROM: i64 = 0x2;
const TARGET_PARAM: i64 = 0x20;
const LITERAL: i64 = 0x100;

/// One kernel argument: an address or a 64-bit word, with its size in bytes and
/// what the runtime does with it.
pub struct Arg {
    value: *mut c_void,
    size: i64,
    mapping: i64,
}

impl Arg {
    /// Floats that the kernel reads.
    pub fn input(data: &mut [f32]) -> Arg {
        Arg::buffer(data, TARGET_PARAM | TO)
    }

    /// Floats that the kernel reads and writes.
    pub fn in_out(data: &mut [f32]) -> Arg {
        Arg::buffer(data, TARGET_PARAM | TO | FROM)
    }

    /// A scalar, passed by value.
    pub fn word(bits: u64) -> Arg {
        Arg {
            value: ptr::without_provenance_mut(bits as usize),
            size: 8,
            mapping: TARGET_PARAM | LITERAL,
        }
    }

    fn buffer(data: &mut [f32], mapping: i64) -> Arg {
        Arg {
            value: data.as_mut_ptr().cast(),
            size: size_of_val(data) as i64,
            mapping,
        }
    }
}

impl Kernel {
    /// The entry for `name`; `region` is a byte that no other kernel uses.
    pub const fn new(region: &'static u8, name: &'static std::ffi::CStr) -> Kernel {
        Kernel {
            reserved: 0,
            version: 1,
            kind: OPENMP,
            flags: 0,
            address: ptr::from_ref(region).cast(),
            name: name.as_ptr(),
            size: 0,
            data: 0,
            aux: ptr::null(),
        }
    }

    /// Runs the kernel on the default device and waits for it. Returns the
    /// runtime's code when it could not.
    pub fn launch<const N: usize>(
        &self,
        blocks: u32,
        threads: u32,
        args: [Arg; N],
    ) -> Result<(), i32> {
        let mut values = args.each_ref().map(|arg| arg.value);
        let mut sizes = args.each_ref().map(|arg| arg.size);
        let mut mappings = args.each_ref().map(|arg| arg.mapping);
        let mut launch = LaunchArgs {
            version: 3,
            count: N as u32,
            bases: values.as_mut_ptr(),
            values: values.as_mut_ptr(),
            sizes: sizes.as_mut_ptr(),
            mappings: mappings.as_mut_ptr(),
            names: ptr::null_mut(),
            mappers: ptr::null_mut(),
            trip_count: 0,
            flags: 0,
            blocks: [blocks, 1, 1],
            threads: [threads, 1, 1],
            dynamic_shared: 0,
        };
        let source = SourceLocation {
            reserved: [0, 2, 0, 22],
            text: c";unknown;unknown;0;0;;".as_ptr(),
        };
        // Every array outlives the call, which waits for the kernel's end.
        let code = unsafe {
            __tgt_target_kernel(
                &source,
                DEFAULT_DEVICE,
                blocks as i32,
                threads as i32,
                self.address,
                &mut launch,
            )
        };
        if code == 0 { Ok(()) } else { Err(code) }
    }
}

const DEFAULT_DEVICE: i64 = -1;

/// `KernelArgsTy`, version 3.
#[repr(C)]
struct LaunchArgs {
    version: u32,
    count: u32,
    bases: *mut *mut c_void,
    values: *mut *mut c_void,
    sizes: *mut i64,
    mappings: *mut i64,
    names: *mut *mut c_void,
    mappers: *mut *mut c_void,
    trip_count: u64,
    flags: u64,
    blocks: [u32; 3],
    threads: [u32; 3],
    dynamic_shared: u32,
}

/// `ident_t`: four words, of which the second says that the kernel comes from
/// an OpenMP-like front end and the last is the length of the text.
#[repr(C)]
struct SourceLocation {
    reserved: [i32; 4],
    text: *const c_char,
}

unsafe extern "C" {
    fn __tgt_target_kernel(
        source: &SourceLocation,
        device: i64,
        blocks: i32,
        threads: i32,
        region: *const c_void,
        args: &mut LaunchArgs,
    ) -> i32;
}
