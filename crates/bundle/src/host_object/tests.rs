use goblin::elf::section_header::{SHT_NOTE, SHT_SYMTAB};
use goblin::elf::sym::STB_LOCAL;

use super::*;
use crate::elf::Elf;
use crate::offload_binary::{self, Image, ImageKind, OffloadKind};

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
    write(HOST, images, &mut bytes).unwrap();
    bytes
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
    let symtab = elf
        .sections
        .iter()
        .position(|section| section.sh_type == SHT_SYMTAB);
    let symbols = elf.symbols(symtab.unwrap()).unwrap();
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
    let object = written(&[image("", b"image")]);
    let elf = Elf::parse(&object).unwrap();
    let symtab = elf
        .sections
        .iter()
        .position(|section| section.sh_type == SHT_SYMTAB);
    let symbols = elf.symbols(symtab.unwrap()).unwrap();
    let mut undefined = Vec::new();
    for symbol in symbols.iter().skip(1) {
        let name = String::from_utf8(symbols.name(&symbol).unwrap().to_vec()).unwrap();
        match symbol.st_shndx {
            0 => undefined.push(name),
            _ => assert_eq!(symbol.st_bind(), STB_LOCAL, "{name}"),
        }
    }
    undefined.sort();
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
}

#[test]
fn the_code_keeps_what_programs_need_and_nothing_else() {
    let object = written(&[]);
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
    assert!(!has(".comment") && !has(".eh_frame") && !has(".debug") && !has(".llvm.offloading"));
    let source = b"openmp.c";
    assert!(!object.windows(source.len()).any(|window| window == source));
}

#[test]
fn the_same_images_give_the_same_object() {
    let images = [image("a", b"first"), image("b", b"second")];
    assert_eq!(written(&images), written(&images));
}

#[test]
fn an_image_that_cannot_be_embedded_is_named() {
    let error = write(HOST, &[image("a", b""), image("b\0", b"")], &mut Vec::new()).unwrap_err();
    assert!(matches!(error, Error::Image { index: 1, .. }), "{error}");
}

#[test]
fn a_full_disk_is_an_error() {
    let mut sink: &mut [u8] = &mut [0; 5000];
    let error = write(HOST, &[image("", &[1; 10000])], &mut sink).unwrap_err();
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
