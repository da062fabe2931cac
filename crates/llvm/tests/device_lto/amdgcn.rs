//! Device LTO for AMD GPUs.

use crate::common::{library, module, nvptx};
use offlink_llvm::{Emit, Error, OptLevel, Options, compile};

/// Assembly for gfx90a from all of an image.
pub fn amdgcn() -> Options {
    Options {
        triple: "amdgcn-amd-amdhsa".into(),
        cpu: "gfx90a".into(),
        features: String::new(),
        ..nvptx()
    }
}

fn assembly(name: &str, options: Options) -> String {
    let compiled = compile(library(), vec![module(name)], options).expect("it compiles");
    assert_eq!(compiled.kernels, ["hidden_kernel"]);
    String::from_utf8(compiled.code).expect("assembly is text")
}

#[test]
fn hidden_kernels_and_variables_are_protected_and_the_gpu_is_the_options() {
    let text = assembly("hidden.amdgcn", amdgcn());
    for line in [
        ".protected\thidden_kernel",
        ".globl\thidden_kernel",
        ".protected\tdevice_variable",
        ".globl\tdevice_variable",
    ] {
        assert!(text.contains(line), "{line}: {text}");
    }
    // The function was compiled for gfx906 with xnack: the GPU changes, the choice stays.
    assert!(
        text.contains(".amdgcn_target \"amdgcn-amd-amdhsa--gfx90a:xnack+\""),
        "{text}"
    );
    assert!(text.contains(".wavefront_size: 64"), "{text}");
}

#[test]
fn helpers_are_local() {
    let text = assembly("helper.amdgcn", amdgcn());
    assert!(text.contains(".globl\thidden_kernel"), "{text}");
    assert!(!text.contains(".globl\thelper"), "{text}");
    assert!(text.contains("used_function"), "{text}");
    assert!(!text.contains("hidden_function"), "{text}");
}

#[test]
fn settings_of_a_target_id_reach_functions_that_have_features() {
    let with = |features: &str| {
        let options = Options {
            features: features.into(),
            ..amdgcn()
        };
        assembly("helper.amdgcn", options)
    };
    assert!(with("+xnack").contains("amdgcn-amd-amdhsa--gfx90a:xnack+\""));
    assert!(with("-xnack").contains("amdgcn-amd-amdhsa--gfx90a:xnack-\""));
}

#[test]
fn objects_at_every_level() {
    for opt_level in [OptLevel::O0, OptLevel::O1, OptLevel::O2, OptLevel::O3] {
        let options = Options {
            opt_level,
            emit: Emit::Object,
            ..amdgcn()
        };
        let compiled =
            compile(library(), vec![module("helper.amdgcn")], options).expect("an object");
        assert!(
            compiled.code.starts_with(b"\x7fELF\x02\x01\x01\x40"),
            "{opt_level:?}"
        );
        assert_eq!(compiled.undefined, []);
        assert_eq!(
            compiled.defined,
            ["hidden_kernel", "used_function"],
            "{opt_level:?}"
        );
    }
}

#[test]
fn errors_in_the_code_are_returned() {
    let options = Options {
        emit: Emit::Object,
        ..amdgcn()
    };
    let error = compile(library(), vec![module("bad_asm.amdgcn")], options)
        .expect_err("no such instruction");
    let text = error.to_string();
    assert!(matches!(error, Error::Diagnostic { .. }), "{text}");
    assert!(
        text.contains("amdgcn-amd-amdhsa") && text.contains("invalid instruction"),
        "{text}"
    );
}
