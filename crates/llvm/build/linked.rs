//! Links LLVM's static libraries into the program.

use std::env;
use std::error::Error;
use std::process::Command;

/// The release whose C API llvm-sys declares. Programs refer to all of it, so an older one doesn't do.
const MAJOR: &str = "22";

/// The components that device links use, as `llvm-config --components` lists them. The last is what a module's
/// destructor in inkwell refers to; its other references are unused, so that linkers drop them.
const COMPONENTS: [&str; 10] = [
    "amdgpu",
    "nvptx",
    "spirv",
    "x86",
    "bitreader",
    "bitwriter",
    "irreader",
    "linker",
    "passes",
    "executionengine",
];

/// The targets of `src/library/linked.rs`.
const TARGETS: [&str; 4] = ["AMDGPU", "NVPTX", "SPIRV", "X86"];

/// Tells cargo what to link.
pub(crate) fn link() -> Result<(), Box<dyn Error>> {
    println!("cargo::rerun-if-env-changed=LLVM_CONFIG");
    let program = env::var("LLVM_CONFIG").unwrap_or_else(|_| format!("llvm-config-{MAJOR}"));
    let ask = |question: &[&str]| -> Result<String, Box<dyn Error>> {
        let remedy = format!(
            "the feature static-llvm needs LLVM {MAJOR}'s static libraries ('apt install llvm-{MAJOR}-dev'); \
             LLVM_CONFIG names the llvm-config to ask"
        );
        let output = Command::new(&program)
            .arg("--link-static")
            .args(question)
            .output()
            .map_err(|error| format!("cannot run '{program}': {error}; {remedy}"))?;
        if !output.status.success() {
            let reason = String::from_utf8_lossy(&output.stderr);
            return Err(format!("'{program}' failed: {}; {remedy}", reason.trim()).into());
        }
        Ok(String::from_utf8(output.stdout)?)
    };
    let version = ask(&["--version"])?;
    if version.split('.').next() != Some(MAJOR) {
        let version = version.trim();
        return Err(format!("'{program}' is of LLVM {version}; static-llvm needs {MAJOR}").into());
    }
    let built = ask(&["--targets-built"])?;
    for target in TARGETS {
        if !built.split_whitespace().any(|name| name == target) {
            return Err(format!("the LLVM of '{program}' was built without {target}").into());
        }
    }
    println!(
        "cargo::rustc-link-search=native={}",
        ask(&["--libdir"])?.trim()
    );
    let libraries = ask(&[&["--libs"], COMPONENTS.as_slice()].concat())?;
    for library in libraries.split_whitespace() {
        let name = library.strip_prefix("-l").unwrap_or(library);
        println!("cargo::rustc-link-lib=static:-bundle={name}");
    }
    // Of what `--system-libs` lists, the part that device links reach; zstd is the crate zstd-sys.
    for name in ["z", "stdc++"] {
        println!("cargo::rustc-link-lib=static:-bundle={name}");
    }
    Ok(())
}
