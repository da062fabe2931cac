//! What LLVM has freed, in a process of its own: the allocator's ways hold for all of it.
#![cfg(target_env = "gnu")]

#[path = "device_lto/library_path.rs"]
mod library_path;

use offlink_llvm::{Emit, Keep, Library, OptLevel, Options, link};

const MIB: usize = 1 << 20;

/// Bytes in blocks that glibc gives back as soon as they are free.
fn given_back() -> usize {
    // SAFETY: the call only reads the allocator's figures, under its own lock.
    unsafe { libc::mallinfo2() }.hblkhd
}

/// glibc would keep blocks of a size once a larger one was free.
#[test]
fn big_blocks_go_back_to_the_system() {
    let library = Library::open(&library_path::library_path()).unwrap();
    let options = Options {
        triple: "nvptx64-nvidia-cuda".into(),
        cpu: "sm_90".into(),
        features: String::new(),
        opt_level: OptLevel::O2,
        passes: None,
        exports: Vec::new(),
        keep: Keep::Kernels,
        emit: Emit::Assembly,
    };
    link(library, Vec::new(), &options).unwrap();
    drop(std::hint::black_box(vec![1_u8; 16 * MIB]));
    let before = given_back();
    let block = std::hint::black_box(vec![1_u8; 8 * MIB]);
    assert!(given_back() >= before + 8 * MIB);
    drop(block);
    assert_eq!(given_back(), before);
}
