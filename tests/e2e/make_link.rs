//! offlink as the link command of a Makefile.

use crate::device_code::{CPU, LAUNCHED, bitcode};
use crate::workbench::{Run, Workbench, fixture, offlink};

#[test]
fn makefile() {
    let bench = Workbench::new();
    let saxpy = bitcode(&bench, "saxpy", CPU);
    bench
        .command("make")
        .arg("-f")
        .arg(fixture("make/Makefile"))
        .arg(format!("OFFLINK={}", offlink().display()))
        .arg(format!("SAXPY={}", saxpy.display()))
        .arg(format!("SOURCES={}", fixture("c").display()))
        .succeeds_silently();
    assert_eq!(bench.program(bench.path("launch")).succeeds(), LAUNCHED);
}
