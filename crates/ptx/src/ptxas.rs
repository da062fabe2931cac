//! The command line of `ptxas`, and what its messages mean.

use crate::{Arch, PtxVersion};
use std::ffi::OsString;
use std::path::Path;

/// What one run of ptxas is to make.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Assemble<'a> {
    /// The architecture of the cubin.
    pub arch: Arch,
    /// Optimisation level, 0 to 3.
    pub opt_level: u8,
    /// A relocatable cubin, for nvlink, instead of a final one.
    pub relocatable: bool,
    /// The PTX file to read.
    pub input: &'a Path,
    /// The cubin to write.
    pub output: &'a Path,
}

impl Assemble<'_> {
    /// The arguments, without the program's name. Options as of ptxas 13.0;
    /// all of them exist since CUDA 11.
    pub fn arguments(&self) -> Vec<OsString> {
        let mut arguments: Vec<OsString> = vec![
            "-m64".into(),
            format!("-O{}", self.opt_level).into(),
            format!("--gpu-name={}", self.arch).into(),
        ];
        if self.relocatable {
            arguments.push("--compile-only".into());
        }
        arguments.push("--output-file".into());
        arguments.push(self.output.into());
        arguments.push(self.input.into());
        arguments
    }
}

/// What went wrong in ptxas, as far as offlink can say more than ptxas does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Complaint {
    /// This ptxas does not know the architecture.
    UnknownArch,
    /// The PTX's version is higher than this ptxas takes; `newest` is the
    /// highest that it does.
    VersionTooNew {
        /// The newest version that ptxas names in its message.
        newest: PtxVersion,
    },
    /// The code uses something that only a later PTX version has.
    VersionTooOld {
        /// The version that ptxas asks for.
        needed: PtxVersion,
    },
    /// A function or variable is declared and used but nowhere defined.
    Unresolved {
        /// The symbol.
        symbol: String,
    },
}

/// Reads ptxas's stderr. `None` when the message is none of those that have a
/// remedy of their own. The wordings are those of ptxas 13.0.
pub fn complaint(stderr: &str) -> Option<Complaint> {
    stderr.lines().find_map(|line| {
        if line.contains("is not defined for option 'gpu-name'") {
            Some(Complaint::UnknownArch)
        } else if let Some((_, rest)) = line.split_once("current version is '") {
            let newest = PtxVersion::parse(rest.split('\'').next()?)?;
            Some(Complaint::VersionTooNew { newest })
        } else if let Some((_, rest)) = line.split_once("requires PTX ISA .version ") {
            let needed = PtxVersion::parse(rest.split_whitespace().next()?)?;
            Some(Complaint::VersionTooOld { needed })
        } else if let Some((_, rest)) = line.split_once("Unresolved extern ") {
            let symbol = rest.split('\'').nth(1)?.to_owned();
            Some(Complaint::Unresolved { symbol })
        } else {
            None
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_name_arch_and_files() {
        let mut job = Assemble {
            arch: Arch::parse("sm_90a").unwrap(),
            opt_level: 3,
            relocatable: false,
            input: Path::new("a.ptx"),
            output: Path::new("a.cubin"),
        };
        let line = |job: &Assemble| job.arguments().join(" ".as_ref()).into_string().unwrap();
        assert_eq!(
            line(&job),
            "-m64 -O3 --gpu-name=sm_90a --output-file a.cubin a.ptx"
        );
        job.relocatable = true;
        assert!(line(&job).contains(" --compile-only "));
    }

    #[test]
    fn known_messages_are_understood() {
        // Each text is what ptxas 13.0.88 printed.
        let unknown = "ptxas fatal   : Value 'sm_91' is not defined for option 'gpu-name'";
        assert_eq!(complaint(unknown), Some(Complaint::UnknownArch));
        let too_new = "ptxas k2.ptx, line 5; fatal   : Unsupported .version 9.9; current version is '9.0'\nptxas fatal   : Ptx assembly aborted due to errors";
        assert_eq!(
            complaint(too_new),
            Some(Complaint::VersionTooNew {
                newest: PtxVersion::new(90)
            })
        );
        let unresolved = "ptxas fatal   : Unresolved extern function 'ext'";
        assert_eq!(
            complaint(unresolved),
            Some(Complaint::Unresolved {
                symbol: "ext".into()
            })
        );
        let too_old = "ptxas k.ptx, line 13; error   : Feature 'elect' requires PTX ISA .version 8.0 or later";
        let needed = PtxVersion::new(80);
        assert_eq!(
            complaint(too_old),
            Some(Complaint::VersionTooOld { needed })
        );
        assert_eq!(complaint("ptxas fatal   : out of memory"), None);
    }
}
