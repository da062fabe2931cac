//! Launches through libomptarget.

use core::ffi::{c_char, c_void};
use core::fmt;
use core::ptr;

use crate::entry::c_string;
use crate::{Grid, Kernel, Mapping};

/// A kernel did not run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LaunchError {
    /// The kernel's name.
    pub kernel: &'static str,
    /// What libomptarget returned.
    pub code: i32,
}

impl fmt::Display for LaunchError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "kernel '{}' did not run (code {} of the offload runtime); 'offlink doctor' with the \
             path of this program says which of its images fit which device",
            self.kernel, self.code
        )
    }
}

impl core::error::Error for LaunchError {}

impl Kernel {
    /// Runs the kernel and waits for its end. `location` says where the launch
    /// stands, for the runtime's messages, in its form `;file;function;line;column;;`
    /// and with a zero byte at the end.
    ///
    /// # Errors
    /// [`LaunchError`] if the runtime has no device that an image fits. If
    /// `OMP_TARGET_OFFLOAD=MANDATORY` is set, and on other faults, the runtime ends
    /// the process instead.
    ///
    /// # Safety
    /// The kernel takes these arguments, behind the one that is the runtime's, and
    /// keeps to the memory that they map.
    pub unsafe fn launch<const N: usize>(
        &self,
        grid: Grid,
        arguments: [Mapping; N],
        location: &'static str,
    ) -> Result<(), LaunchError> {
        let mut values = arguments.map(|argument| argument.value);
        let mut sizes = arguments.map(|argument| argument.size);
        let mut flags = arguments.map(|argument| argument.flags);
        let mut launch = LaunchArguments {
            version: 3,
            count: N as u32,
            bases: values.as_mut_ptr(),
            values: values.as_mut_ptr(),
            sizes: sizes.as_mut_ptr(),
            mappings: flags.as_mut_ptr(),
            names: ptr::null_mut(),
            mappers: ptr::null_mut(),
            trip_count: 0,
            flags: 0,
            blocks: grid.blocks,
            threads: grid.threads,
            shared_bytes: grid.shared_bytes,
        };
        let source = SourceLocation {
            reserved: 0,
            flags: KMPC,
            reserved_2: 0,
            length: location.len() as i32 - 1,
            text: c_string(location).as_ptr(),
        };
        // SAFETY: both structures are as `__tgt_target_kernel` wants them, and all
        // that they point to outlives the call, which returns when the kernel has
        // ended; of the kernel's own accesses the caller is sure.
        let code = unsafe {
            __tgt_target_kernel(
                &source,
                grid.device,
                grid.blocks[0] as i32,
                grid.threads[0] as i32,
                self.region(),
                &mut launch,
            )
        };
        match code {
            0 => Ok(()),
            code => Err(LaunchError {
                kernel: self.name(),
                code,
            }),
        }
    }
}

/// How many devices the runtime has images for; they are numbered from 0.
pub fn devices() -> u32 {
    // SAFETY: takes nothing and starts the runtime if need be.
    unsafe { omp_get_num_devices() }.try_into().unwrap_or(0)
}

/// `KMP_IDENT_KMPC`: the location has a text.
const KMPC: i32 = 2;

/// `KernelArgsTy`, version 3 (LLVM 19 to 22).
#[repr(C)]
struct LaunchArguments {
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
    shared_bytes: u32,
}

/// `ident_t`.
#[repr(C)]
struct SourceLocation {
    reserved: i32,
    flags: i32,
    reserved_2: i32,
    length: i32,
    text: *const c_char,
}

unsafe extern "C" {
    fn __tgt_target_kernel(
        source: &SourceLocation,
        device: i64,
        blocks: i32,
        threads: i32,
        region: *const c_void,
        arguments: &mut LaunchArguments,
    ) -> i32;
    fn omp_get_num_devices() -> i32;
}
