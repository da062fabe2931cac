//! The README's commands, run in their order in a copy of the tree.

use std::path::Path;

use crate::doctor::doctor;
use crate::workbench::{Run, Workbench, offlink, repository};

/// The `sh` blocks of the README.
fn blocks() -> Vec<String> {
    let readme = std::fs::read_to_string(repository().join("README.md")).expect("the README");
    readme
        .split("```sh\n")
        .skip(1)
        .map(|rest| rest.split("```").next().unwrap_or_default().to_owned())
        .collect()
}

/// What the README shows of `offlink doctor`, without the program's path.
fn shown_of_doctor() -> String {
    let readme = std::fs::read_to_string(repository().join("README.md")).expect("the README");
    let block = readme.split("```text\n").nth(1).expect("a text block");
    let block = block.split("```").next().unwrap_or_default();
    block
        .lines()
        .skip(1)
        .map(|line| format!("{line}\n"))
        .collect()
}

/// `make demo` and `make test` run this test and build for minutes: that they
/// are there is all that is looked at. CI runs them.
fn is_make_of_this_tree(block: &str) -> bool {
    block.lines().all(|line| line.starts_with("make "))
        && !block.lines().any(|line| line.contains(" -C "))
}

fn copy_of_the_tree(bench: &Workbench) -> std::path::PathBuf {
    let copy = bench.folder("tree");
    let listed = bench
        .command("git")
        .current_dir(repository())
        .args(["ls-files", "--cached", "--others", "--exclude-standard"])
        .succeeds();
    for file in listed.lines() {
        let (from, to) = (repository().join(file), copy.join(file));
        // A file that is deleted but not yet committed is still listed.
        if from.is_file() {
            std::fs::create_dir_all(to.parent().expect("a folder")).expect("a new folder");
            std::fs::copy(from, to).expect("a copy");
        }
    }
    copy
}

fn link(target: &Path, place: &Path) {
    std::fs::create_dir_all(place.parent().expect("a folder")).expect("a new folder");
    std::os::unix::fs::symlink(target, place).expect("a new symbolic link");
}

#[test]
fn commands_run_in_order() {
    let bench = Workbench::new();
    let tree = copy_of_the_tree(&bench);
    // What `make demo` leaves behind.
    link(offlink(), &tree.join("target/release/offlink"));
    link(&repository().join(".tools"), &tree.join(".tools"));

    let mut script = String::from("set -euo pipefail\n");
    let mut run = 0;
    for block in blocks() {
        if !is_make_of_this_tree(&block) {
            script += &format!("cd {}\n{block}", tree.display());
            run += 1;
        }
    }
    assert!(run >= 5, "only {run} blocks were found in the README");
    let printed = bench.program("bash").args(["-c", &script]).succeeds();
    for expected in [
        "kernels.ptx: 2 images, 0 entries",
        "0 of 1048576 elements wrong",
        "saxpy: y[3] = 7, 0 of 1048576 elements wrong",
        "3 images, 1 entry",
        "saxpy: code 0, 0 of 65536 wrong",
        "target region: sum 499500, on the device",
        "\"arch\": \"gfx90a\"",
        "hello-gpu: 3 images, 1 entry\n  image 1: openmp amdgcn-amd-amdhsa gfx90a hsaco\n",
        "openmp: kernels run on ",
    ] {
        assert!(printed.contains(expected), "no {expected} in:\n{printed}");
    }
    let hello = tree.join("examples/hello-gpu/target/release/hello-gpu");
    let doctor = doctor(&bench, "8.0, NVIDIA A100\n").arg(hello).succeeds();
    for line in shown_of_doctor().lines() {
        assert!(doctor.contains(line), "no {line} in:\n{doctor}");
    }
}

#[test]
fn make_has_the_targets() {
    let makefile = std::fs::read_to_string(repository().join("Makefile")).expect("the Makefile");
    for block in blocks().iter().filter(|block| is_make_of_this_tree(block)) {
        for line in block.lines() {
            let target = line.trim_start_matches("make ");
            assert!(makefile.contains(&format!("\n{target}:")), "no {target}");
        }
    }
}
