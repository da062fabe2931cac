//! What the compiler needs to know of `core` for the arithmetic in `gpu.rs`:
//! neither GPU target ships a precompiled `core`.
//!
//! The methods are never called: for primitive types the compiler replaces the
//! operators themselves.
#![allow(dead_code)]

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
impl Copy for bool {}
impl Copy for f32 {}
impl Copy for i32 {}
impl Copy for i64 {}
impl Copy for isize {}
impl Copy for u64 {}
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

#[lang = "eq"]
pub trait PartialEq<R: PointeeSized = Self> {
    fn eq(&self, other: &R) -> bool;
    fn ne(&self, other: &R) -> bool;
}

#[lang = "partial_ord"]
pub trait PartialOrd<R: PointeeSized = Self>: PartialEq<R> {
    fn lt(&self, other: &R) -> bool;
}

impl Mul for f32 {
    type Output = f32;
    #[inline(always)]
    fn mul(self, other: f32) -> f32 {
        self * other
    }
}

impl Mul for i32 {
    type Output = i32;
    #[inline(always)]
    fn mul(self, other: i32) -> i32 {
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

impl Add for i32 {
    type Output = i32;
    #[inline(always)]
    fn add(self, other: i32) -> i32 {
        self + other
    }
}

impl PartialEq for i64 {
    #[inline(always)]
    fn eq(&self, other: &i64) -> bool {
        *self == *other
    }
    #[inline(always)]
    fn ne(&self, other: &i64) -> bool {
        *self != *other
    }
}

impl PartialOrd for i64 {
    #[inline(always)]
    fn lt(&self, other: &i64) -> bool {
        *self < *other
    }
}

/// The address `count` elements after `base`.
#[rustc_intrinsic]
pub const unsafe fn arith_offset<T>(base: *const T, count: isize) -> *const T;
