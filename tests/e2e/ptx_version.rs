//! The PTX version of an image: the lowest that its processor needs, so that
//! the oldest driver which knows the processor takes the image.

use crate::device_code::{NVIDIA, bitcode, nvidia};
use crate::workbench::{Run, Workbench, cuda_tool};

/// Every processor of CUDA 13.0's ptxas, and the PTX version that brought it
/// (release notes of the PTX ISA).
const LOWEST: [(&str, &str); 23] = [
    ("sm_75", "6.3"),
    ("sm_80", "7.0"),
    ("sm_86", "7.1"),
    ("sm_87", "7.4"),
    ("sm_88", "9.0"),
    ("sm_89", "7.8"),
    ("sm_90", "7.8"),
    ("sm_90a", "8.0"),
    ("sm_100", "8.6"),
    ("sm_100a", "8.6"),
    ("sm_100f", "8.8"),
    ("sm_103", "8.8"),
    ("sm_103a", "8.8"),
    ("sm_103f", "8.8"),
    ("sm_110", "9.0"),
    ("sm_110a", "9.0"),
    ("sm_110f", "9.0"),
    ("sm_120", "8.7"),
    ("sm_120a", "8.7"),
    ("sm_120f", "8.8"),
    ("sm_121", "8.8"),
    ("sm_121a", "8.8"),
    ("sm_121f", "8.8"),
];

fn header(ptx: &str) -> Vec<&str> {
    ptx.lines()
        .filter(|line| line.starts_with(".version") || line.starts_with(".target"))
        .collect()
}

/// The bitcode says `+ptx88`, as every clang with CUDA 13.0 writes it.
#[test]
fn is_the_lowest_for_each_processor() {
    let bench = Workbench::new();
    let kernel = bitcode(&bench, "saxpy", NVIDIA);
    for (arch, version) in LOWEST {
        let ptx = bench.path(format!("{arch}.ptx"));
        bench
            .offlink()
            .arg("link")
            .args(nvidia(arch).arguments())
            .arg("--emit=ptx")
            .arg("-o")
            .arg(&ptx)
            .arg(&kernel)
            .succeeds_silently();
        let text = std::fs::read_to_string(&ptx).expect("PTX is text");
        assert_eq!(
            header(&text),
            [format!(".version {version}"), format!(".target {arch}")]
        );

        bench
            .command(cuda_tool("ptxas"))
            .arg(format!("-arch={arch}"))
            .arg("-o")
            .arg(bench.path("cubin"))
            .arg(&ptx)
            .succeeds_silently();
    }
}

#[test]
fn covers_what_ptxas_knows() {
    let bench = Workbench::new();
    let help = bench.command(cuda_tool("ptxas")).arg("--help").succeeds();
    let mut known: Vec<&str> = help
        .split('\'')
        .filter(|word| word.starts_with("sm_"))
        .collect();
    known.sort_unstable();
    known.dedup();
    let mut listed: Vec<&str> = LOWEST.iter().map(|(arch, _)| *arch).collect();
    listed.sort_unstable();
    assert_eq!(known, listed);
}

/// clang without a CUDA folder writes `+ptx42` into bitcode for any processor.
#[test]
fn a_wrong_version_in_bitcode_does_no_harm() {
    let bench = Workbench::new();
    let text = bench
        .command("llvm-dis-22")
        .args(["-o", "-"])
        .arg(bitcode(&bench, "saxpy", NVIDIA))
        .succeeds();
    assert!(text.contains("+ptx88"), "clang wrote another version");
    let text = bench.write("old.ll", text.replace("+ptx88", "+ptx42"));
    bench.command("llvm-as-22").arg(text).succeeds();

    bench
        .offlink()
        .arg("link")
        .args(NVIDIA.arguments())
        .args(["-o", "cubin", "old.bc"])
        .succeeds_silently();
    let kernels = bench
        .command(cuda_tool("cuobjdump"))
        .args(["-sass", "cubin"])
        .succeeds();
    assert!(kernels.contains("Function : saxpy"), "{kernels}");
}
