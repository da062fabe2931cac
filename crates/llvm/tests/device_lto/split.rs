//! Links that are compiled in parts.

use std::io::Write;
use std::process::{Command, Stdio};

use crate::common::{library, nvptx};
use offlink_llvm::{
    Compiled, Keep, Module, OptLevel, Options, Outcome, Parts, Split, compile, compile_linked,
    compile_part, cut_part, link,
};

/// Kernels `a`, `b` and `c` with what parts may share: `helper` is only called, `pointee` is known by its address.
/// Stores are volatile, so that the optimiser drops none.
const KERNELS: &str = r#"
target triple = "nvptx64-nvidia-cuda"

@counter.1 = internal addrspace(1) global i32 0
@of_a = internal addrspace(1) global i32 0
@numbers = internal addrspace(1) constant [2 x i32] [i32 7, i32 8]
@text = private unnamed_addr addrspace(1) constant [3 x i8] c"hi\00"
@host = addrspace(4) externally_initialized global i32 0
@pointers = addrspace(1) externally_initialized global [1 x ptr] [ptr @pointee]
@tile = internal addrspace(3) global [4 x i32] undef
@behind = internal addrspace(3) global [4 x i32] undef
@sized = external addrspace(3) global [0 x i32]
@lonely = internal addrspace(1) global i32 3
@llvm.used = appending global [1 x ptr] [ptr addrspacecast (ptr addrspace(1) @lonely to ptr)], section "llvm.metadata"
@llvm.global_ctors = appending global [1 x { i32, ptr, ptr }] [{ i32, ptr, ptr } { i32 1, ptr @construct, ptr null }]

declare i32 @vprintf(ptr, ptr)

define internal void @construct() {
  store volatile i32 1, ptr addrspace(1) @of_a
  ret void
}

define internal i32 @helper(i32 %n) noinline {
  %old = atomicrmw add ptr addrspace(1) @counter.1, i32 %n monotonic
  ret i32 %old
}

define internal i32 @pointee(i32 %n) noinline {
  %slot = getelementptr [4 x i32], ptr addrspace(3) @behind, i32 0, i32 %n
  %value = load i32, ptr addrspace(3) %slot
  ret i32 %value
}

define ptx_kernel void @a(ptr %out, i32 %n) {
  %old = call i32 @helper(i32 %n)
  store volatile i32 %old, ptr addrspace(1) @of_a
  store volatile i32 %old, ptr addrspace(3) @tile
  store volatile ptr @pointee, ptr %out
  ret void
}

define ptx_kernel void @b(ptr %out, i32 %n) {
  %old = call i32 @helper(i32 %n)
  store volatile i32 %old, ptr addrspace(3) @behind
  store volatile i32 %old, ptr addrspace(3) @tile
  store volatile i32 %old, ptr addrspace(3) @sized
  %slot = getelementptr [2 x i32], ptr addrspace(1) @numbers, i32 0, i32 %n
  %number = load i32, ptr addrspace(1) %slot
  %scale = load i32, ptr addrspace(4) @host
  %sum = add i32 %number, %scale
  store volatile i32 %sum, ptr %out
  %printed = call i32 @vprintf(ptr addrspacecast (ptr addrspace(1) @text to ptr), ptr null)
  ret void
}

define ptx_kernel void @c(ptr %out, i32 %n) {
  %pointee = load ptr, ptr addrspace(1) @pointers
  %value = call i32 %pointee(i32 %n)
  %scale = load i32, ptr addrspace(4) @host
  %sum = add i32 %value, %scale
  store volatile i32 %sum, ptr %out
  %address = ptrtoint ptr addrspace(1) @numbers to i64
  store volatile i64 %address, ptr %out
  %printed = call i32 @vprintf(ptr addrspacecast (ptr addrspace(1) @text to ptr), ptr null)
  ret void
}
"#;

/// Bitcode that every library reads; LLVM 19's C API can't read text itself.
fn module(text: &str) -> Vec<Module> {
    let mut assembler = Command::new("llvm-as-19")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("llvm-as-19 starts");
    let mut input = assembler.stdin.take().expect("a pipe");
    input.write_all(text.as_bytes()).expect("it reads");
    drop(input);
    let output = assembler.wait_with_output().expect("it ends");
    assert!(output.status.success(), "{text}");
    vec![Module {
        name: "split".into(),
        bitcode: output.stdout.into(),
    }]
}

fn split(text: &str, options: Options, split: Split) -> Outcome {
    let find = Box::new(|_: &_| Ok(Vec::new()));
    let linked = link(library(), module(text), &options).expect("it links");
    compile_linked(&linked, find, options, split).expect("it compiles")
}

fn parts(text: &str, options: Options, how: Split) -> Parts {
    match split(text, options, how) {
        Outcome::Parts(parts) => parts,
        Outcome::Whole(compiled) => panic!("it is not split: {:?}", compiled.warnings),
    }
}

fn compiled_part(parts: &Parts, part: usize) -> Compiled {
    let bitcode = cut_part(parts, part).expect("the part is cut");
    compile_part(parts, bitcode.into(), "+ptx78").expect("the part compiles")
}

/// The PTX of every part.
fn texts(parts: &Parts) -> Vec<String> {
    (0..parts.weights().len())
        .map(|part| {
            let compiled = compiled_part(parts, part);
            String::from_utf8(compiled.code).expect("PTX is text")
        })
        .collect()
}

/// The parts whose PTX has a line with all of these words.
fn with(texts: &[String], words: &[&str]) -> Vec<usize> {
    let has = |text: &&String| {
        text.lines()
            .any(|line| words.iter().all(|word| line.contains(word)))
    };
    let numbered = texts.iter().enumerate();
    numbered
        .filter_map(|(part, text)| has(&text).then_some(part))
        .collect()
}

fn unoptimised() -> Options {
    Options {
        opt_level: OptLevel::O0,
        ..nvptx()
    }
}

#[test]
fn each_part_has_its_kernel_and_all_that_it_reaches() {
    for options in [unoptimised(), nvptx()] {
        let parts = parts(KERNELS, options, Split::EachKernel);
        assert_eq!(parts.kernels(), ["a", "b", "c"]);
        let texts = texts(&parts);
        for (part, kernel) in ["a(", "b(", "c("].iter().enumerate() {
            assert_eq!(with(&texts, &[".entry", kernel]), [part]);
        }
        // A function that is only called, shared memory of the kernel itself, and text.
        assert_eq!(with(&texts, &[".func", "helper"]), [0, 1], "{texts:?}");
        assert_eq!(with(&texts, &[".extern", "helper"]), []);
        assert_eq!(with(&texts, &[".shared", "tile"]), [0, 1]);
        assert_eq!(with(&texts, &[".visible", "tile"]), []);
        assert_eq!(with(&texts, &[".b8", "text"]), [1, 2]);
        assert_eq!(with(&texts, &[".extern", "vprintf"]), [1, 2]);
        assert_eq!(with(&texts, &[".extern .shared", "sized"]), [1]);
    }
}

#[test]
fn what_must_be_one_lives_in_one_part_and_is_declared_in_the_others() {
    for options in [unoptimised(), nvptx()] {
        let texts = texts(&parts(KERNELS, options, Split::EachKernel));
        let defined_and_declared = |words: &[&str], owner: usize, users: &[usize]| {
            let line = |linkage| [&[linkage], words].concat();
            assert_eq!(
                with(&texts, &line(".visible")),
                [owner],
                "{words:?} {texts:?}"
            );
            assert_eq!(with(&texts, &line(".extern")), users, "{words:?} {texts:?}");
        };
        defined_and_declared(&[".global", "__offlink_counter_1_"], 0, &[1]);
        defined_and_declared(&[".const", "host"], 1, &[2]);
        defined_and_declared(&[".global", "pointers"], 2, &[]);
        defined_and_declared(&[".func", "__offlink_pointee_"], 0, &[2]);
        // A function behind a pointer works on the memory of the kernel that calls it.
        defined_and_declared(&[".shared", "__offlink_behind_"], 0, &[1]);
        // A variable that one part alone knows stays its own, and so does its name.
        assert_eq!(with(&texts, &[".global", "of_a"]), [0]);
        assert_eq!(with(&texts, &[".visible", "of_a"]), []);
        // What no kernel reaches.
        assert_eq!(with(&texts, &["lonely"]), [0]);
        assert_eq!(with(&texts, &[".entry nvptx$device$init"]), [0]);
    }
    // Two addresses of one constant would differ.
    let texts = texts(&parts(KERNELS, unoptimised(), Split::EachKernel));
    assert_eq!(with(&texts, &[".visible", "__offlink_numbers_"]), [1]);
    assert_eq!(with(&texts, &[".extern", "__offlink_numbers_"]), [2]);
}

#[test]
fn what_other_parts_define_is_not_undefined() {
    let parts = parts(KERNELS, nvptx(), Split::EachKernel);
    for (part, expected) in [(0, vec![]), (1, vec!["vprintf"]), (2, vec!["vprintf"])] {
        let compiled = compiled_part(&parts, part);
        let undefined = compiled.undefined.iter().map(|it| &it.symbol);
        let undefined: Vec<_> = undefined.filter(|it| !parts.defines(it)).collect();
        assert_eq!(undefined, expected, "{part}");
    }
}

/// A part is known by its bitcode, whatever happens to the others.
#[test]
fn a_change_changes_its_own_part_only() {
    let cut = |text: &str| -> Vec<Vec<u8>> {
        let parts = parts(text, nvptx(), Split::EachKernel);
        let numbers = 0..parts.weights().len();
        numbers
            .map(|part| cut_part(&parts, part).expect("the part is cut"))
            .collect()
    };
    let before = cut(KERNELS);
    let changed = KERNELS.replacen("i32 3\n@llvm.used", "i32 4\n@llvm.used", 1);
    assert_ne!(changed, KERNELS);
    let after = cut(&changed);
    let same: Vec<bool> = before.iter().zip(&after).map(|(a, b)| a == b).collect();
    assert_eq!(same, [false, true, true]);
}

#[test]
fn parts_are_the_same_every_time() {
    // LLVM 19 numbers the prototypes of calls by pointer, constructors' among them, with a counter of the process.
    let without_constructors =
        KERNELS.replace("@llvm.global_ctors = appending", "@no_constructors =");
    let text = without_constructors.replace("call i32 %pointee(", "call i32 @pointee(");
    let once = parts(&text, nvptx(), Split::EachKernel);
    let again = parts(&text, nvptx(), Split::EachKernel);
    assert_eq!(once.weights(), again.weights());
    assert_eq!(texts(&once), texts(&again));
}

/// `count` kernels of about fifty instructions.
fn many_kernels(count: usize) -> String {
    let mut text = String::from("target triple = \"nvptx64-nvidia-cuda\"\n");
    for kernel in 0..count {
        text += &format!("define ptx_kernel void @kernel_{kernel}(ptr %out, i32 %v0) {{\n");
        for step in 1..50 {
            let before = step - 1;
            text += &format!("  %v{step} = xor i32 %v{before}, {}\n", kernel * step);
        }
        text += "  store i32 %v49, ptr %out\n  ret void\n}\n";
    }
    text
}

#[test]
fn big_code_is_split_by_weight_and_small_code_is_compiled_as_ever() {
    let text = many_kernels(40);
    let parts = parts(&text, nvptx(), Split::Parts(300));
    let weights = parts.weights();
    assert_eq!(weights.iter().sum::<u64>(), 40 * 51);
    assert!((4..=14).contains(&weights.len()), "{weights:?}");
    let entries: usize = texts(&parts)
        .iter()
        .map(|text| text.matches(".visible .entry kernel_").count())
        .sum();
    assert_eq!(entries, 40);

    let whole = compile(library(), module(&text), nvptx()).expect("it compiles");
    match split(&text, nvptx(), Split::Parts(2000)) {
        Outcome::Whole(compiled) => assert_eq!(compiled.code, whole.code),
        Outcome::Parts(parts) => panic!("{:?}", parts.weights()),
    }
}

#[test]
fn code_that_would_change_its_meaning_stays_whole_and_a_warning_says_why() {
    let changed = |from: &str, to: &str| {
        assert!(KERNELS.contains(from), "{from}");
        KERNELS.replacen(from, to, 1)
    };
    let triple = "target triple = \"nvptx64-nvidia-cuda\"\n";
    for (text, reason) in [
        (
            changed(triple, &format!("{triple}module asm \"// here\"\n")),
            "assembly outside of functions",
        ),
        (
            changed(
                triple,
                &format!("{triple}@other = alias i32 (i32), ptr @pointee\n"),
            )
            .replace("volatile ptr @pointee", "volatile ptr @other"),
            "'other' is an alias",
        ),
        (
            changed("store volatile ptr @pointee", "store volatile ptr @b"),
            "refers to the kernel 'b'",
        ),
        (
            KERNELS.to_owned()
                + "!llvm.module.flags = !{!0}\n!0 = !{i32 7, !\"openmp-device\", i32 51}\n",
            "OpenMP",
        ),
        (
            KERNELS.to_owned()
                + "!nvvm.annotations = !{!0}\n!0 = !{ptr addrspace(1) @of_a, !\"managed\", i32 1}\n",
            "'of_a' is a managed variable",
        ),
    ] {
        match split(&text, unoptimised(), Split::EachKernel) {
            Outcome::Whole(compiled) => {
                let warnings = compiled.warnings.join("\n");
                assert!(warnings.contains(reason), "{warnings}");
                assert_eq!(compiled.kernels, ["a", "b", "c"]);
            }
            Outcome::Parts(_) => panic!("it is split: {reason}"),
        }
    }
}

#[test]
fn kernels_that_are_one_function_for_the_most_part_stay_together() {
    let mut text = many_kernels(40).replace("ret void", "call void @big(ptr %out)\n  ret void");
    text += "define internal void @big(ptr %out) noinline {\n";
    for _ in 0..2000 {
        text += "  store volatile i32 1, ptr %out\n";
    }
    text += "  ret void\n}\n";
    match split(&text, nvptx(), Split::Parts(300)) {
        Outcome::Whole(compiled) => {
            assert!(
                compiled.warnings.join("").contains("share most"),
                "{:?}",
                compiled.warnings
            );
        }
        Outcome::Parts(parts) => panic!("{:?}", parts.weights()),
    }
}

#[test]
fn what_is_linked_once_more_is_not_split() {
    let linkable = Options {
        keep: Keep::Linkable,
        ..nvptx()
    };
    let outcome = split(KERNELS, linkable, Split::EachKernel);
    assert!(matches!(outcome, Outcome::Whole(_)), "{outcome:?}");
}
