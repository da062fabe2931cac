//! offlink as the link command of a Makefile.

use crate::device_code::LAUNCHED;
use crate::workbench::{Run, Workbench, cuda, example, offlink};

#[test]
fn makefile() {
    let bench = Workbench::new();
    for file in ["Makefile", "saxpy.c", "launch.c"] {
        std::fs::copy(example("c-make").join(file), bench.path(file)).expect("a copy");
    }
    bench
        .command("make")
        .arg(format!("OFFLINK={}", offlink().display()))
        .arg(format!("CUDA_HOME={}", cuda().display()))
        .succeeds_silently();
    assert_eq!(bench.program(bench.path("saxpy")).succeeds(), LAUNCHED);
}
