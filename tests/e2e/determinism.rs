//! The same link gives the same bytes.

use std::path::Path;

use crate::device_code::{RUNTIME, launcher_with, saxpy_images};
use crate::workbench::{Run, Workbench};

#[test]
fn whatever_the_folder_the_jobs_and_the_output_name() {
    let bench = Workbench::new();
    let object = launcher_with(&bench, &saxpy_images(&bench));
    let link = |folder: &str, output: &str, jobs: &str| {
        let folder = bench.folder(folder);
        bench
            .offlink()
            .current_dir(&folder)
            .arg("cc")
            .arg(Path::new("..").join(object.file_name().expect("a file")))
            .arg(format!("--offlink-jobs={jobs}"))
            .args([RUNTIME, "-o", output])
            .succeeds_silently();
        std::fs::read(folder.join(output)).expect("a program")
    };
    let first = link("one", "program", "1");
    assert!(
        first == link("one", "program", "1"),
        "the second time differs"
    );
    assert!(
        first == link("another", "program", "1"),
        "another folder differs"
    );
    assert!(
        first == link("one", "program", "4"),
        "another number of jobs differs"
    );
    assert!(
        first == link("one", "other", "1"),
        "another output name differs"
    );
}
