//! `file=…,triple=…,arch=…,kind=…`: an image named on a command line, in the
//! syntax of llvm-offload-binary's `--image`.

use crate::device_input::DeviceInput;
use crate::mapped_file;
use offlink_bundle::offload_binary::OffloadKind;
use std::path::PathBuf;
use std::str::FromStr;
use thiserror::Error;

/// A parsed image argument; the file is not touched yet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ImageArgument {
    /// The file that holds the code.
    pub file: PathBuf,
    /// The device triple.
    pub triple: String,
    /// The arch or target ID; may be empty.
    pub arch: String,
    /// Who launches it.
    pub kind: OffloadKind,
}

/// The text is not an image argument.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum ImageArgumentError {
    /// A part without `=`.
    #[error("'{part}' in image '{text}' is not of the form key=value")]
    NotAPair {
        /// The whole argument.
        text: String,
        /// The part.
        part: String,
    },
    /// A key that means nothing.
    #[error("'{key}' in image '{text}' is not one of file, triple, arch, kind")]
    UnknownKey {
        /// The whole argument.
        text: String,
        /// The key.
        key: String,
    },
    /// A necessary key is absent.
    #[error("image '{text}' lacks {key}=")]
    Missing {
        /// The whole argument.
        text: String,
        /// The key.
        key: &'static str,
    },
    /// No such offload kind.
    #[error("'{value}' in image '{text}' is not an offload kind; use openmp, cuda, hip or sycl")]
    UnknownKind {
        /// The whole argument.
        text: String,
        /// The value.
        value: String,
    },
}

impl FromStr for ImageArgument {
    type Err = ImageArgumentError;

    /// Reads the argument. `kind` defaults to `openmp`; the order is free.
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let (mut file, mut triple, mut arch) = (None, None, String::new());
        let mut kind = OffloadKind::OpenMp;
        for part in text.split(',') {
            let (key, value) =
                part.split_once('=')
                    .ok_or_else(|| ImageArgumentError::NotAPair {
                        text: text.into(),
                        part: part.into(),
                    })?;
            match key {
                "file" => file = Some(PathBuf::from(value)),
                "triple" => triple = Some(value.to_owned()),
                "arch" => arch = value.to_owned(),
                "kind" => {
                    kind = OffloadKind::from_name(value);
                    if kind == OffloadKind::None {
                        return Err(ImageArgumentError::UnknownKind {
                            text: text.into(),
                            value: value.into(),
                        });
                    }
                }
                _ => {
                    return Err(ImageArgumentError::UnknownKey {
                        text: text.into(),
                        key: key.into(),
                    });
                }
            }
        }
        let missing = |key| ImageArgumentError::Missing {
            text: text.into(),
            key,
        };
        Ok(Self {
            file: file.ok_or_else(|| missing("file"))?,
            triple: triple.ok_or_else(|| missing("triple"))?,
            arch,
            kind,
        })
    }
}

/// The argument in its canonical order of keys.
impl std::fmt::Display for ImageArgument {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (file, kind) = (self.file.display(), self.kind.as_str());
        write!(
            f,
            "file={file},triple={},arch={},kind={kind}",
            self.triple, self.arch
        )
    }
}

impl ImageArgument {
    /// Maps the file.
    ///
    /// # Errors
    /// [`mapped_file::ReadError`] when it can't be read.
    pub fn load(&self) -> Result<DeviceInput, mapped_file::ReadError> {
        let data = mapped_file::map(&self.file)?;
        Ok(DeviceInput {
            source: self.file.display().to_string(),
            kind: self.kind,
            triple: self.triple.clone(),
            arch: self.arch.clone(),
            data,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_keys() {
        let image: ImageArgument = "arch=gfx90a:xnack+,file=k.bc,kind=hip,triple=amdgcn-amd-amdhsa"
            .parse()
            .unwrap();
        assert_eq!(image.file, PathBuf::from("k.bc"));
        assert_eq!(image.arch, "gfx90a:xnack+");
        assert_eq!(image.kind, OffloadKind::Hip);
        assert_eq!(image.to_string().parse(), Ok(image));
    }

    #[test]
    fn faults_are_named() {
        let says = |text: &str| text.parse::<ImageArgument>().unwrap_err().to_string();
        assert!(says("file=k.bc").contains("lacks triple="));
        assert!(says("triple=x").contains("lacks file="));
        assert!(says("file=k,triple=x,kind=metal").contains("'metal'"));
        assert!(says("file=k,triple=x,color=red").contains("'color'"));
        assert!(says("k.bc").contains("key=value"));
    }
}
