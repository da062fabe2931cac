//! The host side of kernels that offlink links into a program.
//!
//! [`kernel!`] declares a kernel, and makes a function of it that launches the
//! kernel through LLVM's offload runtime (libomptarget 21 or later), on whatever
//! device that finds:
//!
//! ```no_run
//! offlink_rt::kernel! {
//!     /// `y = a * x + y`
//!     pub unsafe fn saxpy(x: &[f32], y: &mut [f32], a: f32, n: u64);
//! }
//!
//! # fn main() -> Result<(), offlink_rt::LaunchError> {
//! let (x, mut y) = (vec![1.0; 1000], vec![2.0; 1000]);
//! let grid = offlink_rt::Grid::covering(1000, 256);
//! // SAFETY: the kernel touches no element past the 1000th.
//! unsafe { saxpy(grid, &x, &mut y, 0.5, 1000) }
//! # }
//! ```
//!
//! [`images!`] is for programs that load modules by themselves, through CUDA's or
//! HIP's driver: it yields what the package's build script has linked with
//! `offlink-build`, and [`Images::for_device`] picks the image for a device.
//!
//! Nothing here needs `std`, an allocator or a nightly compiler.
#![no_std]

mod argument;
mod entry;
mod grid;
mod images;
mod launch;

pub use argument::{Argument, Mapping, Plain};
pub use entry::Kernel;
pub use grid::Grid;
pub use images::{Image, Images};
pub use launch::{LaunchError, devices};

#[doc(hidden)]
pub use entry::is_listed;

/// Declares a kernel and makes a function that launches it.
///
/// ```
/// offlink_rt::kernel! {
///     /// Adds one to each of `n` elements.
///     pub unsafe fn increment(data: &mut [u32], n: u64);
/// }
/// offlink_rt::kernel! {
///     unsafe fn decrement(data: &mut [u32], n: u64) = "_Z9decrementPjm";
/// }
/// ```
///
/// becomes `unsafe fn increment(grid: Grid, data: &mut [u32], n: u64) ->
/// Result<(), LaunchError>`, which waits for the kernel's end, and an offload
/// entry by which the runtime finds the kernel `increment` (or what stands behind
/// the `=`) in the program's images. Parameters are [`Argument`]s.
///
/// If the package's build script has linked kernels with `offlink-build`, and none
/// of them has that name, the program does not compile.
///
/// # Safety of the function
/// The kernel takes one pointer that belongs to the runtime, then the declared
/// parameters: an address for each slice, 64 bits for each scalar. It accesses the
/// slices within their bounds, and writes to those that are `&mut` only.
#[macro_export]
macro_rules! kernel {
    ($(#[$attribute:meta])* $visibility:vis unsafe fn $name:ident
        ($($argument:ident: $kind:ty),* $(,)?);) => {
        $crate::kernel! {
            $(#[$attribute])* $visibility unsafe fn $name($($argument: $kind),*) = stringify!($name);
        }
    };
    ($(#[$attribute:meta])* $visibility:vis unsafe fn $name:ident
        ($($argument:ident: $kind:ty),* $(,)?) = $symbol:expr;) => {
        $(#[$attribute])*
        $visibility unsafe fn $name(
            grid: $crate::Grid,
            $($argument: $kind),*
        ) -> ::core::result::Result<(), $crate::LaunchError> {
            const _: () = assert!(
                $crate::is_listed($symbol, ::core::option_env!("OFFLINK_KERNELS")),
                ::core::concat!("offlink-build has linked no kernel '", $symbol, "'"),
            );
            #[used]
            #[cfg_attr(
                not(any(windows, target_vendor = "apple")),
                unsafe(link_section = "llvm_offload_entries")
            )]
            #[cfg_attr(windows, unsafe(link_section = "llvm_offload_entries$OE"))]
            #[cfg_attr(target_vendor = "apple", unsafe(link_section = "__LLVM,offload_entries"))]
            static KERNEL: $crate::Kernel = {
                // The runtime tells kernels apart by an address in the program.
                static REGION: u8 = 0;
                $crate::Kernel::new(&REGION, ::core::concat!($symbol, "\0"))
            };
            const LOCATION: &str = ::core::concat!(
                ";", ::core::file!(), ";", $symbol, ";", ::core::line!(), ";", ::core::column!(), ";;\0"
            );
            // SAFETY: the caller vouches for the kernel.
            unsafe { KERNEL.launch(grid, [$($crate::Argument::map($argument)),*], LOCATION) }
        }
    };
}

/// The images that the package's build script has linked with `offlink-build`
/// under a name: an [`Images`].
///
/// ```text
/// static KERNELS: offlink_rt::Images = offlink_rt::images!("kernels");
/// ```
#[macro_export]
macro_rules! images {
    ($name:literal) => {
        ::core::include!(::core::concat!(::core::env!("OUT_DIR"), "/", $name, ".rs"))
    };
}
