//! llvm-offload-wrapper (22): images into a module that registers them. The
//! peer writes bitcode for clang to compile; offlink writes the object that
//! would come of it, which every use of the module ends in.

use super::PeerError;
use super::line::{self, OF_EVERY_LLVM_TOOL, PeerLine, PeerOption};
use crate::cli::help;
use crate::cli::verbs::wrap;
use crate::options::Options;
use crate::pipeline::bundle::Described;
use crate::pipeline::host::DEFAULT_HOST;
use crate::request::OutputKind;
use crate::{Error, report};
use offlink_bundle::entry::Generation;
use offlink_bundle::offload_binary::OffloadKind;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

const TABLE: &[PeerOption] = &[
    PeerOption {
        names: &["o"],
        value: Some("file"),
        help: "the object to write (the peer writes bitcode)",
    },
    PeerOption {
        names: &["kind"],
        value: Some("openmp|cuda|hip"),
        help: "the runtime that the images are registered with",
    },
    PeerOption {
        names: &["triple"],
        value: Some("triple"),
        help: "the host's triple",
    },
];

const KINDS: &str = "openmp, cuda or hip";

/// Carries the line out.
///
/// # Errors
/// [`Error`] when files can't be read or written or the line makes no sense.
pub fn run(arguments: Vec<OsString>, options: Options) -> Result<(), Error> {
    let tables = [TABLE, OF_EVERY_LLVM_TOOL];
    let line = PeerLine::read(&tables, arguments)?;
    if line.has("version") {
        return report::print(&help::version());
    }
    if line.has("help") {
        let usage = "llvm-offload-wrapper --kind=KIND -o FILE IMAGES";
        return report::print(&line::help(usage, &tables));
    }
    let kind = line.text("kind").ok_or(PeerError::Missing("--kind"))?;
    let output = line.last("o").ok_or(PeerError::Missing("-o FILE"))?;
    let host = line.text("triple");
    let host = host.as_deref().unwrap_or(DEFAULT_HOST);
    match (kind.as_str(), line.inputs.as_slice()) {
        (_, []) => Err(PeerError::Missing("the file to wrap").into()),
        ("openmp", files) => wrap_openmp(files, host, &options, Path::new(output)),
        ("cuda" | "hip", [file]) => {
            let kind = OffloadKind::from_name(&kind);
            wrap::for_host(host, &options, |registrar| {
                let (file, output) = (Path::new(file), Path::new(output));
                Ok(registrar.write_container(kind, file, Generation::Llvm21, output)?)
            })
        }
        ("cuda" | "hip", _) => {
            let message = "a program of CUDA or HIP has a single fatbin or bundle";
            Err(PeerError::Mismatch(message).into())
        }
        _ => Err(PeerError::BadValue {
            option: "--kind".into(),
            value: kind,
            expected: KINDS,
        }
        .into()),
    }
}

/// All images of all files: the peer takes the first of each file.
fn wrap_openmp(
    files: &[OsString],
    host: &str,
    options: &Options,
    output: &Path,
) -> Result<(), Error> {
    let files: Vec<PathBuf> = files.iter().map(PathBuf::from).collect();
    let inputs = wrap::images_of(&files)?;
    let images: Vec<Described<'_>> = inputs.iter().map(Described::found).collect();
    wrap::for_host(host, options, |registrar| {
        Ok(registrar.write_openmp(&images, Generation::Llvm21, OutputKind::Executable, output)?)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn faults_are_named() {
        let says = |line: &str| {
            let arguments = line.split_whitespace().map(OsString::from).collect();
            run(arguments, Options::default()).unwrap_err().to_string()
        };
        assert!(says("").contains("--kind"));
        assert!(says("--kind=cuda x").contains("-o FILE"));
        assert!(says("--kind=cuda -o x").contains("file to wrap"));
        assert!(says("--kind=hip -o x a b").contains("single"));
        assert!(says("--kind=sycl -o x a").contains(KINDS));
    }
}
