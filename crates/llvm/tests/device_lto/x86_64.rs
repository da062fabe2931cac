//! Device images for the CPU.

use crate::common::{library, module, nvptx};
use offlink_llvm::{Keep, Options, compile};

#[test]
fn visible_definitions_stay_and_hidden_ones_go() {
    let options = Options {
        triple: "x86_64-unknown-linux-gnu".into(),
        cpu: "x86-64".into(),
        features: String::new(),
        keep: Keep::Visible,
        ..nvptx()
    };
    let exported = Options {
        exports: vec!["hidden_function".into()],
        ..options.clone()
    };
    let text = |options| {
        let compiled =
            compile(library(), vec![module("visible.x86_64")], options).expect("it compiles");
        assert_eq!(compiled.kernels, Vec::<String>::new());
        String::from_utf8(compiled.code).expect("assembly is text")
    };
    let plain = text(options);
    assert!(plain.contains(".globl\tvisible_function"), "{plain}");
    assert!(plain.contains(".globl\tvariable"), "{plain}");
    assert!(!plain.contains(".globl\tlocal_function"), "{plain}");
    assert!(!plain.contains("hidden_function"), "{plain}");
    let exported = text(exported);
    assert!(
        exported.contains(".protected\thidden_function"),
        "{exported}"
    );
}
