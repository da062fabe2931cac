//! What a build system wants of an invocation besides its outputs: lists of files,
//! and a look at what was written. docs/HERMETIC.md describes it for users.

use crate::files;
use crate::mapped_file::{self, ReadError};
use crate::options::{Options, ToolPaths};
use crate::output_file::{self, OutputError};
use memchr::memmem;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};
use thiserror::Error;

/// What is wanted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Wanted {
    /// A file for make: the outputs depend on these inputs.
    pub depfile: Option<PathBuf>,
    /// A file that lists what was declared and not opened, one a line.
    pub unused_inputs: Option<PathBuf>,
    /// Print what the link would open in place of linking.
    pub print_inputs: bool,
    /// Paths in all of these that start with the first get the second for it; the
    /// last that fits holds.
    pub prefix_map: Vec<(OsString, OsString)>,
    /// What outputs may not hold.
    pub forbidden: Vec<OsString>,
}

/// A build system can't be given what it wants.
#[derive(Debug, Error)]
pub enum BuildSystemError {
    /// A list can't be written.
    #[error(transparent)]
    Write(#[from] OutputError),
    /// An output can't be looked through.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// An output holds what it may not.
    #[error(
        "'{}' holds '{}' at byte {position}, which --offlink-forbid-bytes forbids; it was removed",
        output.display(),
        text.display()
    )]
    Forbidden {
        /// The output.
        output: PathBuf,
        /// The text.
        text: OsString,
        /// Where it starts, from 0.
        position: usize,
    },
    /// The steps open what their line names.
    #[error(
        "--print-inputs is for whole links and 'offlink link'; the other steps open the files that \
         their line names"
    )]
    NoLink,
}

impl Wanted {
    /// Whether there is something to do behind the work, so that the host linker
    /// can't take this process's place.
    pub fn is_any(&self) -> bool {
        *self != Self::default()
    }
}

/// Looks through the outputs and writes the lists, once all else is done.
///
/// # Errors
/// [`BuildSystemError`]; an output that holds what is forbidden is removed.
pub fn finish(options: &Options) -> Result<(), BuildSystemError> {
    let wanted = &options.build_system;
    if wanted.print_inputs {
        return Ok(());
    }
    let outputs = files::outputs();
    for output in &outputs {
        look_through(output, &wanted.forbidden)?;
    }
    if let Some(path) = &wanted.depfile {
        output_file::write_bytes(path, &rule(&outputs, &files::inputs(), wanted))?;
    }
    if let Some(path) = &wanted.unused_inputs {
        let unused = unused(&options.device.tools);
        output_file::write_bytes(path, &lines(&unused, wanted))?;
    }
    Ok(())
}

fn look_through(output: &Path, forbidden: &[OsString]) -> Result<(), BuildSystemError> {
    if forbidden.is_empty() || !output.is_file() {
        return Ok(());
    }
    let contents = mapped_file::map(output)?;
    for text in forbidden {
        if let Some(position) = memmem::find(&contents, text.as_bytes()) {
            // A failure to remove it is told by the error that follows.
            let _ = std::fs::remove_file(output);
            return Err(BuildSystemError::Forbidden {
                output: output.into(),
                text: text.clone(),
                position,
            });
        }
    }
    Ok(())
}

/// The files, one a line.
pub fn lines(paths: &[PathBuf], wanted: &Wanted) -> Vec<u8> {
    let mut text = Vec::new();
    for path in paths {
        text.extend(mapped(path, wanted).into_vec());
        text.push(b'\n');
    }
    text
}

/// A rule that make and ninja read: spaces and number signs have a backslash,
/// dollars are doubled.
fn rule(outputs: &[PathBuf], inputs: &[PathBuf], wanted: &Wanted) -> Vec<u8> {
    let quoted = |path: &PathBuf| {
        let mut quoted = Vec::new();
        for byte in mapped(path, wanted).into_vec() {
            match byte {
                b' ' | b'#' => quoted.extend([b'\\', byte]),
                b'$' => quoted.extend(b"$$"),
                _ => quoted.push(byte),
            }
        }
        quoted
    };
    let outputs: Vec<Vec<u8>> = outputs.iter().map(quoted).collect();
    let mut text = outputs.join(&b' ');
    text.push(b':');
    for input in inputs {
        text.extend(b" \\\n  ");
        text.extend(quoted(input));
    }
    text.push(b'\n');
    text
}

fn mapped(path: &Path, wanted: &Wanted) -> OsString {
    let bytes = path.as_os_str().as_bytes();
    for (old, new) in wanted.prefix_map.iter().rev() {
        if let Some(rest) = bytes.strip_prefix(old.as_bytes()) {
            let mut mapped = new.clone();
            mapped.push(OsStr::from_bytes(rest));
            return mapped;
        }
    }
    path.into()
}

/// What is declared and was not opened; of a folder, its files.
fn unused(tools: &ToolPaths) -> Vec<PathBuf> {
    let inputs = files::inputs();
    let declared = tools.declared().into_iter().flat_map(files_of);
    let unused = declared.filter(|path| !inputs.contains(path));
    let mut unused: Vec<PathBuf> = unused.collect();
    unused.sort();
    unused.dedup();
    unused
}

/// The file, or the files that lie in the folder.
fn files_of(path: PathBuf) -> Vec<PathBuf> {
    match std::fs::read_dir(&path) {
        Err(_) => vec![path],
        Ok(entries) => {
            let entries = entries.filter_map(Result::ok).map(|entry| entry.path());
            let mut files: Vec<PathBuf> = entries.filter(|path| path.is_file()).collect();
            files.sort();
            files
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rules_are_quoted_and_mapped() {
        let wanted = Wanted {
            prefix_map: vec![
                ("/home/".into(), "/h/".into()),
                ("/home/me/".into(), "".into()),
            ],
            ..Wanted::default()
        };
        let paths = |names: &[&str]| -> Vec<PathBuf> { names.iter().map(Into::into).collect() };
        let text = rule(
            &paths(&["/home/me/out"]),
            &paths(&["/home/a b", "/home/me/$x#"]),
            &wanted,
        );
        assert_eq!(
            String::from_utf8(text).unwrap(),
            "out: \\\n  /h/a\\ b \\\n  $$x\\#\n"
        );
    }
}
