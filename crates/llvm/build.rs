//! Makes LLVM's C API callable: by the assembly that stands in for libLLVM until one is opened, or, with the
//! feature `static-llvm`, by LLVM's static libraries.

#[path = "build/linked.rs"]
mod linked;
#[path = "build/stubs.rs"]
mod stubs;

use std::env;
use std::error::Error;

fn main() -> Result<(), Box<dyn Error>> {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-changed=build");
    if env::var_os("CARGO_FEATURE_STATIC_LLVM").is_some() {
        linked::link()
    } else {
        stubs::write()
    }
}
