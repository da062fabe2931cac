//! The order of variables in PTX doesn't depend on where LLVM has them in memory.

use crate::common::{library, module, nvptx};
use offlink_llvm::{Options, compile};

/// Without the right order in the module, LLVM would hardly ever hit it.
#[test]
fn tables_stand_behind_what_they_refer_to() {
    let kinds = ["device", "generic"];
    let variables = kinds.map(|kind| (0..8).map(move |number| format!("{kind}{number}")));
    let tables = kinds.map(|table| kinds.map(|kind| format!("{table}_to_{kind}")));
    let names: Vec<String> = variables
        .into_iter()
        .flatten()
        .chain(tables.into_iter().flatten())
        .collect();
    let options = Options {
        exports: names.clone(),
        ..nvptx()
    };
    let compiled = compile(library(), vec![module("tables.nvptx64")], options).expect("PTX");
    let ptx = String::from_utf8(compiled.code).expect("PTX is text");
    let declared: Vec<&str> = ptx
        .lines()
        .filter_map(|line| line.strip_prefix(".visible .global ")?.split(' ').nth(3))
        .map(|word| word.split(['[', ';']).next().unwrap_or_default())
        .collect();
    assert_eq!(declared, names, "{ptx}");
    // What moved is what it was.
    let whole = ".visible .global .align 64 .u64 device_to_device[8] = {device7, device6, device5, \
                 device4, device3, device2, device1, device0};";
    assert!(ptx.contains(whole), "{ptx}");
}
