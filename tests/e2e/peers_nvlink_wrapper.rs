//! offlink as clang-nvlink-wrapper.

use crate::device_code::{NVIDIA, bitcode, sass};
use crate::peers::Pair;
use crate::workbench::{Run, cuda, offlink};
use std::collections::BTreeSet;

/// `caller.bc`, whose kernel needs `helper.bc`; the latter is in `libhelp.a`,
/// with `saxpy.bc`.
fn pair() -> Pair {
    let pair = Pair::new("clang-nvlink-wrapper-22");
    for source in ["caller", "helper", "saxpy"] {
        let file = bitcode(&pair.bench, source, NVIDIA);
        pair.copy(file, &format!("{source}.bc"));
    }
    for folder in ["own", "peer"] {
        pair.bench
            .command("llvm-ar-22")
            .current_dir(pair.bench.path(folder))
            .args(["rcs", "libhelp.a", "helper.bc", "saxpy.bc"])
            .succeeds();
    }
    pair
}

/// What clang sends besides inputs. The peer finds no ptxas by --cuda-path
/// alone if another is in PATH, and needs the PTX version spelled out.
fn clang_line(output: &str) -> String {
    let cuda = cuda();
    format!(
        "-o {output} -arch sm_90 --cuda-path={} --plugin-opt=-mattr=+ptx78",
        cuda.display()
    )
}

/// The kernels of an image.
fn kernels(pair: &Pair, own: bool, image: &str) -> BTreeSet<String> {
    let path = if own {
        pair.own(image)
    } else {
        pair.theirs(image)
    };
    sass(&pair.bench, &path)
        .lines()
        .filter_map(|line| line.trim().strip_prefix("Function : "))
        .map(str::to_owned)
        .collect()
}

fn same_kernels(inputs: &str, expected: &[&str]) {
    let pair = pair();
    let line = format!("{} {inputs}", clang_line("image"));
    pair.same_code(&[], &line);
    let own = kernels(&pair, true, "image");
    assert_eq!(kernels(&pair, false, "image"), own);
    assert_eq!(
        own,
        expected.iter().map(|name| (*name).to_owned()).collect()
    );
}

#[test]
fn files() {
    same_kernels("caller.bc helper.bc saxpy.bc", &["caller", "saxpy"]);
}

/// Of an archive only the member that is needed.
#[test]
fn archives_are_lazy() {
    same_kernels("caller.bc libhelp.a", &["caller"]);
    same_kernels("-L. -lhelp caller.bc -l help", &["caller"]);
    same_kernels("caller.bc --library-path . -l:libhelp.a", &["caller"]);
}

#[test]
fn thin_archives_are_archives() {
    let pair = pair();
    for folder in ["own", "peer"] {
        pair.bench
            .command("llvm-ar-22")
            .current_dir(pair.bench.path(folder))
            .args(["rcsT", "thin.a", "helper.bc", "saxpy.bc"])
            .succeeds();
    }
    let line = format!("{} caller.bc thin.a", clang_line("image"));
    pair.same_code(&[], &line);
    let own = kernels(&pair, true, "image");
    assert_eq!(own, kernels(&pair, false, "image"));
    assert_eq!(own, ["caller".to_owned()].into());
}

#[test]
fn whole_archives_are_not() {
    same_kernels(
        "--whole-archive libhelp.a --no-whole-archive caller.bc",
        &["caller", "saxpy"],
    );
}

#[test]
fn options_of_clang() {
    same_kernels(
        "caller.bc helper.bc -plugin LLVMgold.so -plugin-opt=O2",
        &["caller"],
    );
}

/// clang itself drives it, found through -B.
#[test]
fn driven_by_clang() {
    let pair = pair();
    let folder = pair.bench.folder("only-the-wrapper");
    pair.bench
        .link("only-the-wrapper/clang-nvlink-wrapper", offlink());
    let image = pair.own("image");
    let clang = |options: &[&str]| {
        let mut command = pair.bench.command("clang-22");
        command
            .current_dir(pair.bench.path("own"))
            .args(["--target=nvptx64-nvidia-cuda", "-march=sm_90", "-B"])
            .arg(&folder)
            .arg(format!("--cuda-path={}", cuda().display()))
            .args(options)
            .args(["caller.bc", "-L.", "-lhelp", "-o"])
            .arg(&image);
        command
    };
    for options in [&["-flto", "-O2"][..], &["-O1"]] {
        clang(options).succeeds();
        assert!(kernels(&pair, true, "image").contains("caller"));
    }
    // Which proves that clang ran offlink and not its own.
    let stderr = clang(&["-Xlinker", "--offlink-colour"]).fails_with(1);
    assert!(
        stderr.contains("unknown option '--offlink-colour'"),
        "{stderr}"
    );
}

#[test]
fn the_other_options() {
    let pair = pair();
    let tools = cuda().join("bin");
    pair.offlink(&format!(
        "--output-file image -plugin-opt=mcpu=sm_90 --ptxas-path={} --assume-device-object \
         --plugin-opt=jobs=2 --plugin-opt=lto-partitions=2 --plugin-opt=thinlto --debug \
         --lto-debug-pass-manager --undefined=caller caller.bc helper.bc --save-temps",
        tools.display()
    ))
    .succeeds_silently();
    assert_eq!(kernels(&pair, true, "image"), ["caller".to_owned()].into());
    let kept = std::fs::read_dir(pair.bench.path("own")).expect("a folder");
    let kept = kept.filter_map(Result::ok).map(|entry| entry.path());
    assert!(
        kept.into_iter()
            .any(|path| path.extension().is_some_and(|e| e == "ptx"))
    );
    for (option, message) in [
        ("--plugin-opt=emit-asm", "//"),
        ("--plugin-opt=emit-llvm", "BC"),
    ] {
        let line = format!("{} caller.bc helper.bc {option}", clang_line("out"));
        pair.offlink(&line).succeeds_silently();
        let out = std::fs::read(pair.own("out")).expect("an output");
        assert!(out.starts_with(message.as_bytes()), "{option}");
    }
}

/// LLVM writes remarks for C++ programs alone.
#[test]
fn what_is_not_done_is_refused() {
    let pair = pair();
    for option in [
        "--plugin-opt=opt-remarks-filename=x",
        "--plugin-opt=opt-remarks-filter=x",
        "--plugin-opt=opt-remarks-format=yaml",
        "--plugin-opt=opt-remarks-with-hotness",
        "-mllvm -pass-remarks-output=x",
    ] {
        let line = format!("{} caller.bc helper.bc {option}", clang_line("x"));
        pair.offlink_fails(&line, "-fsave-optimization-record");
        assert!(!pair.own("x").exists());
    }
}

/// The functions that bitcode in `out` defines, whether others see them, and calls.
fn functions(pair: &Pair, own: bool) -> Vec<String> {
    let file = if own {
        pair.own("out")
    } else {
        pair.theirs("out")
    };
    let text = pair
        .bench
        .command("llvm-dis-22")
        .args(["-o", "-"])
        .arg(file)
        .succeeds();
    let name = |line: &str| line.split(['@', '(']).nth(1).unwrap_or_default().to_owned();
    text.lines()
        .filter_map(|line| match line.trim() {
            line if line.starts_with("define") => {
                let internal = if line.contains("internal") {
                    "internal "
                } else {
                    ""
                };
                Some(format!("{internal}{}", name(line)))
            }
            line if line.contains(" call ") && !line.contains("@llvm.") => {
                Some(format!("call {}", name(line)))
            }
            _ => None,
        })
        .collect()
}

/// As the peer does, each gives LLVM options and passes; here the same function is
/// inlined or not. What else is visible the peer keeps in bitcode.
#[test]
fn options_and_passes_for_llvm() {
    let pair = pair();
    let line = format!("{} caller.bc helper.bc --lto-emit-llvm", clang_line("out"));
    for (option, is_inlined) in [
        ("", true),
        ("-mllvm -inline-threshold=-10000", false),
        ("-mllvm=-inline-threshold=-10000", false),
        ("--plugin-opt=-inline-threshold=-10000", false),
        ("--lto-newpm-passes=no-op-module", false),
        (
            "--lto-newpm-passes=function(instcombine),cgscc(inline)",
            true,
        ),
        ("--lto-newpm-passes=", true),
    ] {
        pair.same_code(&[], &format!("{line} {option}"));
        for own in [false, true] {
            let calls = functions(&pair, own);
            let calls = calls.iter().any(|line| line == "call helper");
            assert_eq!(calls, !is_inlined, "{option} {own}");
        }
    }
    for (option, message) in [
        ("-mllvm -nonsense", "'-nonsense'"),
        ("--plugin-opt=inline-threshold=10", "'inline-threshold=10'"),
    ] {
        pair.both_fail(&format!("{line} {option}"), message);
    }
    // The peer dies of it.
    pair.offlink_fails(&format!("{line} --lto-newpm-passes=wat"), "'wat'");
}

/// What others can refer to stays, hidden or not, in PTX and bitcode; an image is
/// linked by nvlink all the same.
#[test]
fn relocatable() {
    let pair = pair();
    pair.write(
        "parts.c",
        "__attribute__((visibility(\"hidden\"))) int hidden(int x) { return x * 3; }\n\
         int open(int x) { return x * 5; }\n\
         static __attribute__((used)) int local(int x) { return x * 7; }\n",
    );
    pair.bench
        .command("clang-22")
        .args(["--target=nvptx64-nvidia-cuda", "-march=sm_90", "-O1"])
        .args([
            "-flto",
            "-c",
            "-Xclang",
            "-target-feature",
            "-Xclang",
            "+ptx78",
        ])
        .args(["own/parts.c", "-o", "parts.bc"])
        .succeeds();
    pair.copy(pair.bench.path("parts.bc"), "parts.bc");
    let line = format!("{} caller.bc helper.bc parts.bc", clang_line("out"));
    for option in ["-r", "--relocatable"] {
        pair.same_code(&[], &format!("{line} {option} --lto-emit-llvm"));
        let own = functions(&pair, true);
        assert_eq!(functions(&pair, false), own);
        assert!(own.contains(&"hidden".to_owned()), "{own:?}");
        pair.same_code(&[], &format!("{line} {option} --lto-emit-asm"));
        let ptx = std::fs::read_to_string(pair.own("out")).expect("PTX");
        assert!(
            ptx.contains(".visible .func  (.param .b32 func_retval0) open("),
            "{ptx}"
        );
    }
    pair.same_code(&[], &format!("{line} -r"));
    assert_eq!(kernels(&pair, false, "out"), kernels(&pair, true, "out"));
    pair.both_fail(&format!("{} caller.bc -r", clang_line("x")), "helper");
    pair.offlink(&format!("{line} --lto-emit-llvm"))
        .succeeds_silently();
    assert_eq!(functions(&pair, true)[0], "caller");
    assert!(!functions(&pair, true).contains(&"open".to_owned()));
}

/// The peer takes --library for a folder, and with -g keeps the helper.
#[test]
fn options_that_the_peer_gets_wrong() {
    let pair = pair();
    let line = format!("{} caller.bc -g -v -L. --library=help", clang_line("image"));
    pair.offlink(&line).succeeds_silently();
    assert_eq!(kernels(&pair, true, "image"), ["caller".to_owned()].into());
}

/// The peer hands -u to nvlink, which does not know it.
#[test]
fn a_required_symbol_is_taken_from_an_archive() {
    let pair = pair();
    let line = format!("{} caller.bc -u saxpy libhelp.a", clang_line("image"));
    pair.offlink(&line).succeeds_silently();
    let expected = ["caller", "saxpy"].map(str::to_owned).into();
    assert_eq!(kernels(&pair, true, "image"), expected);
}

#[test]
fn ptx_and_bitcode_instead_of_an_image() {
    let pair = pair();
    let line = format!("{} caller.bc helper.bc", clang_line("out"));
    for (option, start) in [("--lto-emit-asm", "//"), ("--lto-emit-llvm", "BC")] {
        pair.same_code(&[], &format!("{line} {option}"));
        for file in [pair.theirs("out"), pair.own("out")] {
            let out = std::fs::read(&file).expect("an output");
            assert!(out.starts_with(start.as_bytes()), "{option} {file:?}");
        }
    }
}

#[test]
fn a_dry_run_prints_a_line_that_can_be_run() {
    let pair = pair();
    let line = format!(
        "{} caller.bc libhelp.a helper.bc --dry-run -r -mllvm -inline-threshold=1",
        clang_line("image")
    );
    let printed = pair.offlink(&line).succeeds_silently();
    let line = printed
        .trim()
        .strip_prefix("offlink ")
        .expect("a line of offlink");
    assert!(!pair.own("image").exists());
    pair.bench
        .offlink()
        .current_dir(pair.bench.path("own"))
        .args(line.split_whitespace())
        .succeeds_silently();
    assert_eq!(kernels(&pair, true, "image"), ["caller".to_owned()].into());
}

#[test]
fn fails_as_the_peer_does() {
    let pair = pair();
    let line = clang_line("x");
    for (inputs, message) in [
        ("caller.bc", "helper"),
        ("caller.bc -lnope", "-lnope"),
        ("libhelp.a", "input that is no archive"),
        ("", "input that is no archive"),
        ("caller.bc helper.bc --plugin-opt=nonsense", "nonsense"),
    ] {
        pair.both_fail(&format!("{line} {inputs}"), message);
        assert!(!pair.own("x").exists(), "{inputs}");
    }
    pair.both_fail("-o x caller.bc helper.bc", "architecture");
    // The peer passes over a file that is not there.
    pair.offlink_fails(&format!("{line} caller.bc helper.bc nope.bc"), "nope.bc");
    pair.offlink_fails(&format!("{line} caller.bc helper.bc -z now"), "'-z'");
}

#[test]
fn prints_help_and_version() {
    let pair = pair();
    for line in ["--help", "-help-hidden", "--version"] {
        assert!(pair.offlink(line).succeeds_silently().contains("offlink"));
    }
}
