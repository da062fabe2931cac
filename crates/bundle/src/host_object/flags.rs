//! The flags that registration code is compiled with. The build script uses
//! them too.

/// For every host. They come last, behind any CFLAGS of the environment, whose
/// choices are for code that runs here and not for code that goes into other
/// programs.
pub(crate) const FLAGS: [&str; 6] = [
    "-O2",
    "-g0",
    "-fno-lto",
    "-ffreestanding",
    "-fno-stack-protector",
    "-c",
];

/// Where objects are ELF.
pub(crate) const ELF_FLAGS: [&str; 2] = ["-fPIC", "-fno-asynchronous-unwind-tables"];

/// A single object without the marks of control-flow protection turns it off for
/// the whole program that it is linked into.
pub(crate) const X86_64_FLAGS: [&str; 1] = ["-fcf-protection=full"];
