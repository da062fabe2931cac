//! How memory that LLVM has freed goes back to the system.

/// From this size in bytes, glibc asks the system for a block and gives it back when it is freed.
///
/// By itself glibc raises that size to the largest block freed so far, up to 32 MiB, by "Memory Allocation Tunables"
/// of its manual; what LLVM frees of big modules would then stay with the threads that had it.
#[cfg(target_env = "gnu")]
const GIVEN_BACK: i32 = 1 << 20;

/// Has big blocks given back as soon as they are free. Does nothing where the C library isn't glibc.
pub(crate) fn give_back() {
    #[cfg(target_env = "gnu")]
    {
        static ONCE: std::sync::Once = std::sync::Once::new();
        // SAFETY: the call takes glibc's own lock and changes no block that is in use.
        ONCE.call_once(|| unsafe {
            libc::mallopt(libc::M_MMAP_THRESHOLD, GIVEN_BACK);
        });
    }
}
