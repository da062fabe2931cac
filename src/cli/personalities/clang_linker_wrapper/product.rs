//! The options that say what is made, and of which finished images.

use crate::cli::UsageError;
use crate::options::strip_prefix;
use crate::wrapper_request::{ImageOutput, ImageOverride, Product};
use offlink_bundle::offload_binary::OffloadKind;
use std::ffi::OsString;
use std::path::PathBuf;

/// What the line asks for, before it is known whether that fits together.
#[derive(Default)]
pub(super) struct Asked {
    /// `--emit-fatbin-only`.
    pub(super) bundle: bool,
    /// `--emit-device-images-only`.
    pub(super) images: bool,
    /// `--device-image-output=TRIPLE,ARCH FILE`.
    pub(super) outputs: Vec<(OsString, PathBuf)>,
}

impl Asked {
    /// The product; `line` are the host linker's arguments, where `-o` stands.
    ///
    /// # Errors
    /// [`UsageError`] when the options contradict each other.
    pub(super) fn check(self, line: &[OsString]) -> Result<Product, UsageError> {
        let nonsense = |message: &str| Err(UsageError::Contradiction(message.into()));
        if self.bundle && (self.images || !self.outputs.is_empty()) {
            return nonsense(
                "--emit-fatbin-only and --emit-device-images-only can't be carried out together",
            );
        }
        if self.bundle {
            return Ok(Product::Bundle);
        }
        if self.outputs.is_empty() {
            return Ok(if self.images {
                Product::Images(Vec::new())
            } else {
                Product::Linked
            });
        }
        if !self.images {
            return nonsense("--device-image-output needs --emit-device-images-only");
        }
        if line.iter().any(is_output) {
            return nonsense("-o and --device-image-output can't both name outputs");
        }
        let mut outputs: Vec<ImageOutput> = Vec::new();
        for (target, file) in self.outputs {
            let target = target.to_string_lossy();
            let Some((triple, arch)) = target.split_once(',') else {
                return Err(UsageError::BadValue {
                    option: "--device-image-output".into(),
                    value: target.into_owned(),
                    expected: "TRIPLE,ARCH and the file as the next argument",
                });
            };
            if outputs
                .iter()
                .any(|output| output.triple == triple && output.arch == arch)
            {
                return nonsense(&format!("--device-image-output={target} stands twice"));
            }
            outputs.push(ImageOutput {
                triple: triple.into(),
                arch: arch.into(),
                file,
            });
        }
        Ok(Product::Images(outputs))
    }
}

fn is_output(argument: &OsString) -> bool {
    argument == "--output"
        || strip_prefix(argument, "--output=").is_some()
        || strip_prefix(argument, "-o").is_some()
}

/// `KIND=FILE`.
///
/// # Errors
/// [`UsageError::BadValue`] when it is not of that form or the kind is none that
/// offlink registers.
pub(super) fn image_override(value: &str) -> Result<ImageOverride, UsageError> {
    let registered = |kind: &OffloadKind| crate::pipeline::group::REGISTERED.contains(kind);
    let parts = value.split_once('=');
    parts
        .map(|(kind, file)| (OffloadKind::from_name(kind), file))
        .filter(|(kind, file)| registered(kind) && !file.is_empty())
        .map(|(kind, file)| ImageOverride {
            kind,
            file: file.into(),
        })
        .ok_or_else(|| UsageError::BadValue {
            option: "--override-image".into(),
            value: value.into(),
            expected: "openmp=FILE, cuda=FILE or hip=FILE",
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(outputs: &[&str]) -> Asked {
        Asked {
            bundle: false,
            images: true,
            outputs: outputs
                .iter()
                .map(|target| (target.into(), "f".into()))
                .collect(),
        }
    }

    #[test]
    fn outputs_that_contradict_each_other_are_refused() {
        let line = [OsString::from("-o"), "x".into()];
        assert!(asked(&[]).check(&line).is_ok());
        assert!(asked(&["t,a", "t,b"]).check(&[]).is_ok());
        assert!(asked(&["t,a", "t,a"]).check(&[]).is_err());
        assert!(asked(&["t"]).check(&[]).is_err());
        assert!(asked(&["t,a"]).check(&line).is_err());
        let without = Asked {
            images: false,
            ..asked(&["t,a"])
        };
        assert!(without.check(&[]).is_err());
    }
}
