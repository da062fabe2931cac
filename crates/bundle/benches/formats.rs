//! How long the functions take that a link calls for each of its inputs and images.
//!
//! `cargo bench -p offlink-bundle`; the data are the fixtures of this crate's tests.

use divan::{Bencher, black_box};
use offlink_bundle::fatbin::{self, Entry};
use offlink_bundle::offload_binary::{self, Image, ImageKind, OffloadKind, Version};
use offlink_bundle::{entry, image};
use std::io;

const OBJECT: &[u8] = include_bytes!("../tests/data/entries.o");
const PROGRAM: &[u8] = include_bytes!("../tests/data/linked-pie");
const CUBIN: &[u8] = include_bytes!("../tests/data/device.cubin");

/// Numbers of images in one container.
const IMAGES: [usize; 3] = [1, 8, 64];

fn main() {
    divan::main();
}

#[divan::bench]
fn size_of_entries_of_an_object() -> u64 {
    entry::entries_size(black_box(OBJECT)).unwrap()
}

#[divan::bench]
fn entries_of_a_program() -> usize {
    entry::read(black_box(PROGRAM)).unwrap().len()
}

#[divan::bench]
fn kernels_of_a_cubin() -> usize {
    image::kernels(black_box(CUBIN)).unwrap().len()
}

#[divan::bench(args = IMAGES)]
fn parse_an_offload_binary(bencher: Bencher<'_, '_>, count: usize) {
    let image = Image::new(
        ImageKind::Cubin,
        OffloadKind::Cuda,
        "nvptx64-nvidia-cuda",
        "sm_90",
        CUBIN,
    );
    let mut binary = Vec::new();
    offload_binary::write(&vec![image; count], Version::V1, &mut binary).unwrap();
    bencher.bench(|| offload_binary::parse(black_box(&binary)).unwrap().len());
}

#[divan::bench(args = IMAGES)]
fn write_a_fatbin(bencher: Bencher<'_, '_>, count: usize) {
    let entries: Vec<_> = (0..count)
        .map(|_| Entry::from_image("sm_90", CUBIN).unwrap())
        .collect();
    bencher.bench(|| fatbin::write(black_box(&entries), &mut io::sink()).unwrap());
}
