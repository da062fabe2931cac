use goblin::elf::section_header::{SHT_NOTE, SHT_SYMTAB};
use goblin::elf::sym::STB_LOCAL;

use super::*;
use crate::elf::{Elf, Symbols};
use crate::entry::Generation;
use crate::offload_binary::{self, Image, ImageKind, OffloadKind, Version};

const HOST: HostTarget = HostTarget::X86_64Linux;

fn image<'a>(arch: &str, data: &'a [u8]) -> Image<'a> {
    Image::new(
        ImageKind::Object,
        OffloadKind::OpenMp,
        "x86_64-unknown-linux-gnu",
        arch,
        data,
    )
}

fn written(images: &[Image<'_>]) -> Vec<u8> {
    let mut bytes = Vec::new();
    openmp::write(HOST, Generation::Llvm21, images, &mut bytes).unwrap();
    bytes
}

/// An object for CUDA and one for HIP, each with the name of the section that
/// `blob` is in.
fn gpu_objects(blob: &[u8]) -> [(&'static str, Vec<u8>); 2] {
    let mut objects = [(".nv_fatbin", Vec::new()), (".hip_fatbin", Vec::new())];
    cuda::write(HOST, Generation::Llvm21, blob, &mut objects[0].1).unwrap();
    hip::write(HOST, Generation::Llvm21, blob, &mut objects[1].1).unwrap();
    objects
}

fn symbols<'a>(elf: &Elf<'a>) -> Symbols<'a> {
    let symtab = elf
        .sections
        .iter()
        .position(|section| section.sh_type == SHT_SYMTAB);
    elf.symbols(symtab.unwrap()).unwrap()
}

/// The names of the symbols that are undefined. Others must be local.
fn undefined_symbols(object: &[u8]) -> Vec<String> {
    let elf = Elf::parse(object).unwrap();
    let symbols = symbols(&elf);
    let mut undefined = Vec::new();
    for symbol in symbols.iter().skip(1) {
        let name = String::from_utf8(symbols.name(&symbol).unwrap().to_vec()).unwrap();
        match symbol.st_shndx {
            0 => undefined.push(name),
            _ => assert_eq!(symbol.st_bind(), STB_LOCAL, "{name}"),
        }
    }
    undefined.sort();
    undefined
}

#[test]
fn the_images_are_found_again_as_offload_binaries() {
    let images = [
        image("a", b"first image"),
        image("b", b""),
        image("c", b"third"),
    ];
    let object = written(&images);
    let elf = Elf::parse(&object).unwrap();
    let section = elf.named(offload_binary::SECTION_NAME).unwrap()[0];
    assert_eq!(elf.sections[section].sh_type, offload_binary::SECTION_TYPE);
    assert_eq!(elf.sections[section].sh_offset % 8, 0);
    let contents = elf.contents(section).unwrap();
    assert_eq!(offload_binary::parse(contents).unwrap(), images);
}

#[test]
fn the_tables_point_at_the_images_inside_of_the_binaries() {
    let object = written(&[image("a", b"first image"), image("b", b"second")]);
    let elf = Elf::parse(&object).unwrap();
    let tables = elf.named(".rela.data.rel.ro").unwrap()[0];
    let symbols = symbols(&elf);
    let target = |offset: u64| {
        let relocations = elf.relocations(tables, true).unwrap();
        let relocation = relocations.iter().find(|it| it.r_offset == offset).unwrap();
        let symbol = symbols.get(relocation.r_sym).unwrap();
        let name = String::from_utf8(symbols.name(&symbol).unwrap().to_vec()).unwrap();
        (name, relocation.r_addend.unwrap(), symbol)
    };
    for (row, text) in [(32, "first image"), (64, "second")] {
        let (_, addend, symbol) = target(row);
        assert_eq!(addend, 0);
        let start = symbol.st_value as usize;
        let contents = elf.contents(symbol.st_shndx).unwrap();
        assert_eq!(&contents[start..start + text.len()], text.as_bytes());
        assert_eq!(target(row + 8).1, text.len() as i64);
        assert_eq!(target(row + 16).0, "__start_llvm_offload_entries");
        assert_eq!(target(row + 24).0, "__stop_llvm_offload_entries");
    }
    assert_eq!(target(8).0, ".omp_offloading.device_images");
    let count = &elf.contents(elf.named(".data.rel.ro").unwrap()[0]).unwrap()[..4];
    assert_eq!(count, 2_i32.to_le_bytes());
}

#[test]
fn every_symbol_that_the_object_defines_is_local() {
    let undefined = undefined_symbols(&written(&[image("", b"image")]));
    assert_eq!(
        undefined,
        [
            "__start_llvm_offload_entries",
            "__stop_llvm_offload_entries",
            "__tgt_register_lib",
            "__tgt_unregister_lib",
            "atexit"
        ]
    );
    for (section, object) in gpu_objects(b"blob") {
        let undefined = undefined_symbols(&object);
        let is_own = |name: &String| name.starts_with("offlink");
        assert!(!undefined.iter().any(is_own), "{section}: {undefined:?}");
    }
}

#[test]
fn a_blob_is_alone_in_its_aligned_section_and_is_pointed_at() {
    for (section, object) in gpu_objects(b"blob") {
        let elf = Elf::parse(&object).unwrap();
        let index = elf.named(section).unwrap()[0];
        assert_eq!(elf.contents(index).unwrap(), b"blob");
        let alignment = if section == ".hip_fatbin" { 4096 } else { 16 };
        assert_eq!(elf.sections[index].sh_addralign, alignment);
        assert_eq!(elf.sections[index].sh_offset % alignment, 0);

        let (wrapper, magic) = match section {
            ".hip_fatbin" => (".hipFatBinSegment", 0x4849_5046_u32),
            _ => (".nvFatBinSegment", 0x4662_43b1),
        };
        let contents = elf.contents(elf.named(wrapper).unwrap()[0]).unwrap();
        assert_eq!(
            contents[..8],
            [magic.to_le_bytes(), 1_u32.to_le_bytes()].concat()
        );
        let pointers = elf.named(&format!(".rela{wrapper}")).unwrap()[0];
        let pointers: Vec<_> = elf.relocations(pointers, true).unwrap().iter().collect();
        let [pointer] = pointers.as_slice() else {
            panic!("{wrapper} has {} relocations", pointers.len());
        };
        let symbol = symbols(&elf).get(pointer.r_sym).unwrap();
        let target = (symbol.st_shndx, symbol.st_value, symbol.st_size);
        assert_eq!((pointer.r_offset, pointer.r_addend), (8, Some(0)));
        assert_eq!(target, (index, 0, 4));
    }
}

#[test]
fn an_empty_blob_is_an_empty_section() {
    for (section, object) in gpu_objects(b"") {
        let elf = Elf::parse(&object).unwrap();
        let index = elf.named(section).unwrap()[0];
        assert_eq!(elf.contents(index).unwrap(), b"");
    }
}

#[test]
fn the_code_keeps_what_programs_need_and_nothing_else() {
    let gpu = gpu_objects(b"blob").map(|(_, object)| object);
    for object in [written(&[])].into_iter().chain(gpu) {
        let elf = Elf::parse(&object).unwrap();
        let names: Vec<_> = (1..elf.sections.len())
            .map(|index| String::from_utf8_lossy(elf.section_name(index).unwrap()).into_owned())
            .collect();
        let has = |name: &str| names.iter().any(|section| section.starts_with(name));
        assert!(has(".init_array.") && has(".note.GNU-stack") && has("llvm_offload_entries"));
        assert!(
            elf.sections
                .iter()
                .any(|section| section.sh_type == SHT_NOTE),
            "control flow"
        );
        assert!(!has(".comment") && !has(".eh_frame") && !has(".debug"));
        assert!(!has(".llvm.offloading"));
        for source in ["openmp.c", "cuda.c", "hip.c"] {
            let mut windows = object.windows(source.len());
            assert!(
                !windows.any(|window| window == source.as_bytes()),
                "{source}"
            );
        }
    }
}

#[test]
fn sycl_objects_define_local_symbols_only_and_need_no_entries() {
    let images = [image("", b"image")];
    for (version, needed) in [
        (Version::V1, &[][..]),
        (Version::V2, &["atexit".to_owned()]),
    ] {
        let mut binary = Vec::new();
        offload_binary::write(&images, version, &mut binary).unwrap();
        let mut object = Vec::new();
        sycl::write(HOST, &binary, &mut object).unwrap();
        let runtime = ["__sycl_register_lib", "__sycl_unregister_lib"].map(str::to_owned);
        assert_eq!(undefined_symbols(&object), [&runtime, needed].concat());
        let elf = Elf::parse(&object).unwrap();
        let section = elf.named(offload_binary::SECTION_NAME).unwrap()[0];
        assert_eq!(elf.sections[section].sh_type, offload_binary::SECTION_TYPE);
        let found = offload_binary::parse(elf.contents(section).unwrap()).unwrap();
        assert_eq!(found, images);
    }
    let error = sycl::write(HOST, b"none", &mut Vec::new()).unwrap_err();
    assert!(matches!(error, Error::Binary(_)), "{error}");
}

#[test]
fn the_same_images_give_the_same_object() {
    let images = [image("a", b"first"), image("b", b"second")];
    assert_eq!(written(&images), written(&images));
    assert_eq!(gpu_objects(b"blob"), gpu_objects(b"blob"));
}

#[test]
fn an_image_that_cannot_be_embedded_is_named() {
    let error = openmp::write(
        HOST,
        Generation::Llvm21,
        &[image("a", b""), image("b\0", b"")],
        &mut Vec::new(),
    )
    .unwrap_err();
    assert!(matches!(error, Error::Image { index: 1, .. }), "{error}");
}

#[test]
fn a_full_disk_is_an_error() {
    let mut sink: &mut [u8] = &mut [0; 5000];
    let error = openmp::write(
        HOST,
        Generation::Llvm21,
        &[image("", &[1; 10000])],
        &mut sink,
    )
    .unwrap_err();
    assert!(matches!(error, Error::Io(_)), "{error}");
    let error = cuda::write(
        HOST,
        Generation::Llvm21,
        &[1; 10000],
        &mut [0; 5000].as_mut_slice(),
    )
    .unwrap_err();
    assert!(matches!(error, Error::Io(_)), "{error}");
}

#[test]
fn hosts_are_known_by_any_spelling_of_their_triple() {
    for triple in [
        "x86_64-unknown-linux-gnu",
        "x86_64-pc-linux-gnu",
        "x86_64-linux-gnu",
        "x86_64-unknown-linux-musl",
        "amd64-linux",
    ] {
        assert_eq!(HostTarget::from_triple(triple), Ok(HOST));
    }
    for triple in [
        "aarch64-unknown-linux-gnu",
        "x86_64-pc-windows-msvc",
        "x86_64-linux-gnux32",
        "",
    ] {
        let error = HostTarget::from_triple(triple).unwrap_err();
        assert_eq!(error.supported, "x86_64-unknown-linux-gnu");
        assert!(error.to_string().contains("x86_64-unknown-linux-gnu"));
    }
    assert_eq!(HostTarget::supported(), [HOST]);
}
