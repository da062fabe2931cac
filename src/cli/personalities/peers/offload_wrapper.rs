//! llvm-offload-wrapper (22): images into a module of bitcode that registers
//! them. `offlink wrap` makes the object that comes of it, without any LLVM.

use super::PeerError;
use super::line::{self, OF_EVERY_LLVM_TOOL, PeerLine, PeerOption};
use crate::cli::help;
use crate::cli::verbs::wrap;
use crate::options::Options;
use crate::pipeline::bundle::Described;
use crate::pipeline::device::DeviceError;
use crate::pipeline::host::DEFAULT_HOST;
use crate::pipeline::register::RegisterError;
use crate::pipeline::wrapped_module;
use crate::toolchain::Toolchain;
use crate::{Error, mapped_file, output_file, report};
use offlink_bundle::entry::Generation;
use offlink_bundle::host_object::Platform;
use offlink_bundle::offload_binary::OffloadKind;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

const TABLE: &[PeerOption] = &[
    PeerOption {
        names: &["o"],
        value: Some("file"),
        help: "the bitcode to write",
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
    let module = match (kind.as_str(), line.inputs.as_slice()) {
        (_, []) => return Err(PeerError::Missing("the file to wrap").into()),
        ("openmp", files) => openmp(files, host, &options)?,
        ("cuda" | "hip", [file]) => {
            let container = mapped_file::map(Path::new(file))?;
            let kind = OffloadKind::from_name(&kind);
            let runtime = options.spirv_runtime;
            wrapped_module::text(kind, Generation::Llvm21, &[], &container, runtime, host)?
        }
        ("cuda" | "hip", _) => {
            let message = "a program of CUDA or HIP has a single fatbin or bundle";
            return Err(PeerError::Mismatch(message).into());
        }
        _ => {
            return Err(PeerError::BadValue {
                option: "--kind".into(),
                value: kind,
                expected: KINDS,
            }
            .into());
        }
    };
    Platform::from_triple(host).map_err(RegisterError::from)?;
    let toolchain = Toolchain::new(&options.device.tools, &[]);
    let library = toolchain.llvm([]).map_err(DeviceError::from)?;
    let bitcode = offlink_llvm::assemble(library, &output.to_string_lossy(), module)
        .map_err(PeerError::from)?;
    Ok(output_file::write_bytes(Path::new(output), &bitcode)?)
}

/// All images of all files: the peer takes the first of each file.
fn openmp(files: &[OsString], host: &str, options: &Options) -> Result<String, Error> {
    let files: Vec<PathBuf> = files.iter().map(PathBuf::from).collect();
    let inputs = wrap::images_of(&files)?;
    let images: Vec<Described<'_>> = inputs.iter().map(Described::found).collect();
    let (kind, runtime) = (OffloadKind::OpenMp, options.spirv_runtime);
    let entries = Generation::Llvm21;
    Ok(wrapped_module::text(
        kind,
        entries,
        &images,
        &[],
        runtime,
        host,
    )?)
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
