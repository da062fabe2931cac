//! Device LTO for NVIDIA GPUs.

use crate::common::{fixtures, library, module, module_at, nvptx};
use bytes::Bytes;
use offlink_llvm::{Compiled, Emit, Error, Keep, Module, OptLevel, Options, Undefined, compile};

fn compile_ptx(modules: &[&str], options: Options) -> (Compiled, String) {
    let modules = modules.iter().map(|name| module(name)).collect();
    let compiled = compile(library(), modules, options).expect("it compiles");
    let ptx = String::from_utf8(compiled.code.clone()).expect("PTX is text");
    (compiled, ptx)
}

#[test]
fn a_hidden_kernel_stays_and_its_helper_is_local() {
    for fixture in [
        "llvm19/helper.nvptx64.bc",
        &format!("{}/helper.nvptx64.bc", fixtures()),
    ] {
        let compiled = compile(library(), vec![module_at(fixture)], nvptx()).expect(fixture);
        let ptx = String::from_utf8(compiled.code).expect("PTX is text");
        assert_eq!(compiled.kernels, ["hidden_kernel"], "{fixture}");
        assert!(ptx.contains(".visible .entry hidden_kernel("), "{ptx}");
        assert!(
            ptx.contains("\n.func  (.param .b32 func_retval0) helper("),
            "{ptx}"
        );
        assert!(
            ptx.contains(".visible .func  (.param .b32 func_retval0) used_function("),
            "{ptx}"
        );
        assert!(!ptx.contains("hidden_function"), "{ptx}");
        assert!(!ptx.contains("visible_function"), "{ptx}");
        assert_eq!(compiled.declared_ptx, Some(78));
        assert_eq!(compiled.undefined, []);
        assert_eq!(compiled.warnings, Vec::<String>::new());
    }
}

#[test]
fn exports_stay_under_their_name_and_visible_definitions_on_request() {
    let exports = Options {
        exports: vec!["hidden_function".into(), "no_such_function".into()],
        ..nvptx()
    };
    let (_, ptx) = compile_ptx(&["helper.nvptx64"], exports);
    assert!(
        ptx.contains(".visible .func  (.param .b32 func_retval0) hidden_function("),
        "{ptx}"
    );
    assert!(!ptx.contains("visible_function"), "{ptx}");

    let visible = Options {
        keep: Keep::Visible,
        ..nvptx()
    };
    let (_, ptx) = compile_ptx(&["helper.nvptx64"], visible);
    assert!(ptx.contains("visible_function("), "{ptx}");
    assert!(!ptx.contains("hidden_function("), "{ptx}");
}

#[test]
fn kernels_of_any_linkage_stay_and_names_may_hold_any_character() {
    let odd = "odd<name>,(with;marks)";
    let bitcode = |exports: &[&str]| {
        let options = Options {
            exports: exports.iter().map(|&name| name.into()).collect(),
            emit: Emit::Bitcode,
            ..nvptx()
        };
        compile(library(), vec![module("linkage.nvptx64")], options).expect("it compiles")
    };
    let with = bitcode(&[odd]);
    assert_eq!(with.kernels, ["local"]);
    let holds =
        |code: &[u8], name: &str| code.windows(name.len()).any(|part| part == name.as_bytes());
    assert!(holds(&with.code, odd));
    assert!(holds(&with.code, "only_used"));
    assert!(!holds(&with.code, "dropped"));
    assert!(!holds(&bitcode(&[]).code, odd));

    let (_, ptx) = compile_ptx(&["linkage.nvptx64"], nvptx());
    assert!(ptx.contains(".visible .entry local("), "{ptx}");
}

#[test]
fn a_linkonce_kernel_stays_and_is_one_where_two_modules_define_it() {
    for modules in [
        &["once.nvptx64"][..],
        &["once.nvptx64", "linkage.nvptx64", "once.nvptx64"],
    ] {
        let (compiled, ptx) = compile_ptx(modules, nvptx());
        assert!(compiled.kernels.contains(&"once".into()), "{modules:?}");
        assert_eq!(ptx.matches(".weak .entry once(").count(), 1, "{ptx}");
    }
}

#[test]
fn constructors_become_what_the_offload_runtime_calls() {
    for opt_level in [OptLevel::O0, OptLevel::O3] {
        let options = Options {
            opt_level,
            ..nvptx()
        };
        let (compiled, ptx) = compile_ptx(&["constructor.nvptx64"], options);
        assert!(ptx.contains(".entry nvptx$device$init"), "{ptx}");
        assert!(ptx.contains("__init_array_object_constructor"), "{ptx}");
        assert_eq!(compiled.kernels, ["kernel"]);
    }
}

#[test]
fn two_strong_definitions_are_an_error_that_names_symbol_and_module() {
    let modules = ["helper.nvptx64", "duplicate.nvptx64"].map(module).to_vec();
    let error = compile(library(), modules, nvptx()).expect_err("a kernel is defined twice");
    let text = error.to_string();
    assert!(matches!(error, Error::Link { .. }), "{text}");
    assert!(text.contains("hidden_kernel"), "{text}");
    assert!(text.contains("duplicate.nvptx64.bc"), "{text}");
}

#[test]
fn variables_that_the_host_looks_up_stay() {
    let (compiled, ptx) = compile_ptx(&["device_variable.nvptx64"], nvptx());
    assert_eq!(compiled.kernels, ["_Z6countsPi"]);
    assert!(
        ptx.contains(".visible .global .align 4 .u32 counter"),
        "{ptx}"
    );
    assert!(
        ptx.contains(".visible .const .align 4 .b8 table[16]"),
        "{ptx}"
    );
    // Shared memory that the launch sizes is a declaration, but nothing is missing.
    assert!(ptx.contains(".extern .shared"), "{ptx}");
    assert_eq!(compiled.undefined, []);
}

#[test]
fn what_is_undefined_comes_with_a_user() {
    let (compiled, _) = compile_ptx(&["undefined.nvptx64"], nvptx());
    let undefined = |symbol: &str| Undefined {
        symbol: symbol.into(),
        used_by: "uses".into(),
    };
    assert_eq!(
        compiled.undefined,
        ["missing_function", "missing_variable", "missing_weak"].map(undefined)
    );
}

#[test]
fn the_options_decide_about_ptx_and_gpu() {
    let (compiled, ptx) = compile_ptx(&["old_ptx.nvptx64"], nvptx());
    assert!(ptx.contains(".version 7.8\n.target sm_90\n"), "{ptx}");
    assert_eq!(compiled.declared_ptx, Some(42));
}

#[test]
fn reflection_is_answered_for_the_gpu_of_the_link() {
    // 123.0 and 321.0 as PTX writes them: the answers for new and old GPUs.
    let (new, old) = ("0f42F60000", "0f43A08000");
    for level in [OptLevel::O0, OptLevel::O1, OptLevel::O2, OptLevel::O3] {
        let for_gpu = |cpu: &str| {
            let options = Options {
                cpu: cpu.into(),
                opt_level: level,
                ..nvptx()
            };
            let (compiled, ptx) = compile_ptx(&["reflect.nvptx64"], options);
            assert_eq!(compiled.undefined, [], "{level:?}");
            assert!(!ptx.contains("__nvvm_reflect"), "{level:?}: {ptx}");
            ptx
        };
        let ptx = for_gpu("sm_90");
        assert!(ptx.contains(new) && !ptx.contains(old), "{level:?}: {ptx}");
        let ptx = for_gpu("sm_60");
        assert!(ptx.contains(old) && !ptx.contains(new), "{level:?}: {ptx}");
    }
}

#[test]
fn equal_input_gives_equal_output_whatever_it_is_called() {
    let code = |name: &str, emit: Emit| {
        let renamed = Module {
            name: name.into(),
            ..module("helper.nvptx64")
        };
        let options = Options { emit, ..nvptx() };
        compile(library(), vec![renamed], options)
            .expect("it compiles")
            .code
    };
    for emit in [Emit::Assembly, Emit::Bitcode] {
        let first = code("/first/path.o", emit);
        assert_eq!(first, code("second.a(member.o)", emit));
        assert!(!first.windows(6).any(|part| part == b"/first"));
    }
}

#[test]
fn what_is_emitted_as_bitcode_can_be_compiled_again() {
    let options = Options {
        emit: Emit::Bitcode,
        ..nvptx()
    };
    let first = compile(library(), vec![module("helper.nvptx64")], options).expect("it compiles");
    let again = Module {
        name: "again".into(),
        bitcode: first.code.into(),
    };
    let again = compile(library(), vec![again], nvptx()).expect("it compiles again");
    assert_eq!(again.kernels, first.kernels);
}

#[test]
fn parallel_compiles_give_what_single_ones_give() {
    let names = [
        "helper",
        "undefined",
        "reflect",
        "device_variable",
        "old_ptx",
    ];
    let ptx = |name: &str| compile_ptx(&[&format!("{name}.nvptx64")], nvptx()).1;
    let expected = names.map(ptx);
    std::thread::scope(|scope| {
        let threads: Vec<_> = (0..20)
            .map(|index| scope.spawn(move || ptx(names[index % names.len()])))
            .collect();
        for (index, thread) in threads.into_iter().enumerate() {
            let got = thread.join().expect("no thread panics");
            assert_eq!(got, expected[index % names.len()]);
        }
    });
}

#[test]
fn warnings_are_returned() {
    let (compiled, _) = compile_ptx(&["flag_1.nvptx64", "flag_2.nvptx64"], nvptx());
    assert_eq!(compiled.warnings.len(), 1, "{:?}", compiled.warnings);
    assert!(
        compiled.warnings[0].contains("answer"),
        "{:?}",
        compiled.warnings
    );
}

#[test]
fn no_modules_give_an_empty_image() {
    let (compiled, ptx) = compile_ptx(&[], nvptx());
    assert!(ptx.contains(".target sm_90"), "{ptx}");
    assert_eq!(compiled.kernels, Vec::<String>::new());
    assert_eq!(compiled.declared_ptx, None);
}

#[test]
fn other_architectures_and_damaged_files_are_errors() {
    let error = compile(library(), vec![module("helper.amdgcn")], nvptx()).expect_err("amdgcn");
    assert!(
        matches!(error, Error::Triple { ref found, .. } if found == "amdgcn-amd-amdhsa"),
        "{error}"
    );

    let whole = module("helper.nvptx64");
    for length in (0..whole.bitcode.len()).step_by(41) {
        let cut = Module {
            name: "cut.o".into(),
            bitcode: whole.bitcode.slice(..length),
        };
        let error = compile(library(), vec![cut], nvptx()).expect_err("cut short");
        let text = error.to_string();
        assert!(
            matches!(error, Error::Bitcode { .. }) && text.contains("cut.o"),
            "{length}: {text}"
        );
    }
    // LLVM's reader is no match for damage further in: it crashes, which nothing in the process can stop.
    for bit in 0..32 * 8 {
        let mut bytes = whole.bitcode.to_vec();
        bytes[bit / 8] ^= 1 << (bit % 8);
        let damaged = Module {
            name: "damaged.o".into(),
            bitcode: bytes.into(),
        };
        match compile(library(), vec![damaged], nvptx()) {
            Ok(compiled) => assert_eq!(compiled.kernels, ["hidden_kernel"], "{bit}"),
            Err(error) => assert!(error.to_string().contains("damaged.o"), "{bit}: {error}"),
        }
    }
    let garbage = Module {
        name: "garbage.o".into(),
        bitcode: Bytes::from_static(b"\x7fELF, not bitcode"),
    };
    assert!(matches!(
        compile(library(), vec![garbage], nvptx()),
        Err(Error::Bitcode { .. })
    ));
}
