//! Kernels in the form in which they are written, made into bitcode.

use crate::archs::Target;
use crate::diagnostics::Diagnostics;
use crate::program::{self, Offlink};
use crate::{Error, cargo_lines, package};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A source of kernels.
#[derive(Clone, Debug)]
pub enum Source {
    /// A Rust file.
    Rust(PathBuf),
    /// The folder of a cargo package.
    Package(PathBuf),
    /// LLVM bitcode, or LLVM's textual IR.
    Bitcode(PathBuf),
}

impl Source {
    /// What offlink links for `targets`, which are of one triple: a file that this
    /// makes, with a name that begins with `stem`, or the source itself.
    ///
    /// # Errors
    /// [`Error`] if a compiler fails, or a file can't be used.
    pub fn bitcode(
        &self,
        targets: &[Target],
        stem: &Path,
        offlink: &Offlink,
    ) -> Result<PathBuf, Error> {
        match self {
            Self::Rust(file) => compile(file, targets, stem),
            Self::Package(folder) => package::build(folder, targets, stem, offlink),
            Self::Bitcode(file) => {
                cargo_lines::rerun_if_changed(file);
                std::fs::metadata(file).map_err(|source| Error::file(file, source))?;
                Ok(file.clone())
            }
        }
    }
}

/// Compiles a Rust file to bitcode.
fn compile(file: &Path, targets: &[Target], stem: &Path) -> Result<PathBuf, Error> {
    let target = baseline(targets)?;
    let bitcode = stem.with_extension("bc");
    let dependencies = stem.with_extension("d");
    let mut rustc = Command::new(cargo_lines::variable("RUSTC")?);
    rustc
        .arg(file)
        .args(["--edition=2024", "--crate-name=kernels", "--crate-type=lib"])
        .args([
            "-O",
            "-Cpanic=abort",
            "-Ccodegen-units=1",
            "--error-format=json",
        ])
        .args(["--target", &target.triple])
        .arg(emit("llvm-bc", &bitcode))
        .arg(emit("dep-info", &dependencies));
    for_device(&mut rustc, target);
    let output = program::output(&mut rustc, "rustc")?;
    let mut diagnostics = Diagnostics::default();
    for line in output.stderr.split(|byte| *byte == b'\n') {
        diagnostics.read_line(line);
    }
    if !output.status.success() {
        cargo_lines::rerun_if_changed(file);
        return Err(diagnostics.into_error("rustc", file, &target.triple));
    }
    cargo_lines::rerun_if_sources_change(&dependencies)?;
    Ok(bitcode)
}

fn emit(what: &str, file: &Path) -> OsString {
    let mut argument = OsString::from(format!("--emit={what}="));
    argument.push(file);
    argument
}

/// The processor that code is compiled for which is to be linked for all of the
/// targets: NVIDIA's lowest, as each runs what those before it had.
///
/// # Errors
/// [`Error::Nothing`] if there are none.
pub fn baseline(targets: &[Target]) -> Result<&Target, Error> {
    let number = |target: &&Target| {
        let digits = target
            .arch
            .trim_start_matches(|c: char| !c.is_ascii_digit());
        let end = digits.find(|c: char| !c.is_ascii_digit());
        digits[..end.unwrap_or(digits.len())].parse::<u32>().ok()
    };
    let lowest = match targets.first() {
        Some(first) if first.is_nvidia() => targets.iter().min_by_key(number),
        first => first,
    };
    lowest.ok_or(Error::Nothing)
}

/// Has rustc compile for a GPU: for that processor, and with the language
/// features that kernels need and stable Rust has not got yet.
fn for_device(rustc: &mut Command, target: &Target) {
    if target.is_gpu() {
        rustc
            .env("RUSTC_BOOTSTRAP", "1")
            .arg(format!("-Ctarget-cpu={}", target.processor()));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_lowest_nvidia_gpu_is_the_baseline() {
        let target = |arch: &str| Target {
            triple: "nvptx64-nvidia-cuda".into(),
            arch: arch.into(),
        };
        let targets = ["sm_100", "sm_80", "sm_90a"].map(target);
        assert_eq!(baseline(&targets).unwrap().arch, "sm_80");
        assert!(baseline(&[]).is_err());
    }
}
