//! The `offlink` program: everything is in the library, so that tests and
//! other programs can reach it.

use std::process::ExitCode;

fn main() -> ExitCode {
    offlink::run(std::env::args_os())
}
