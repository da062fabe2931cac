//! `file=…,triple=…,arch=…,kind=…`: an image named on a command line, in the
//! syntax of llvm-offload-binary's `--image`.

use crate::device_input::DeviceInput;
use bytes::Bytes;
use offlink_bundle::offload_binary::OffloadKind;
use std::path::PathBuf;
use std::str::FromStr;
use thiserror::Error;

/// A parsed image argument; the file is not touched yet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ImageArgument {
    /// The file that holds the code.
    pub file: PathBuf,
    /// The device triple. An offload binary brings its own.
    pub triple: Option<String>,
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
    /// No file is named.
    #[error("image '{text}' lacks file=")]
    NoFile {
        /// The whole argument.
        text: String,
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

/// Device code that says for which device it is nowhere.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error(
    "image 'file={}' lacks triple=, which only an offload binary can do without",
    file.display()
)]
pub struct NoTriple {
    file: PathBuf,
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
        Ok(Self {
            file: file.ok_or_else(|| ImageArgumentError::NoFile { text: text.into() })?,
            triple,
            arch,
            kind,
        })
    }
}

/// The argument in its canonical order of keys.
impl std::fmt::Display for ImageArgument {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "file={}", self.file.display())?;
        if let Some(triple) = &self.triple {
            write!(f, ",triple={triple}")?;
        }
        write!(f, ",arch={},kind={}", self.arch, self.kind.as_str())
    }
}

impl ImageArgument {
    /// `data`, the contents of the file, as the device code that the argument says it is.
    ///
    /// # Errors
    /// [`NoTriple`] when the argument names none.
    pub fn describe(&self, data: Bytes) -> Result<DeviceInput, NoTriple> {
        let no_triple = || NoTriple {
            file: self.file.clone(),
        };
        Ok(DeviceInput {
            source: self.file.display().to_string(),
            kind: self.kind,
            triple: self.triple.clone().ok_or_else(no_triple)?,
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
    fn a_file_alone() {
        let image: ImageArgument = "file=device.bin".parse().unwrap();
        assert_eq!(image.triple, None);
        assert_eq!(image.to_string().parse(), Ok(image.clone()));
        let error = image.describe(Bytes::new()).unwrap_err().to_string();
        assert!(error.contains("'file=device.bin' lacks triple="), "{error}");
    }

    #[test]
    fn faults_are_named() {
        let says = |text: &str| text.parse::<ImageArgument>().unwrap_err().to_string();
        assert!(says("triple=x").contains("lacks file="));
        assert!(says("file=k,triple=x,kind=metal").contains("'metal'"));
        assert!(says("file=k,triple=x,color=red").contains("'color'"));
        assert!(says("k.bc").contains("key=value"));
    }
}
