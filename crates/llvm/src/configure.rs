//! Options of LLVM itself, those that its tools take behind `-mllvm`.

use std::ffi::CString;
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

use inkwell::llvm_sys::support::LLVMParseCommandLineOptions;

use crate::library::{Library, Version};
use crate::worker;

/// Why LLVM can't be given options.
#[derive(Debug, thiserror::Error)]
pub enum ConfigureError {
    /// The library has no option of this name.
    #[error(
        "LLVM {version} ({library}) has no option '{option}'; see 'opt --help-hidden' of that version"
    )]
    Unknown {
        /// The option as given.
        option: String,
        /// The library.
        library: PathBuf,
        /// That library's version.
        version: Version,
    },
    /// The option would make LLVM print a text and end the process.
    #[error("'{0}' makes LLVM end the process instead of linking; run it with 'opt'")]
    Ends(String),
    /// The option asks for LLVM's remarks, which reach users of its C++ API only.
    #[error(
        "'{0}' has no effect on device links, as LLVM's C API gives no remarks; compile with clang's \
         -fsave-optimization-record instead"
    )]
    Remarks(String),
    /// The option holds a NUL.
    #[error("the LLVM option {0:?} holds a NUL character")]
    Nul(String),
    /// LLVM has been given other options already, which can't be taken back.
    #[error("LLVM has options already, and takes them once in a process")]
    Again,
    /// The library can't be called.
    #[error("cannot give options to libLLVM {library}: {message}")]
    Call {
        /// The library.
        library: PathBuf,
        /// What failed.
        message: String,
    },
}

/// The options that LLVM has been given.
static GIVEN: Mutex<Option<Vec<String>>> = Mutex::new(None);

/// Options that make LLVM print something and call `exit`.
const ENDING: &[&str] = &[
    "help",
    "help-hidden",
    "help-list",
    "help-list-hidden",
    "version",
    "h",
];

impl Library {
    /// Gives LLVM options such as `-inline-threshold=10`, for all compiles from then on. They are settings of
    /// the whole process, so this has to happen before the first compile; the same options again are no error.
    ///
    /// Whether there is an option of a name is told by whether the library's file holds that name: its C API
    /// passes over those that it doesn't know. A value that an option doesn't take is passed over by LLVM, which
    /// says so on standard error (seen with 19.1.7 and 22.1.8).
    ///
    /// # Errors
    /// Every [`ConfigureError`].
    pub fn configure(&self, options: &[String]) -> Result<(), ConfigureError> {
        let mut given = GIVEN.lock().unwrap_or_else(PoisonError::into_inner);
        match given.as_deref() {
            Some(before) if before == options => return Ok(()),
            Some(_) => return Err(ConfigureError::Again),
            None => {}
        }
        self.check(options)?;
        let mut arguments = vec![c"offlink".to_owned()];
        for option in options {
            let argument = CString::new(option.as_str());
            arguments.push(argument.map_err(|_| ConfigureError::Nul(option.clone()))?);
        }
        let call = |message| ConfigureError::Call {
            library: self.path().to_owned(),
            message,
        };
        let count = i32::try_from(arguments.len()).map_err(|error| call(error.to_string()))?;
        worker::run(move || {
            let pointers: Vec<_> = arguments.iter().map(|text| text.as_ptr()).collect();
            // SAFETY: `pointers` are `count` NUL-terminated strings that outlive the call, which copies what it
            // keeps. The settings it changes are globals of LLVM that only compiles read, and the caller holds
            // those back until this has returned. The overview is a NUL-terminated string.
            unsafe { LLVMParseCommandLineOptions(count, pointers.as_ptr(), c"".as_ptr()) };
        })
        .map_err(|stopped| call(stopped.to_string()))?;
        *given = Some(options.to_vec());
        Ok(())
    }

    fn check(&self, options: &[String]) -> Result<(), ConfigureError> {
        let call = |error: std::io::Error| ConfigureError::Call {
            library: self.path().to_owned(),
            message: error.to_string(),
        };
        let file = std::fs::read(self.path()).map_err(call)?;
        for option in options {
            let name = name(option);
            if ENDING.contains(&name) {
                return Err(ConfigureError::Ends(option.clone()));
            }
            if name.contains("pass-remarks") {
                return Err(ConfigureError::Remarks(option.clone()));
            }
            if name.is_empty() || !holds(&file, name) {
                return Err(ConfigureError::Unknown {
                    option: option.clone(),
                    library: self.path().to_owned(),
                    version: self.version(),
                });
            }
        }
        Ok(())
    }
}

/// `inline-threshold` of `--inline-threshold=10`; empty for what is no option.
fn name(option: &str) -> &str {
    let name = option
        .strip_prefix("--")
        .or_else(|| option.strip_prefix('-'))
        .unwrap_or_default();
    name.split('=').next().unwrap_or_default()
}

/// Whether the file holds `name` as the end of a C string: linkers may store a
/// string as the end of another.
fn holds(file: &[u8], name: &str) -> bool {
    let mut wanted = name.as_bytes().to_vec();
    wanted.push(0);
    memchr::memmem::find(file, &wanted).is_some()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_options() {
        assert_eq!(name("--inline-threshold=10"), "inline-threshold");
        assert_eq!(name("-time-passes"), "time-passes");
        assert_eq!(name("inline-threshold"), "");
    }

    #[test]
    fn a_name_ends_with_its_string() {
        assert!(holds(b"\0inline-threshold\0", "inline-threshold"));
        assert!(!holds(b"\0inline-threshold\0", "inline"));
    }
}
