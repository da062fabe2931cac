use super::*;

/// Three binaries that llvm-offload-binary 22.1.8 wrote; see the README there.
const PACKAGED: &[u8] = include_bytes!("../../tests/data/packaged.bin");

fn packaged() -> Vec<Image<'static>> {
    let image = |image_kind, offload_kind, strings: &[(&str, &str)], data| Image {
        image_kind,
        offload_kind,
        flags: 0,
        strings: strings
            .iter()
            .map(|(key, value)| ((*key).to_owned(), value.as_bytes().to_vec()))
            .collect(),
        data: Cow::Borrowed(data),
    };
    vec![
        image(
            ImageKind::Bitcode,
            OffloadKind::Hip,
            &[
                ("feature", "+sramecc"),
                ("arch", "gfx90a:xnack+"),
                ("triple", "amdgcn-amd-amdhsa"),
            ],
            b"BC\xc0\xdecode".as_slice(),
        ),
        image(
            ImageKind::Ptx,
            OffloadKind::Cuda,
            &[("arch", "sm_70"), ("triple", "nvptx64-nvidia-cuda")],
            b"image",
        ),
        image(
            ImageKind::Ptx,
            OffloadKind::OpenMp,
            &[("arch", ""), ("triple", "x86_64-unknown-linux-gnu")],
            b"image",
        ),
    ]
}

fn written(images: &[Image<'_>], version: Version) -> Vec<u8> {
    let mut bytes = Vec::new();
    write(images, version, &mut bytes).unwrap();
    bytes
}

const COMPRESSED: [Version; 2] = [
    Version::V3(Compression::DEFAULT),
    Version::V3(Compression::Zlib { level: 6 }),
];

#[test]
fn reads_what_the_packager_wrote() {
    assert_eq!(parse(PACKAGED).unwrap(), packaged());
    assert_eq!(packaged()[1].triple(), "nvptx64-nvidia-cuda");
    assert_eq!(packaged()[1].arch(), "sm_70");
}

#[test]
fn writes_version_1_byte_for_byte_like_the_packager() {
    let mut images = packaged();
    images.iter_mut().for_each(|image| image.strings.reverse());
    images
        .iter_mut()
        .for_each(Image::sort_strings_like_packager);
    assert_eq!(written(&images, Version::V1), PACKAGED);
}

#[test]
fn every_version_gives_back_what_was_written() {
    let uncompressed = [Version::V1, Version::V2, Version::V3(Compression::None)];
    for version in uncompressed.into_iter().chain(COMPRESSED) {
        let bytes = written(&packaged(), version);
        assert_eq!(parse(&bytes).unwrap(), packaged(), "{version:?}");
    }
}

#[test]
fn later_versions_hold_metadata_and_values_with_nul_bytes() {
    let mut image = packaged().remove(0);
    image.strings[0].1 = b"a\0b\0".to_vec();
    let refused = write(std::slice::from_ref(&image), Version::V1, &mut Vec::new());
    assert!(
        matches!(refused, Err(WriteError::Nul { .. })),
        "{refused:?}"
    );
    image.flags = FLAG_METADATA;
    image.data = Cow::Borrowed(&[]);
    let images = [image];
    for version in [Version::V2].into_iter().chain(COMPRESSED) {
        assert_eq!(parse(&written(&images, version)).unwrap(), images);
    }
    let refused = write(&images, Version::V1, &mut Vec::new());
    assert!(matches!(refused, Err(WriteError::Metadata)), "{refused:?}");
}

#[test]
fn version_2_lays_its_parts_out_as_documented() {
    let bytes = written(&packaged()[1..], Version::V2);
    let word = |offset: usize| u64::from_le_bytes(bytes[offset..offset + 8].try_into().unwrap());
    assert_eq!(bytes[4..8], [2, 0, 0, 0]);
    assert_eq!(word(8), bytes.len() as u64);
    assert_eq!(word(16), 32, "where the entries start");
    assert_eq!(word(24), 2, "the number of entries");
    assert_eq!(word(32 + 8), 32 + 2 * 40, "the first string map");
    assert_eq!(word(72 + 8), word(40) + 2 * 24, "the second string map");
    // Images follow one another without padding.
    assert_eq!(word(72 + 24), word(32 + 24) + 5);
    assert_eq!(word(32 + 24) % 8, 0);
    // An element of a string map ends with the size of its value.
    assert_eq!(word(112 + 16), "sm_70".len() as u64);
}

#[test]
fn a_compressed_binary_states_both_sizes() {
    for version in COMPRESSED {
        let mut bytes = written(&packaged(), version);
        let whole = written(&packaged(), Version::V3(Compression::None));
        assert_eq!(bytes[8..16], (bytes.len() as u64).to_le_bytes());
        assert_eq!(bytes[32..40], (whole.len() as u64).to_le_bytes());

        // The stream may not be longer than the header says, nor shorter.
        for wrong in [whole.len() - 1, whole.len() + 1] {
            bytes[32..40].copy_from_slice(&(wrong as u64).to_le_bytes());
            let error = parse(&bytes).unwrap_err();
            assert!(matches!(error, ParseError::Inflate { .. }), "{error}");
        }
    }
}

#[test]
fn binaries_of_all_versions_follow_one_another() {
    let mut bytes = written(&packaged(), Version::V3(Compression::DEFAULT));
    bytes.resize(bytes.len().next_multiple_of(64), 0);
    bytes.extend(written(&packaged(), Version::V1));
    bytes.extend(written(&packaged(), Version::V2));
    let expected: Vec<_> = [packaged(), packaged(), packaged()].concat();
    assert_eq!(parse(&bytes).unwrap(), expected);

    // At an odd address, too.
    let moved = [&[0xff], bytes.as_slice()].concat();
    assert_eq!(parse(&moved[1..]).unwrap(), expected);
}

#[test]
fn errors_name_the_offset_and_what_is_wrong_there() {
    let second = 0xc0;
    assert_eq!(PACKAGED[second..second + 4], MAGIC);
    let with = |offset: usize, bytes: &[u8]| {
        let mut changed = PACKAGED.to_vec();
        changed[second + offset..second + offset + bytes.len()].copy_from_slice(bytes);
        parse(&changed).unwrap_err().to_string()
    };
    assert_eq!(
        with(0, b"no"),
        "no offload binary at offset 0xc0: it starts with bytes [6e, 6f, 10, ad]"
    );
    assert_eq!(
        with(4, &[9]),
        "the offload binary at offset 0xc0 has version 9; 1 to 3 are supported"
    );
    assert_eq!(
        with(8, &[0xff, 0xff]),
        "the offload binary at offset 0xc0 is truncated: it needs 65535 bytes, 304 are left"
    );
    assert_eq!(
        with(0x39, &[0xff]),
        "the offload binary at offset 0xc0 has its image at 0xff90 with 5 bytes, beyond its 152 bytes"
    );
    assert_eq!(
        with(0x2f, &[0xff]),
        "the offload binary at offset 0xc0 has its string map at 0xff00000000000048 with 32 bytes, \
         beyond its 152 bytes"
    );
}

#[test]
fn no_input_makes_the_reader_panic() {
    let inputs = [Version::V1, Version::V2, Version::V3(Compression::None)];
    for version in inputs.into_iter().chain(COMPRESSED) {
        let bytes = written(&packaged(), version);
        for length in 0..bytes.len() {
            let _ = parse(&bytes[..length]);
        }
        for bit in 0..bytes.len() * 8 {
            let mut flipped = bytes.clone();
            flipped[bit / 8] ^= 1 << (bit % 8);
            let _ = parse(&flipped);
        }
    }
}

#[test]
fn entries_that_share_an_image_are_refused() {
    let images = [packaged().remove(1), packaged().remove(1)];
    let mut bytes = written(&images, Version::V2);
    for entry in [32, 72] {
        bytes[entry + 24..entry + 32].copy_from_slice(&0_u64.to_le_bytes());
        let size = bytes.len() as u64;
        bytes[entry + 32..entry + 40].copy_from_slice(&size.to_le_bytes());
    }
    let error = parse(&bytes).unwrap_err();
    assert!(
        matches!(error, ParseError::Overlap { part: "images", .. }),
        "{error}"
    );
}

#[test]
fn the_kind_of_a_file_is_told_by_its_magic_and_then_its_extension() {
    let kind = |name: &str, bytes: &[u8]| ImageKind::of_file(name.as_ref(), bytes);
    assert_eq!(kind("a.o", b"BC\xc0\xde"), ImageKind::Bitcode);
    assert_eq!(kind("a.o", b"\x7fELF"), ImageKind::Object);
    assert_eq!(kind("a.cubin", b"\x7fELF"), ImageKind::Cubin);
    assert_eq!(kind("dir.o/a", b"\x7fELF"), ImageKind::None);
}
