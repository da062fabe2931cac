//! What a kernel is called with.

use core::ffi::c_void;
use core::mem::MaybeUninit;
use core::ptr;

/// The runtime's flags for an argument (`tgt_map_type`, LLVM 22): copy to the
/// device before, copy back after, hand to the kernel, hand over the word itself.
const TO: i64 = 0x1;
const FROM: i64 = 0x2;
const TARGET_PARAM: i64 = 0x20;
const LITERAL: i64 = 0x100;

/// One argument as the runtime takes it.
#[derive(Clone, Copy, Debug)]
pub struct Mapping {
    pub(crate) value: *mut c_void,
    pub(crate) size: i64,
    pub(crate) flags: i64,
}

impl Mapping {
    fn word(bits: u64) -> Self {
        Self {
            value: ptr::without_provenance_mut(bits as usize),
            size: 8,
            flags: TARGET_PARAM | LITERAL,
        }
    }

    fn memory<T>(start: *const T, bytes: usize, direction: i64) -> Self {
        Self {
            value: start.cast_mut().cast(),
            size: bytes as i64,
            flags: TARGET_PARAM | direction,
        }
    }
}

/// Data that means the same in a device's memory.
///
/// # Safety
/// The type has no pointers and no references into host memory, and any bytes
/// that a kernel writes are a value of it.
pub unsafe trait Plain: Copy {}

/// What a kernel's parameter can be:
///
/// - `&[T]` is copied to the device, `&mut [T]` there and back,
///   `&mut [MaybeUninit<T>]` back only; the kernel gets the address of the copy;
/// - a number goes to the kernel as 64 bits, sign-extended if it is signed; of an
///   `f32` the low half are the bits;
/// - a raw pointer goes as it is, for memory that is on the device already (that
///   of `omp_target_alloc`).
pub trait Argument {
    /// The argument as the runtime takes it, valid as long as `self` would be.
    fn map(self) -> Mapping;
}

impl<T: Plain> Argument for &[T] {
    fn map(self) -> Mapping {
        Mapping::memory(self.as_ptr(), size_of_val(self), TO)
    }
}

impl<T: Plain> Argument for &mut [T] {
    fn map(self) -> Mapping {
        Mapping::memory(self.as_mut_ptr(), size_of_val(self), TO | FROM)
    }
}

impl<T: Plain> Argument for &mut [MaybeUninit<T>] {
    fn map(self) -> Mapping {
        Mapping::memory(self.as_mut_ptr(), size_of_val(self), FROM)
    }
}

impl<T> Argument for *const T {
    fn map(self) -> Mapping {
        Mapping {
            value: self.cast_mut().cast(),
            ..Mapping::word(0)
        }
    }
}

impl<T> Argument for *mut T {
    fn map(self) -> Mapping {
        self.cast_const().map()
    }
}

impl Argument for f32 {
    fn map(self) -> Mapping {
        Mapping::word(self.to_bits().into())
    }
}

impl Argument for f64 {
    fn map(self) -> Mapping {
        Mapping::word(self.to_bits())
    }
}

macro_rules! integers {
    ($($kind:ty)*) => {$(
        // SAFETY: an integer; all bits are a value.
        unsafe impl Plain for $kind {}

        impl Argument for $kind {
            fn map(self) -> Mapping {
                // As wide as the word by the type's own sign.
                Mapping::word(self as u64)
            }
        }
    )*};
}

integers!(u8 u16 u32 u64 usize i8 i16 i32 i64 isize);

// SAFETY: all bits are a value.
unsafe impl Plain for f32 {}
// SAFETY: all bits are a value.
unsafe impl Plain for f64 {}
// SAFETY: as its elements, which lie side by side.
unsafe impl<T: Plain, const N: usize> Plain for [T; N] {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_words() {
        assert_eq!((-1i32).map().value.addr(), usize::MAX);
        assert_eq!(200u8.map().value.addr(), 200);
        assert_eq!(1.0f32.map().value.addr(), 0x3f80_0000);
        assert_eq!(1.0f64.map().flags, 0x120);
    }

    #[test]
    fn slices_are_copied_as_their_types_say() {
        let mut data = [1u16, 2, 3];
        let mapping = data[..].map();
        assert_eq!((mapping.size, mapping.flags), (6, 0x21));
        assert_eq!(mapping.value.cast_const().cast(), data.as_ptr());
        assert_eq!((&mut data[..]).map().flags, 0x23);
        let mut fresh = [MaybeUninit::<u64>::uninit(); 2];
        let mapping = (&mut fresh[..]).map();
        assert_eq!((mapping.size, mapping.flags), (16, 0x22));
    }
}
