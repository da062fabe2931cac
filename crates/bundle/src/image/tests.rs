use super::*;

macro_rules! fixture {
    ($name:literal) => {
        include_bytes!(concat!("../../tests/data/", $name)).as_slice()
    };
}

const LOCAL_KERNEL_HIP: &str = "_ZL12local_kernelPf.intern.8fc19f06f0d4f94c";

fn names(found: Result<std::collections::BTreeSet<String>, Error>) -> Vec<String> {
    found.unwrap().into_iter().collect()
}

#[test]
fn formats_are_told_apart() {
    let formats = [
        (fixture!("device.ptx"), ImageFormat::Ptx),
        (fixture!("device.cubin"), ImageFormat::CubinFinal),
        (fixture!("device-rel.cubin"), ImageFormat::CubinRelocatable),
        (fixture!("device.hsaco"), ImageFormat::HsacoFinal),
        (fixture!("device-rel.hsaco"), ImageFormat::HsacoRelocatable),
        (fixture!("device.so"), ImageFormat::ElfShared(62)),
        (fixture!("entries.o"), ImageFormat::ElfRelocatable(62)),
        (fixture!("packaged.bin"), ImageFormat::OffloadBinary),
        (fixture!("device.spv"), ImageFormat::SpirV),
        (fixture!("device.oneomp"), ImageFormat::OneOmp),
        (fixture!("code.o"), ImageFormat::Bitcode),
        (b"\x50\xed\x55\xba\x01\x00", ImageFormat::Fatbin),
        (b"__CLANG_OFFLOAD_BUNDLE__", ImageFormat::HipBundle),
        (b"CCOB\x03\x00", ImageFormat::HipBundle),
        (b"/* \x7fELF */ .version 8.0", ImageFormat::Ptx),
        (b"\x7fELF", ImageFormat::Unknown),
        (b"", ImageFormat::Unknown),
    ];
    for (image, format) in formats {
        assert_eq!(ImageFormat::detect(image), format);
    }
}

#[test]
fn spirv_defines_entry_points_and_exports_in_any_container() {
    for image in [fixture!("device.spv"), fixture!("device.oneomp")] {
        assert_eq!(names(kernels(image)), ["fill", "scale"]);
        let all = device_symbols(image).unwrap();
        assert!(all.contains("fill") && all.contains("scale"), "{all:?}");
    }
    let all = device_symbols(fixture!("device.spv")).unwrap();
    assert!(all.contains("factor") && !all.contains("elsewhere"));
    assert_eq!(names(spirv_imports(fixture!("device.spv"))), ["elsewhere"]);
    assert!(spirv_imports(fixture!("device.oneomp")).is_err());
}

#[test]
fn cuda_images_define_local_symbols_too() {
    let kernels_expected = ["_ZL12local_kernelPf", "scale"];
    let linked = fixture!("device.cubin");
    assert_eq!(names(kernels(linked)), kernels_expected);
    assert_eq!(
        names(device_symbols(linked)),
        [
            "$scale$helper",
            "_ZL12local_kernelPf",
            "_ZL14hidden_counter",
            "counter",
            "scale",
            "table"
        ]
    );
    let relocatable = fixture!("device-rel.cubin");
    assert_eq!(names(kernels(relocatable)), kernels_expected);
    assert_eq!(
        names(device_symbols(relocatable)),
        [
            "_ZL12local_kernelPf",
            "_ZL14hidden_counter",
            "counter",
            "helper",
            "scale",
            "table"
        ]
    );
    let ptx = fixture!("device.ptx");
    assert_eq!(names(kernels(ptx)), kernels_expected);
    assert_eq!(
        names(device_symbols(ptx)),
        [
            "_ZL12local_kernelPf",
            "_ZL14hidden_counter",
            "counter",
            "scale",
            "table"
        ]
    );
}

#[test]
fn amd_images_have_a_descriptor_for_each_kernel() {
    let linked = fixture!("device.hsaco");
    assert_eq!(names(kernels(linked)), [LOCAL_KERNEL_HIP, "scale"]);
    let symbols = device_symbols(linked).unwrap();
    assert!(symbols.contains("scale") && symbols.contains("counter") && symbols.contains("table"));
    assert!(!symbols.contains("helper"), "lld made it local");
    assert!(!symbols.contains("scale.kd"));
    assert_eq!(
        names(kernels(fixture!("device-rel.hsaco"))),
        [LOCAL_KERNEL_HIP, "scale"]
    );
}

#[test]
fn any_function_of_a_cpu_image_may_be_a_kernel() {
    let image = fixture!("device.so");
    assert_eq!(names(kernels(image)), ["scale"]);
    assert_eq!(names(device_symbols(image)), ["counter", "scale", "use"]);
}

#[test]
fn images_that_hide_their_symbols_are_refused() {
    let error = device_symbols(fixture!("packaged.bin")).unwrap_err();
    assert_eq!(
        error.to_string(),
        "the symbols of an image of format offload binary can't be read"
    );
    assert!(matches!(
        kernels(b"CCOB"),
        Err(Error::Format(ImageFormat::HipBundle))
    ));
}

#[test]
fn no_input_makes_the_readers_panic() {
    for image in [
        fixture!("device.cubin"),
        fixture!("device.hsaco"),
        fixture!("device.ptx"),
    ] {
        let read_all = |bytes: &[u8]| {
            let _ = device_symbols(bytes);
            let _ = kernels(bytes);
        };
        for length in 0..image.len() {
            read_all(&image[..length]);
        }
        for byte in 0..image.len() {
            let mut flipped = image.to_vec();
            flipped[byte] ^= 1 << (byte % 8);
            read_all(&flipped);
        }
    }
}
