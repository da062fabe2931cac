//! offlink links device code for GPUs into host programs.
//!
//! One link reads from top to bottom in `pipeline::link`: an argument line
//! becomes a `request::Request` (`cli`), its files are scanned for device
//! code, that code is grouped by target and linked into images, the images are
//! registered by a host object, the host linker pulls that object in, and the
//! result is verified.
#![forbid(unsafe_op_in_unsafe_fn)]
#![deny(unsafe_code)]

mod arch_list;
mod build_system;
mod cache;
mod cli;
mod device_input;
mod device_setting;
mod doctor;
mod error;
mod files;
mod image_argument;
mod inspect;
mod loader;
mod mapped_file;
mod options;
mod output_file;
mod pipeline;
mod process;
mod progress;
mod report;
mod request;
mod response_file;
mod spirv_runtime;
mod target;
mod timing;
mod toolchain;
mod wrapper_request;

pub use error::Error;

use std::ffi::OsString;
use std::process::ExitCode;

/// Runs one invocation of offlink and says how the process should end.
///
/// `arguments` starts with the program's name, which may be a peer's: under
/// the name `clang-linker-wrapper` offlink takes that program's line.
pub fn run(arguments: impl IntoIterator<Item = OsString>) -> ExitCode {
    timing::start();
    report::panics_as_internal_errors();
    let command = match cli::parse(arguments.into_iter().collect()) {
        Ok(command) => command,
        Err(error) => return report::failure(&error, false),
    };
    let verbose = command.verbose();
    match command.run() {
        Ok(code) => code,
        Err(error) => report::failure(&error, verbose),
    }
}
