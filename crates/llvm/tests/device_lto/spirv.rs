//! Device LTO for SPIR-V, which not every library can make.

use crate::common::{library, nvptx};
use offlink_llvm::{Emit, Error, Options, compile};

#[test]
fn a_library_makes_spirv_if_it_says_so() {
    let options = Options {
        triple: "spirv64-unknown-unknown".into(),
        cpu: String::new(),
        features: String::new(),
        emit: Emit::Object,
        ..nvptx()
    };
    let outcome = compile(library(), Vec::new(), options);
    if library().targets().contains(&"SPIRV") {
        let module = outcome.expect("a module without functions").code;
        assert_eq!(module[..4], 0x0723_0203_u32.to_le_bytes());
    } else {
        let error = outcome.expect_err("no such target");
        assert!(matches!(error, Error::Target { .. }), "{error}");
    }
}
