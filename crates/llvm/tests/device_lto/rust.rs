//! Kernels that rustc compiled, with bitcode newer than the oldest libraries can read.

use crate::amdgcn::amdgcn;
use crate::common::{library, module_at, nvptx};
use offlink_llvm::{Error, Options, compile};

#[test]
fn kernels_of_rustc_compile_or_say_why_not() {
    for (fixture, options, marker) in [
        (
            "llvm22/rust_scale.nvptx64.bc",
            nvptx(),
            ".visible .entry scale(",
        ),
        (
            "llvm22/rust_scale.amdgcn.bc",
            amdgcn(),
            ".symbol:         scale.kd",
        ),
    ] {
        let options = Options {
            exports: vec!["scale".into()],
            ..options
        };
        let outcome = compile(library(), vec![module_at(fixture)], options);
        if library().version().major >= 22 {
            let compiled = outcome.expect(fixture);
            assert_eq!(compiled.kernels, ["scale"]);
            let text = String::from_utf8(compiled.code).expect("assembly is text");
            assert!(text.contains(marker), "{text}");
            continue;
        }
        let error = outcome.expect_err("the bitcode is of a newer LLVM");
        let text = error.to_string();
        assert!(matches!(error, Error::Bitcode { .. }), "{text}");
        for part in [
            fixture,
            "LLVM22.1.4-rust-1.97.0-nightly",
            &library().version().to_string(),
        ] {
            assert!(text.contains(part), "{part}: {text}");
        }
    }
}
