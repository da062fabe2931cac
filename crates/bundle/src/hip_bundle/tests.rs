use super::*;

// What clang-offload-bundler 22.1.8 wrote; see the README there.
const PLAIN: &[u8] = include_bytes!("../../tests/data/hip-plain.hipfb");
const V2: &[u8] = include_bytes!("../../tests/data/hip-v2.hipfb");
const V3: &[u8] = include_bytes!("../../tests/data/hip-v3.hipfb");

const HSACO: &[u8] = include_bytes!("../../tests/data/device.hsaco");

/// The size of a header of version 3.
const V3_HEADER: usize = 32;

fn entries() -> Vec<Entry<'static>> {
    let entry = |id: Id<'_>, data: &'static [u8]| Entry {
        id: id.to_string(),
        data: Cow::Borrowed(data),
    };
    vec![
        entry(Id::host("x86_64-unknown-linux-gnu"), b""),
        entry(Id::hip("amdgcn-amd-amdhsa", "gfx90a:xnack+"), HSACO),
        entry(Id::hip("amdgcn-amd-amdhsa", "gfx1100"), b"image"),
    ]
}

fn written(compression: Option<Compression>) -> Vec<u8> {
    let mut bytes = Vec::new();
    write(&entries(), ALIGNMENT, compression, &mut bytes).unwrap();
    bytes
}

fn every_compression() -> impl Iterator<Item = Compression> {
    let versions = [CompressedVersion::V2, CompressedVersion::V3];
    versions.into_iter().flat_map(|version| {
        [(Method::Zlib, 6), (Method::Zstd, 3)].map(|(method, level)| Compression {
            version,
            method,
            level,
        })
    })
}

/// The same bundle in version 1: a shorter header before the same stream.
fn version_1(v3: &[u8]) -> Vec<u8> {
    let mut bytes = [&COMPRESSED_MAGIC, [1, 0, v3[6], 0].as_slice()].concat();
    bytes.extend(&v3[16..20]);
    bytes.extend(&v3[24..]);
    bytes
}

#[test]
fn reads_what_the_bundler_wrote() {
    for bytes in [PLAIN, V2, V3, &version_1(V3)] {
        let bundles = parse(bytes).unwrap();
        assert_eq!(bundles.len(), 1);
        assert_eq!(bundles[0].entries, entries());
    }
    assert_eq!(parse(PLAIN).unwrap()[0].compressed, None);
    let header = |version, total_size| Header {
        version,
        method: Method::Zstd,
        total_size,
        inflated_size: PLAIN.len() as u64,
        // md5sum of the bundle that is not compressed: a45784166c41b982d0fb…
        hash: 0x82b9_416c_1684_57a4,
    };
    for (bytes, version) in [(V2, CompressedVersion::V2), (V3, CompressedVersion::V3)] {
        let expected = header(version, Some(bytes.len() as u64));
        assert_eq!(parse(bytes).unwrap()[0].compressed, Some(expected));
    }
    let expected = header(CompressedVersion::V1, None);
    assert_eq!(parse(&version_1(V3)).unwrap()[0].compressed, Some(expected));
}

#[test]
fn writes_byte_for_byte_like_the_bundler() {
    assert_eq!(written(None), PLAIN);
    let images_follow_the_head = {
        let mut bytes = Vec::new();
        write(&entries(), 1, None, &mut bytes).unwrap();
        bytes
    };
    let images = PLAIN.len() - 3 * ALIGNMENT as usize + HSACO.len();
    let head = 24
        + 8
        + entries()
            .iter()
            .map(|entry| 24 + entry.id.len())
            .sum::<usize>();
    assert_eq!(images_follow_the_head.len(), head + images);
    assert_eq!(
        parse(&images_follow_the_head).unwrap()[0].entries,
        entries()
    );
}

#[test]
fn an_alignment_beyond_a_page_is_kept() {
    let mut bytes = Vec::new();
    write(&entries(), 65536, None, &mut bytes).unwrap();
    assert_eq!(bytes.len(), 2 * 65536 + 5);
    assert_eq!(bytes[65536..65536 + HSACO.len()], *HSACO);
    assert_eq!(parse(&bytes).unwrap()[0].entries, entries());
}

#[test]
fn compressed_bundles_give_back_what_was_written() {
    for compression in every_compression() {
        let bytes = written(Some(compression));
        let bundle = parse(&bytes).unwrap().remove(0);
        assert_eq!(bundle.entries, entries(), "{compression:?}");
        let header = bundle.compressed.unwrap();
        assert_eq!(header.version, compression.version);
        assert_eq!(header.method, compression.method);
        assert_eq!(header.total_size, Some(bytes.len() as u64));
    }
    // All but the size of the stream and the stream are the bundler's own bytes.
    let bytes = written(Some(Compression::DEFAULT));
    assert_eq!(bytes[..8], V3[..8]);
    assert_eq!(bytes[16..V3_HEADER], V3[16..V3_HEADER]);

    let version = CompressedVersion::V1;
    let first = Compression {
        version,
        ..Compression::DEFAULT
    };
    let refused = write(&entries(), ALIGNMENT, Some(first), &mut Vec::new());
    assert!(matches!(refused, Err(WriteError::Version)), "{refused:?}");
}

#[test]
fn bundles_follow_one_another_as_in_a_section() {
    let mut bytes = Vec::new();
    let zlib = every_compression().find(|it| it.method == Method::Zlib);
    let parts = [
        PLAIN.to_vec(),
        V3.to_vec(),
        version_1(V3),
        version_1(&written(zlib.map(|it| Compression {
            version: CompressedVersion::V3,
            ..it
        }))),
        V2.to_vec(),
        PLAIN.to_vec(),
    ];
    for part in &parts {
        bytes.resize(bytes.len().next_multiple_of(4096), 0);
        bytes.extend(part);
    }
    bytes.extend([0; 7]);
    let bundles = parse(&bytes).unwrap();
    assert_eq!(bundles.len(), parts.len());
    for bundle in &bundles {
        assert_eq!(bundle.offset % 4096, 0);
        assert_eq!(bundle.entries, entries());
    }
    assert_eq!(parse(&[]).unwrap(), []);
}

#[test]
fn errors_name_the_offset_and_what_is_wrong_there() {
    let with = |bytes: &[u8], offset: usize, new: &[u8]| {
        let mut changed = bytes.to_vec();
        changed[offset..offset + new.len()].copy_from_slice(new);
        parse(&changed).unwrap_err().to_string()
    };
    assert_eq!(
        with(PLAIN, 0, b"A"),
        "no offload bundle at offset 0x0: it starts with bytes [41, 5f, 43, 4c, 41, 4e, 47, 5f]"
    );
    // The entry of the first image follows that of the host, which is 54 bytes long.
    let first = 32 + 24 + "host-x86_64-unknown-linux-gnu-".len();
    assert_eq!(
        with(PLAIN, first + 2, &[1]),
        "the offload bundle at offset 0x0 has the image \
         hip-amdgcn-amd-amdhsa--gfx90a:xnack+ at 0x11000 with 6744 bytes, beyond its 12293 bytes"
    );
    assert_eq!(
        with(PLAIN, first + 1, &[0]),
        "the offload bundle at offset 0x0 has images that overlap"
    );
    assert_eq!(
        with(PLAIN, first + 16 + 7, &[1]),
        "the offload bundle at offset 0x0 is truncated: its ID needs 72057594037927972 bytes, \
         12183 are left"
    );
    assert_eq!(
        with(PLAIN, first + 24, &[0xff]),
        "the offload bundle at offset 0x0 has the ID of entry 1 not in UTF-8"
    );
    assert_eq!(
        with(V3, 4, &[9]),
        "the compressed offload bundle at offset 0x0 has version 9; 1 to 3 are supported"
    );
    assert_eq!(
        with(V3, 6, &[7]),
        "the compressed offload bundle at offset 0x0 has compression method 7; \
         0 (zlib) and 1 (zstd) are supported"
    );
    assert_eq!(
        with(V3, 24, &[0]),
        "the compressed offload bundle at offset 0x0 is damaged: \
         its hash is 82b9416c168457a4, not 82b9416c16845700"
    );
    assert_eq!(
        with(V2, 8, &[0, 0xff]),
        "the offload bundle at offset 0x0 is truncated: its stream needs 65280 bytes, \
         1795 are left"
    );
}

#[test]
fn a_wrong_inflated_size_is_an_error_however_large() {
    let size = PLAIN.len() as u64;
    for compression in every_compression().filter(|it| it.version == CompressedVersion::V3) {
        for wrong in [0, size - 1, size + 1, 1 << 40, u64::MAX] {
            let mut bytes = written(Some(compression));
            bytes[16..24].copy_from_slice(&wrong.to_le_bytes());
            let error = parse(&bytes).unwrap_err();
            assert!(
                matches!(error, ParseError::Inflate { .. }),
                "{wrong}: {error}"
            );
        }
    }
}

#[test]
fn what_is_compressed_has_to_be_a_bundle() {
    let mut bytes = Vec::new();
    let inner = b"CCOB, but not a bundle";
    let stream = zstd::bulk::compress(inner, 3).unwrap();
    let header = Header {
        version: CompressedVersion::V3,
        method: Method::Zstd,
        total_size: Some((V3_HEADER + stream.len()) as u64),
        inflated_size: inner.len() as u64,
        hash: compressed::hash(inner),
    };
    bytes.extend(header.to_bytes().unwrap());
    bytes.extend(stream);
    let error = parse(&bytes).unwrap_err();
    assert!(matches!(error, ParseError::Inner { .. }), "{error}");
}

#[test]
fn no_input_makes_the_reader_panic() {
    let small = |data: &'static [u8], id: &str| Entry {
        id: id.to_owned(),
        data: Cow::Borrowed(data),
    };
    let entries = [
        small(b"", "host-x86_64-unknown-linux-gnu-"),
        small(b"image", "hip-a-b-c--d"),
    ];
    let mut inputs = Vec::new();
    for compression in every_compression().map(Some).chain([None]) {
        let mut bytes = Vec::new();
        write(&entries, 64, compression, &mut bytes).unwrap();
        if compression.is_some_and(|it| it.version == CompressedVersion::V3) {
            inputs.push(version_1(&bytes));
        }
        inputs.push(bytes);
    }
    for bytes in inputs {
        for length in 1..bytes.len() {
            assert!(parse(&bytes[..length]).is_err(), "{length}");
        }
        for bit in 0..bytes.len() * 8 {
            let mut flipped = bytes.clone();
            flipped[bit / 8] ^= 1 << (bit % 8);
            let _ = parse(&flipped);
        }
    }
}
