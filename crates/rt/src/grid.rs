//! How many threads run a kernel.

/// Blocks of threads, each in three dimensions, and the device to run them on.
///
/// libomptarget's CPU device calls a kernel once for a whole grid.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Grid {
    pub(crate) blocks: [u32; 3],
    pub(crate) threads: [u32; 3],
    pub(crate) shared_bytes: u32,
    pub(crate) device: i64,
}

/// The runtime's number for the default device (`OMP_DEFAULT_DEVICE` sets it).
const DEFAULT_DEVICE: i64 = -1;

impl Grid {
    /// `blocks` blocks of `threads` threads, in x, y and z, on the default device.
    pub const fn new(blocks: [u32; 3], threads: [u32; 3]) -> Self {
        Self {
            blocks,
            threads,
            shared_bytes: 0,
            device: DEFAULT_DEVICE,
        }
    }

    /// As many blocks of `threads` threads as have one thread for each of `count`
    /// elements, and at least one block. Past 2³² - 1 blocks it stays there.
    ///
    /// # Panics
    /// If `threads` is 0.
    pub const fn covering(count: usize, threads: u32) -> Self {
        let blocks = count.div_ceil(threads as usize);
        let blocks = if blocks == 0 { 1 } else { blocks };
        let most = u32::MAX as usize;
        let blocks = if blocks > most { most } else { blocks };
        Self::new([blocks as u32, 1, 1], [threads, 1, 1])
    }

    /// With so many bytes of shared memory for each block, beside what the kernel
    /// declares itself.
    #[must_use]
    pub const fn shared_bytes(self, bytes: u32) -> Self {
        Self {
            shared_bytes: bytes,
            ..self
        }
    }

    /// On the device of this number, counted from 0 as
    /// [`devices`](crate::devices) counts them.
    #[must_use]
    pub const fn on(self, device: u32) -> Self {
        Self {
            device: device as i64,
            ..self
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_cover_the_elements() {
        let blocks = |count| Grid::covering(count, 256).blocks;
        assert_eq!(blocks(0), [1, 1, 1]);
        assert_eq!(blocks(256), [1, 1, 1]);
        assert_eq!(blocks(257), [2, 1, 1]);
        assert_eq!(blocks(usize::MAX), [u32::MAX, 1, 1]);
    }
}
