//! Device libraries: what is asked for, and what of them ends up in the code.

use std::sync::{Arc, Mutex};

use crate::amdgcn::amdgcn;
use crate::common::{library, module, nvptx};
use offlink_llvm::{Compiled, Error, Keep, Module, Options, Wants, compile_with_libraries};

/// Compiles with these libraries; also returns what was asked for.
fn compile(name: &str, libraries: Vec<Module>, options: Options) -> (Compiled, Option<Wants>) {
    let asked = Arc::new(Mutex::new(None));
    let answer = Arc::clone(&asked);
    let find = Box::new(move |wants: &Wants| {
        *answer.lock().expect("nobody panicked") = Some(wants.clone());
        Ok(libraries)
    });
    let compiled =
        compile_with_libraries(library(), vec![module(name)], find, options).expect(name);
    let wants = asked.lock().expect("nobody panicked").take();
    (compiled, wants)
}

fn with_library(options: Options) -> (String, Compiled, Wants) {
    let libraries = vec![module("library.nvptx64")];
    let (compiled, wants) = compile("needs_library.nvptx64", libraries, options);
    let text = String::from_utf8(compiled.code.clone()).expect("PTX is text");
    (text, compiled, wants.expect("a library is needed"))
}

/// The names of all that is undefined.
fn names(undefined: &[offlink_llvm::Undefined]) -> Vec<&str> {
    undefined.iter().map(|one| one.symbol.as_str()).collect()
}

#[test]
fn only_code_in_use_asks_for_a_library() {
    let (_, compiled, wants) = with_library(nvptx());
    assert_eq!(names(&wants.undefined), ["lib_used"]);
    assert_eq!(wants.undefined[0].used_by, "kernel");
    assert!(wants.flushes_denormals);
    assert_eq!(compiled.undefined, []);

    let (_, wants) = compile("helper.nvptx64", Vec::new(), nvptx());
    assert_eq!(wants, None);
}

#[test]
fn only_what_is_needed_comes_and_stays_inside() {
    for keep in [Keep::Kernels, Keep::Visible] {
        let (text, compiled, _) = with_library(Options { keep, ..nvptx() });
        for inside in ["table", "lib_used"] {
            assert!(text.contains(inside), "{inside}: {text}");
            assert!(!compiled.defined.iter().any(|name| name == inside));
        }
        for outside in ["lib_unused", "state", "nowhere_either"] {
            assert!(!text.contains(outside), "{outside}: {text}");
        }
        // The module's own function wins: it adds 2, the library's answers 99.
        assert!(text.contains("0f40000000"), "{text}");
        assert!(!text.contains("0f42C60000"), "{text}");
    }
}

#[test]
fn libraries_treat_denormal_numbers_as_the_code_does() {
    let (text, ..) = with_library(nvptx());
    assert!(text.contains("mul.rn.ftz.f32"), "{text}");
    assert!(text.contains("add.rn.ftz.f32"), "{text}");
}

#[test]
fn libraries_that_cannot_be_had_are_an_error() {
    let find = Box::new(|_: &Wants| Err("lost at sea".into()));
    let error = compile_with_libraries(
        library(),
        vec![module("needs_library.nvptx64")],
        find,
        nvptx(),
    )
    .expect_err("there is no library");
    assert!(matches!(error, Error::Libraries(_)), "{error}");
    assert_eq!(error.to_string(), "lost at sea");
}

#[test]
fn libraries_that_cannot_be_read_are_named() {
    let mut cut = module("library.nvptx64");
    cut.bitcode.truncate(cut.bitcode.len() / 2);
    let other = module("helper.amdgcn");
    for (bad, part) in [(cut, "library.nvptx64"), (other, "is for amdgcn")] {
        let find = Box::new(move |_: &Wants| Ok(vec![bad]));
        let modules = vec![module("needs_library.nvptx64")];
        let error = compile_with_libraries(library(), modules, find, nvptx())
            .expect_err("no library to link");
        assert!(error.to_string().contains(part), "{error}");
    }
}

/// Which of them are called by which name is LLVM's business from here on.
#[test]
fn mathematics_is_asked_of_the_makers_library() {
    let asked = |name: &str, options| {
        let find = Box::new(|wants: &Wants| Err(names(&wants.undefined).join(" ").into()));
        compile_with_libraries(library(), vec![module(name)], find, options)
            .expect_err("the names")
            .to_string()
    };
    assert_eq!(
        asked("math.nvptx64", nvptx()),
        "__nv_atan2f __nv_cbrt __nv_pow __nv_sin __nv_tanf hypot"
    );
    assert_eq!(
        asked("math.amdgcn", amdgcn()),
        "__ocml_atan2_f32 __ocml_cbrt_f64 __ocml_pow_f64 __ocml_sin_f64 __ocml_tan_f32 hypot"
    );
    // Native code may define what has a name of C's.
    let keep = Keep::Visible;
    assert_eq!(
        asked("math.nvptx64", Options { keep, ..nvptx() }),
        "__nv_pow __nv_sin __nv_tanf atan2f cbrt hypot"
    );
}

#[test]
fn the_code_object_version_is_the_one_that_llvm_writes() {
    let (compiled, wants) = compile("math.amdgcn", Vec::new(), amdgcn());
    let version = wants.expect("asked").code_object_version / 100;
    let text = String::from_utf8(compiled.code).expect("assembly is text");
    let line = format!(".amdhsa_code_object_version {version}\n");
    assert!(text.contains(&line), "{line}: {text}");
}
