use super::generation::COMMON_SECTION;
use super::*;

macro_rules! fixture {
    ($name:literal) => {
        include_bytes!(concat!("../../tests/data/", $name)).as_slice()
    };
}

const OBJECT: &[u8] = fixture!("entries.o");

fn entry(name: &str, flags: u32, size: u64, data: u64) -> OffloadEntry {
    OffloadEntry {
        generation: Generation::Llvm21,
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
fn reads_entries_of_older_compilers() {
    let target = |generation, name| {
        [entry("total", 0, 4, 0), entry(name, 0, 0, 0)].map(|entry| OffloadEntry {
            generation,
            ..entry
        })
    };
    assert_eq!(
        read_object(fixture!("target-19.o")).unwrap(),
        target(Generation::Llvm19, "__omp_offloading_fe00_510161_add_l5")
    );
    assert_eq!(entries_size(fixture!("target-19.o")).unwrap(), 64);
    assert_eq!(
        read_object(fixture!("target-20.o")).unwrap(),
        target(Generation::Llvm20, "__omp_offloading_fe00_51215e_add_l5")
    );
    assert_eq!(entries_size(fixture!("target-20.o")).unwrap(), 112);
}

/// The section says of which kind they are, as LLVM 20 numbers HIP otherwise.
#[test]
fn reads_entries_of_older_compilers_for_hip() {
    let entry = |generation, name: &str, flags, size, data| OffloadEntry {
        generation,
        kind: 4,
        flags,
        size,
        data,
        name: name.to_owned(),
    };
    let of = Generation::Llvm19;
    assert_eq!(
        read_object(fixture!("hip-19.o")).unwrap(),
        [
            entry(of, "kernel", 0, 0, 0),
            entry(of, "table", 16, 16, 0),
            entry(of, "shared", 1, 4, 0),
            entry(of, "normalized", 35, 16, 2),
        ]
    );
    let of = Generation::Llvm20;
    assert_eq!(
        read_object(fixture!("hip-20.o")).unwrap(),
        [
            entry(of, "kernel", 0, 0, 0),
            entry(of, "table", 16, 16, 0),
            entry(of, "shared", 1, 4, 4),
            entry(of, "normalized", 35, 16, 2),
        ]
    );
}

#[test]
fn reads_entries_of_older_compilers_in_linked_files() {
    for (generation, exec, pie, relr) in [
        (
            Generation::Llvm19,
            fixture!("linked-exec-19"),
            fixture!("linked-pie-19"),
            fixture!("linked-relr-19.so"),
        ),
        (
            Generation::Llvm20,
            fixture!("linked-exec-20"),
            fixture!("linked-pie-20"),
            fixture!("linked-relr-20.so"),
        ),
    ] {
        for file in [exec, pie, relr] {
            let names: Vec<_> = read_linked(file)
                .unwrap()
                .into_iter()
                .map(|entry| (entry.generation, entry.kind, entry.name))
                .collect();
            let expected = ["kernel", "table", "shared", "normalized"]
                .map(|name| (generation, 4, name.to_owned()));
            assert_eq!(names, expected);
        }
    }
}

#[test]
fn older_entries_in_coff_objects_are_refused() {
    let error = read_object(fixture!("target-19.obj")).unwrap_err();
    assert!(matches!(
        error,
        Error::OldCoff {
            section: "omp_offloading_entries"
        }
    ));
}

/// Where the contents of section `llvm_offload_entries` start in [`OBJECT`].
fn entries_start() -> usize {
    let elf = Elf::parse(OBJECT).unwrap();
    let section = elf.named(COMMON_SECTION).unwrap()[0];
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
    let size = Form::COMMON.entry_size();
    padded[start..start + size].fill(0);
    // Its relocations go to the other entry, which then has them twice.
    for relocation in 0..2 {
        let offset = relocations_start() + relocation * 24;
        padded[offset] += size as u8;
    }
    let names: Vec<_> = read_object(&padded).unwrap();
    assert_eq!(names.len(), 1);
    assert_eq!(names[0].size, 4);
}

#[test]
fn a_section_that_is_no_whole_number_of_entries_is_refused() {
    let error = Form::COMMON.split(&[0; 57]).err().unwrap();
    assert_eq!(
        error.to_string(),
        "section llvm_offload_entries holds 57 bytes, not a multiple of 56"
    );
}

#[test]
fn no_input_makes_the_readers_panic() {
    for file in [
        OBJECT,
        fixture!("linked-pie"),
        fixture!("linked-relr.so"),
        fixture!("entries.obj"),
        fixture!("linked.dll"),
        fixture!("target-19.o"),
        fixture!("linked-pie-20"),
    ] {
        let read_all = |bytes: &[u8]| {
            let _ = read_object(bytes);
            let _ = read_linked(bytes);
            let _ = entries_size(bytes);
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
