//! What the compiler needs to know of `core` for the arithmetic of the kernels:
//! neither GPU target ships a precompiled `core`.
#![feature(
    abi_unadjusted,
    auto_traits,
    intrinsics,
    lang_items,
    link_llvm_intrinsics,
    no_core,
    rustc_attrs
)]
#![allow(internal_features)]
#![no_core]

#[lang = "pointee_sized"]
pub trait PointeeSized {}
#[lang = "meta_sized"]
pub trait MetaSized: PointeeSized {}
#[lang = "sized"]
pub trait Sized: MetaSized {}
#[lang = "legacy_receiver"]
pub trait LegacyReceiver {}
#[lang = "freeze"]
unsafe auto trait Freeze {}
#[lang = "copy"]
pub trait Copy {}

impl<T: PointeeSized> LegacyReceiver for &T {}
impl Copy for f32 {}
impl Copy for i32 {}
impl Copy for isize {}
impl<T: PointeeSized> Copy for *const T {}
impl<T: PointeeSized> Copy for *mut T {}

#[lang = "mul"]
pub trait Mul<R = Self> {
    type Output;
    fn mul(self, other: R) -> Self::Output;
}

#[lang = "add"]
pub trait Add<R = Self> {
    type Output;
    fn add(self, other: R) -> Self::Output;
}

impl Mul for f32 {
    type Output = f32;
    #[inline(always)]
    fn mul(self, other: f32) -> f32 {
        self * other
    }
}

impl Add for f32 {
    type Output = f32;
    #[inline(always)]
    fn add(self, other: f32) -> f32 {
        self + other
    }
}

/// The address `count` elements after `base`.
#[rustc_intrinsic]
pub const unsafe fn arith_offset<T>(base: *const T, count: isize) -> *const T;

/// `a * x + y`, in this crate's object: the kernel's link has to find it there.
#[inline(never)]
pub fn multiply_add(a: f32, x: f32, y: f32) -> f32 {
    a * x + y
}

/// The number of the thread in its block.
#[inline(never)]
pub fn thread() -> i32 {
    raw_thread()
}

#[cfg(target_arch = "nvptx64")]
unsafe extern "unadjusted" {
    #[link_name = "llvm.nvvm.read.ptx.sreg.tid.x"]
    safe fn raw_thread() -> i32;
}

#[cfg(target_arch = "amdgpu")]
unsafe extern "unadjusted" {
    #[link_name = "llvm.amdgcn.workitem.id.x"]
    safe fn raw_thread() -> i32;
}
