//! What LLVM takes for fatal is an error here, and the process goes on.

use crate::common::{library, module, nvptx};
use offlink_llvm::{Error, Options, compile};

#[test]
fn a_fatal_error_is_returned_and_other_compiles_go_on() {
    let hopeless = || {
        let options = Options {
            cpu: "sm_60".into(),
            features: "+ptx60".into(),
            exports: vec!["other_name".into()],
            ..nvptx()
        };
        compile(library(), vec![module("alias.nvptx64")], options)
    };
    let fine = || compile(library(), vec![module("helper.nvptx64")], nvptx());
    std::thread::scope(|scope| {
        for index in 0..12 {
            scope.spawn(move || {
                if index % 2 == 1 {
                    assert_eq!(fine().expect("it compiles").kernels, ["hidden_kernel"]);
                    return;
                }
                let error = hopeless().expect_err("PTX 6.0 has no aliases");
                let text = error.to_string();
                assert!(matches!(error, Error::Fatal { .. }), "{text}");
                assert!(text.contains("nvptx64-nvidia-cuda"), "{text}");
                assert!(
                    text.contains(".alias requires PTX version >= 6.3"),
                    "{text}"
                );
            });
        }
    });
    fine().expect("it compiles after all that");
}

#[test]
fn a_ptx_version_too_old_for_the_gpu_is_returned_with_what_the_modules_ask_for() {
    let options = Options {
        features: "+ptx42".into(),
        ..nvptx()
    };
    let outcome = compile(library(), vec![module("helper.nvptx64")], options);
    if library().version().major < 22 {
        // LLVM 19 raises the version by itself.
        let ptx = String::from_utf8(outcome.expect("it compiles").code).expect("PTX is text");
        assert!(ptx.contains(".version 7.8"), "{ptx}");
        return;
    }
    let Err(Error::Fatal {
        message,
        declared_ptx,
        ..
    }) = outcome
    else {
        panic!("PTX 4.2 does not know sm_90");
    };
    assert!(
        message.contains("PTX version 4.2 does not support target 'sm_90'"),
        "{message}"
    );
    assert_eq!(declared_ptx, Some(78));
}

#[test]
fn targets_that_the_library_lacks_and_strings_with_nul_are_errors() {
    let unknown = Options {
        triple: "pdp11-dec-unix".into(),
        ..nvptx()
    };
    let error = compile(library(), Vec::new(), unknown).expect_err("no such target");
    assert!(matches!(error, Error::Target { .. }), "{error}");
    assert!(error.to_string().contains("pdp11"), "{error}");

    let nul = Options {
        cpu: "sm_90\0".into(),
        ..nvptx()
    };
    assert!(matches!(
        compile(library(), Vec::new(), nul),
        Err(Error::Nul { what: "CPU", .. })
    ));
}
