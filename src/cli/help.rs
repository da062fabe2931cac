//! `offlink --help` and `--version`.

/// One line: name and version.
pub fn version() -> String {
    concat!("offlink ", env!("CARGO_PKG_VERSION"), "\n").into()
}

/// The whole help.
pub fn text() -> String {
    format!(
        "{}Links device code for GPUs into host programs.

Whole links:
  offlink cc ARGS…         a compiler driver's line; what cargo's `linker =` sends
  offlink ld ARGS…         a linker's line
  offlink lld-link ARGS…   a line of lld-link, for Windows
  offlink ARGS…            one of these lines, or rustc's for its GPU targets
  clang-linker-wrapper …   under that name: what clang sends with -B

Under their names, or with them as first word, the lines of llvm-offload-binary
(clang-offload-packager), llvm-offload-wrapper, clang-offload-bundler,
clang-nvlink-wrapper, fatbinary and llvm-bitcode-linker (NAME --help says more).

Single steps (offlink STEP --help says more):
  offlink extract          host objects, archives → device code by target
  offlink link             device code → the image for one target
  offlink bundle           images → offload binary
  offlink wrap             offload binaries → host object that registers them
  offlink seal             result of a relocatable link → object for any linker
  offlink inspect          what device code a file holds
  offlink doctor           which tools a link uses; which device runs a program
  offlink cache            stat, verify, prune: the images kept for later links

Options, taken out of any line:
{}
Exit codes: 0 done, 1 link failed, 2 usage, 3 a device tool failed, 4 something is
not declared that a hermetic link needs, 70 a defect of offlink; the host
linker's own code is passed on.
",
        version(),
        crate::options::help()
    )
}
