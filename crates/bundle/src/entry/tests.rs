use super::*;

macro_rules! fixture {
    ($name:literal) => {
        include_bytes!(concat!("../../tests/data/", $name)).as_slice()
    };
}

const OBJECT: &[u8] = fixture!("entries.o");

fn entry(name: &str, flags: u32, size: u64, data: u64) -> OffloadEntry {
    OffloadEntry {
        version: 1,
        kind: 1,
        flags,
        size,
        data,
        name: name.to_owned(),
    }
}

fn alpha_and_beta() -> Vec<OffloadEntry> {
    vec![entry("alpha", 0, 0, 0), entry("beta", 16, 4, 7)]
}

#[test]
fn reads_objects_of_clang_and_rustc() {
    assert_eq!(read_object(OBJECT).unwrap(), alpha_and_beta());
    assert_eq!(
        read_object(fixture!("target.o")).unwrap(),
        [
            entry("total", 0, 4, 0),
            entry("__omp_offloading_fe00_510161_add_l5", 0, 0, 0)
        ]
    );
    // Each entry of rustc is in a section of its own, of one name.
    assert_eq!(
        read_object(fixture!("entries-rust.o")).unwrap(),
        [entry("scale", 0, 0, 0), entry("offset", 0, 4, 0)]
    );
}

#[test]
fn reads_linked_files_however_their_pointers_are_relocated() {
    for file in [
        fixture!("linked-exec"),
        fixture!("linked-pie"),
        fixture!("linked-pie-bfd"),
        fixture!("linked-pie-stripped"),
        fixture!("linked-relr.so"),
    ] {
        assert_eq!(read_linked(file).unwrap(), alpha_and_beta());
        assert_eq!(entries_size(file).unwrap(), 112);
    }
}

#[test]
fn reads_files_of_windows() {
    let (object, library) = (fixture!("entries.obj"), fixture!("linked.dll"));
    assert_eq!(read_object(object).unwrap(), alpha_and_beta());
    assert_eq!(read_linked(library).unwrap(), alpha_and_beta());
    for file in [object, library] {
        assert_eq!(entries_size(file).unwrap(), 112);
        assert_eq!(legacy_entries(file).unwrap(), None);
    }
    assert!(matches!(read_object(library), Err(Error::Coff(_))));
}

#[test]
fn a_file_without_section_headers_is_refused() {
    let file = fixture!("linked-no-sections");
    assert!(matches!(read_linked(file), Err(Error::NoSectionHeaders)));
    assert!(matches!(entries_size(file), Err(Error::NoSectionHeaders)));
}

#[test]
fn the_two_readers_refuse_each_others_files() {
    assert!(matches!(
        read_linked(OBJECT),
        Err(Error::FileType { found: 1, .. })
    ));
    let linked = read_object(fixture!("linked-exec"));
    assert!(matches!(linked, Err(Error::FileType { found: 2, .. })));
    assert!(matches!(
        read_object(b"!<arch>\n"),
        Err(Error::Elf(ElfError::Magic))
    ));
}

#[test]
fn sizes_are_summed_over_sections() {
    assert_eq!(entries_size(OBJECT).unwrap(), 112);
    assert_eq!(entries_size(fixture!("entries-rust.o")).unwrap(), 112);
    assert_eq!(entries_size(fixture!("device.so")).unwrap(), 112);
    assert_eq!(entries_size(fixture!("device-rel.cubin")).unwrap(), 0);
}

#[test]
fn entries_of_older_compilers_are_noticed() {
    let old = fixture!("target-19.o");
    assert_eq!(legacy_entries(old).unwrap(), Some("omp_offloading_entries"));
    assert_eq!(read_object(old).unwrap(), []);
    assert_eq!(legacy_entries(OBJECT).unwrap(), None);
}

/// Where the contents of section `llvm_offload_entries` start in [`OBJECT`].
fn entries_start() -> usize {
    let elf = Elf::parse(OBJECT).unwrap();
    let section = elf.named(ENTRIES_SECTION).unwrap()[0];
    elf.sections[section].sh_offset as usize
}

/// Where the relocations of that section start.
fn relocations_start() -> usize {
    let elf = Elf::parse(OBJECT).unwrap();
    let section = elf.named(".relallvm_offload_entries").unwrap()[0];
    elf.sections[section].sh_offset as usize
}

#[test]
fn an_entry_without_a_readable_name_is_named_by_its_position() {
    // Relocations are 24 bytes; each entry has one of its address and of its name.
    let second_name = relocations_start() + 3 * 24;
    let mut moved = OBJECT.to_vec();
    moved[second_name + 16..second_name + 24].copy_from_slice(&1000_u64.to_le_bytes());
    let error = read_object(&moved).unwrap_err().to_string();
    assert_eq!(
        error,
        "the name of offload entry 1 can't be read: it points to no NUL-terminated string"
    );

    let mut missing = OBJECT.to_vec();
    missing[second_name..second_name + 8].copy_from_slice(&0x1000_u64.to_le_bytes());
    assert!(matches!(
        read_object(&missing),
        Err(Error::Name { index: 1, .. })
    ));
}

#[test]
fn entries_of_zeros_are_padding() {
    let mut padded = OBJECT.to_vec();
    let start = entries_start();
    padded[start..start + ENTRY_SIZE].fill(0);
    // Its relocations go to the other entry, which then has them twice.
    for relocation in 0..2 {
        let offset = relocations_start() + relocation * 24;
        padded[offset] += ENTRY_SIZE as u8;
    }
    let names: Vec<_> = read_object(&padded).unwrap();
    assert_eq!(names.len(), 1);
    assert_eq!(names[0].size, 4);
}

#[test]
fn a_section_that_is_no_whole_number_of_entries_is_refused() {
    let error = split(&[0; 57]).unwrap_err();
    assert!(matches!(error, Error::SectionSize { size: 57 }));
}

#[test]
fn no_input_makes_the_readers_panic() {
    for file in [
        OBJECT,
        fixture!("linked-pie"),
        fixture!("linked-relr.so"),
        fixture!("entries.obj"),
        fixture!("linked.dll"),
    ] {
        let read_all = |bytes: &[u8]| {
            let _ = read_object(bytes);
            let _ = read_linked(bytes);
            let _ = entries_size(bytes);
            let _ = legacy_entries(bytes);
        };
        for length in 0..file.len() {
            read_all(&file[..length]);
        }
        for bit in 0..file.len() * 8 {
            let mut flipped = file.to_vec();
            flipped[bit / 8] ^= 1 << (bit % 8);
            read_all(&flipped);
        }
    }
}
