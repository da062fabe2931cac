use super::*;

// What fatbinary 13.0.88 wrote; see the README there.
const PLAIN: &[u8] = include_bytes!("../../tests/data/fatbin-plain.fatbin");
const NAMED: &[u8] = include_bytes!("../../tests/data/fatbin-named.fatbin");
const ZSTD: &[u8] = include_bytes!("../../tests/data/fatbin-zstd.fatbin");
const LZ4: &[u8] = include_bytes!("../../tests/data/fatbin-lz4.fatbin");

const PTX: &[u8] = include_bytes!("../../tests/data/fatbin.ptx");
const CUBIN: &[u8] = include_bytes!("../../tests/data/device.cubin");

fn only(bytes: &[u8]) -> Vec<Entry<'_>> {
    let mut fatbins = parse(bytes).unwrap();
    assert_eq!(fatbins.len(), 1);
    fatbins.remove(0).entries
}

fn written(entries: &[Entry<'_>]) -> Vec<u8> {
    let mut bytes = Vec::new();
    write(entries, &mut bytes).unwrap();
    bytes
}

#[test]
fn reads_what_fatbinary_wrote() {
    let entries = only(PLAIN);
    let names: Vec<_> = entries
        .iter()
        .map(|entry| (entry.kind, entry.arch.to_string(), entry.version))
        .collect();
    let expected = [
        (Kind::Elf, "sm_75", (1, 8)),
        (Kind::Ptx, "sm_75", (8, 8)),
        (Kind::Elf, "sm_90a", (1, 8)),
        (Kind::Elf, "sm_100f", (1, 8)),
    ];
    assert_eq!(
        names,
        expected.map(|(kind, arch, version)| (kind, arch.to_owned(), version))
    );
    assert_eq!(entries[1].data, PTX);
    assert!(entries[0].data.starts_with(b"\x7fELF"));
    assert_eq!(entries[0].options, None);
    assert_eq!(entries[1].options.as_deref(), Some(b"".as_slice()));
    assert_eq!(entries[2].flags, FLAG_64_BIT | FLAG_HOST_LINUX);
    // The start of the section .nv.compat as readelf shows it.
    let options = entries[3].options.as_deref().unwrap();
    assert_eq!(options[..8], [2, 9, 0, 0, 2, 2, 1, 0]);
    assert_eq!(options.len(), 0x24);
    assert_eq!(
        entries[3].flags,
        FLAG_64_BIT | FLAG_HOST_LINUX | FLAG_COMPATIBILITY
    );
}

#[test]
fn makes_of_the_images_what_fatbinary_makes_of_them() {
    let entries = only(PLAIN);
    let made: Vec<_> = entries
        .iter()
        .map(|entry| Entry::from_image(&entry.arch.to_string(), &entry.data).unwrap())
        .collect();
    assert_eq!(made, entries);
    assert_eq!(written(&made), PLAIN);
}

#[test]
fn writes_identifiers_and_options_as_fatbinary_does() {
    let entries = only(NAMED);
    let cubin = entries[1].data.clone();
    let mut made = [
        Entry::from_image("sm_120a", PTX).unwrap(),
        Entry::from_image("sm_120a", &cubin).unwrap(),
    ];
    for entry in &mut made {
        entry.identifier = Some(Cow::Borrowed(b"fatbin.u"));
    }
    made[0].options = Some(Cow::Borrowed(b"-v -O3"));
    assert_eq!(made.as_slice(), entries);
    assert_eq!(written(&made), NAMED);
}

#[test]
fn reads_both_manners_of_compression() {
    let cubin = only(PLAIN).remove(0).data;
    for (bytes, compression) in [(ZSTD, Compression::ZSTD), (LZ4, Compression::Lz4)] {
        let entries = only(bytes);
        assert_eq!(entries.len(), 2);
        assert_eq!(entries[0].data, cubin, "{compression:?}");
        assert_eq!(entries[1].data, PTX, "{compression:?}");
        for entry in &entries {
            assert_eq!(entry.compression, compression);
        }
    }
    // -g sets the flag, and for that reason the cubin was compressed.
    assert_eq!(only(ZSTD)[0].flags & FLAG_DEBUG, FLAG_DEBUG);
    assert!(only(ZSTD).iter().all(Entry::is_compressed_by_default));
    assert!(!only(LZ4)[0].is_compressed_by_default());
}

#[test]
fn compresses_with_zstd_as_fatbinary_does() {
    let mut entries = only(ZSTD);
    // Holds for the zstd that both are built with; another may choose otherwise.
    assert_eq!(written(&entries), ZSTD);
    entries[0].compression = Compression::ZSTD_SMALLEST;
    assert!(written(&entries).len() < ZSTD.len());
}

#[test]
fn ptx_of_every_length_ends_with_a_nul() {
    for length in PTX.len()..PTX.len() + 9 {
        let mut text = PTX.to_vec();
        text.resize(length, b'\n');
        let bytes = written(&[Entry::from_image("sm_75", &text).unwrap()]);
        assert_eq!(bytes.len() % ALIGNMENT, 0);
        assert_eq!(bytes.last(), Some(&0));
        assert_eq!(only(&bytes)[0].data, text);
    }
}

#[test]
fn compressed_entries_give_back_what_was_written() {
    let levels = [1, 3, 19].map(|level| Compression::Zstd { level });
    for compression in levels.into_iter().chain([Compression::Lz4]) {
        let mut entries = [
            Entry::from_image("sm_90", CUBIN).unwrap(),
            Entry::from_image("sm_90a", PTX).unwrap(),
        ];
        for entry in &mut entries {
            entry.compression = compression;
        }
        let bytes = written(&entries);
        assert!(bytes.len() < CUBIN.len() / 2);
        for (read, entry) in only(&bytes).iter().zip(&entries) {
            assert_eq!(read.data, entry.data);
            assert_eq!((read.arch, read.flags), (entry.arch, entry.flags));
        }
    }
}

#[test]
fn fatbins_follow_one_another_as_in_a_section() {
    let bytes = [ZSTD, &[0; 40], NAMED, &[0; 3]].concat();
    let fatbins = parse(&bytes).unwrap();
    assert_eq!(fatbins.len(), 2);
    assert_eq!(fatbins[0].entries, only(ZSTD));
    assert_eq!(fatbins[1].entries, only(NAMED));
    assert_eq!(fatbins[1].offset, ZSTD.len() + 40);
    // At an odd address, too.
    assert_eq!(
        parse(&[&[1], bytes.as_slice()].concat()[1..]).unwrap(),
        fatbins
    );
    assert_eq!(parse(&[]).unwrap(), []);
}

#[test]
fn images_for_another_architecture_are_refused() {
    let refused = |arch, image| Entry::from_image(arch, image).unwrap_err().to_string();
    assert_eq!(
        refused("sm_80", CUBIN),
        "the cubin for sm_80 was compiled for sm_90"
    );
    assert_eq!(
        refused("sm_70", PTX),
        "the PTX for sm_70 was compiled for sm_75"
    );
    assert_eq!(
        refused("gfx90a", CUBIN),
        "\"gfx90a\" is no NVIDIA architecture; they are written like sm_90 or sm_90a"
    );
    assert_eq!(
        refused("sm_90", b"BC\xc0\xde"),
        "the image for sm_90 is LLVM bitcode, not PTX or a cubin"
    );
    assert_eq!(
        refused("sm_90", b".version 8.8\n.visible"),
        "the PTX for sm_90 has no valid .target directive"
    );
}

#[test]
fn cubins_before_cuda_13_have_their_architecture_elsewhere() {
    // The values that ptxas 12.9.86 writes for sm_90a.
    let mut cubin = CUBIN.to_vec();
    cubin[7..9].copy_from_slice(&[0x33, 7]);
    cubin[48..52].copy_from_slice(&[0x5a, 0x0d, 0x5a, 0]);
    let entry = Entry::from_image("sm_90a", &cubin).unwrap();
    assert_eq!(entry.version, (1, 7));
    assert!(Entry::from_image("sm_13", &cubin).is_err());
}

#[test]
fn errors_name_the_offset_and_what_is_wrong_there() {
    let second = 16 + 64 + only(PLAIN)[0].data.len();
    let with = |offset: usize, bytes: &[u8]| {
        let mut changed = PLAIN.to_vec();
        changed[offset..offset + bytes.len()].copy_from_slice(bytes);
        parse(&changed).unwrap_err().to_string()
    };
    assert_eq!(
        with(0, b"\x7fELF"),
        "no fatbin at offset 0x0: it starts with bytes [7f, 45, 4c, 46]"
    );
    assert_eq!(
        with(4, &[9]),
        "the fatbin at offset 0x0 has version 0x9, which is not supported"
    );
    assert_eq!(
        with(6, &[8]),
        "the fatbin at offset 0x0 has a header of 8 bytes only"
    );
    assert_eq!(
        with(8, &[0xff, 0xff]),
        "the fatbin at offset 0x0 is truncated: it needs 65551 bytes, 12048 are left"
    );
    assert_eq!(
        with(second + 2, &[2]),
        "the fatbin entry at offset 0xb78 has version 0x102, which is not supported"
    );
    assert_eq!(
        with(second + 11, &[1]),
        "the fatbin entry at offset 0xb78 is truncated: it needs 16777456 bytes, 9112 are left"
    );
    assert_eq!(
        with(second + 0x44, &[0xff]),
        "the fatbin entry at offset 0xb78 has its options outside of its 80 bytes"
    );
    assert_eq!(
        with(second + 0x38, &[1]),
        "the fatbin entry at offset 0xb78 is compressed in an unknown manner: its flags are 0x11"
    );
}

#[test]
fn a_wrong_inflated_size_is_an_error_however_large() {
    for bytes in [ZSTD, LZ4] {
        let size = only(bytes)[0].data.len() as u64;
        for wrong in [0, size - 1, size + 1, 1 << 31, 1 << 40, u64::MAX] {
            let mut changed = bytes.to_vec();
            changed[16 + 56..16 + 64].copy_from_slice(&wrong.to_le_bytes());
            let error = parse(&changed).unwrap_err();
            assert!(
                matches!(error, ParseError::Inflate { .. }),
                "{wrong}: {error}"
            );
        }
    }
}

#[test]
fn no_input_makes_the_reader_panic() {
    // All but the first few bytes of an image are passed through as they are.
    let small = |arch| {
        let mut entry = Entry::from_image(arch, PTX).unwrap();
        entry.identifier = Some(Cow::Borrowed(b"name"));
        entry
    };
    let inputs = [
        ZSTD.to_vec(),
        LZ4.to_vec(),
        written(&[small("sm_90a"), small("sm_100f")]),
    ];
    for bytes in inputs {
        for length in 0..bytes.len() {
            assert!(parse(&bytes[..length]).is_err() || length == 0, "{length}");
        }
        for bit in 0..bytes.len() * 8 {
            let mut flipped = bytes.clone();
            flipped[bit / 8] ^= 1 << (bit % 8);
            let _ = parse(&flipped);
        }
    }
}

#[test]
fn no_image_makes_an_entry_of_it_panic() {
    for image in [PTX, &only(PLAIN)[3].data] {
        for length in 0..image.len() {
            let _ = Entry::from_image("sm_100f", &image[..length]);
        }
        // One bit of each byte, as cubins are long.
        for byte in 0..image.len() {
            let mut flipped = image.to_vec();
            flipped[byte] ^= 1 << (byte % 8);
            let _ = Entry::from_image("sm_100f", &flipped);
        }
    }
}
