//! The command line of `nvlink`.

use crate::Arch;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// The arguments, without the program's name, that link relocatable cubins
/// into a final one. Options as of nvlink 13.0.
///
/// nvlink tells its inputs apart by their endings, so every one of `inputs`
/// must end in `.cubin`, `.o` or `.a`.
pub fn arguments(arch: Arch, inputs: &[PathBuf], output: &Path) -> Vec<OsString> {
    let mut arguments: Vec<OsString> = vec![
        "-m64".into(),
        format!("-arch={arch}").into(),
        "-o".into(),
        output.into(),
    ];
    arguments.extend(inputs.iter().map(OsString::from));
    arguments
}

/// The symbols that nvlink's stderr calls undefined, in its order. The wording
/// is that of nvlink 13.0.
pub fn undefined_symbols(stderr: &str) -> Vec<String> {
    stderr
        .lines()
        .filter_map(|line| line.split_once("Undefined reference to '"))
        .filter_map(|(_, rest)| rest.split('\'').next())
        .map(str::to_owned)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_keep_the_order_of_inputs() {
        let inputs = [PathBuf::from("b.cubin"), PathBuf::from("a.cubin")];
        let line = arguments(
            Arch::parse("sm_80").unwrap(),
            &inputs,
            Path::new("out.cubin"),
        );
        assert_eq!(
            line,
            [
                "-m64",
                "-arch=sm_80",
                "-o",
                "out.cubin",
                "b.cubin",
                "a.cubin"
            ]
        );
    }

    #[test]
    fn undefined_symbols_are_found() {
        // What nvlink 13.0.88 printed.
        let stderr = "nvlink error   : Undefined reference to 'ext' in 'u.cubin'\n";
        assert_eq!(undefined_symbols(stderr), ["ext"]);
        assert!(undefined_symbols("nvlink fatal   : merge_elf failed").is_empty());
    }
}
