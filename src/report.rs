//! What the user sees of a failure.

use crate::{Error, progress};
use std::process::ExitCode;

/// Prints one line on stderr, and with `verbose` the details below it; returns
/// the exit code that stands for the error.
pub fn failure(error: &Error, verbose: bool) -> ExitCode {
    eprintln!("offlink: error: {}", one_line(&error.to_string()));
    if verbose {
        if let Some(details) = error.details() {
            eprintln!("{}", details.trim_end());
        }
        let mut source = std::error::Error::source(error);
        while let Some(cause) = source {
            eprintln!("  because: {cause}");
            source = cause.source();
        }
    }
    ExitCode::from(error.exit_code())
}

/// Makes a panic, which is a defect of offlink, end the process with one line
/// and exit code 70 (`EX_SOFTWARE` of sysexits), whichever thread it is on.
pub fn panics_as_internal_errors() {
    std::panic::set_hook(Box::new(|panic| {
        let place = panic
            .location()
            .map(|l| format!(" at {}:{}", l.file(), l.line()));
        let message = one_line(&panic.to_string());
        eprintln!(
            "offlink: internal error{}: {message}; please report it with the inputs",
            place.unwrap_or_default()
        );
        std::process::exit(70);
    }));
}

/// Prints on stderr what the user should know although all was done as asked.
pub fn warning(message: &str) {
    progress::aside(|| eprintln!("offlink: warning: {}", one_line(message)));
}

/// Prints a remark on stderr, for those who asked for details.
pub fn note(message: &str) {
    progress::aside(|| eprintln!("offlink: note: {}", one_line(message)));
}

/// Prints lines on stderr as they are: what clang-linker-wrapper's options ask
/// to see, where that program prints it.
pub fn raw(lines: &str) {
    progress::aside(|| eprint!("{lines}"));
}

/// Prints a text that the user asked for on stdout.
///
/// # Errors
/// [`Error::Print`] when stdout can't be written to.
pub fn print(text: &str) -> Result<(), Error> {
    use std::io::Write;
    let mut stdout = std::io::stdout().lock();
    stdout
        .write_all(text.as_bytes())
        .and_then(|()| stdout.flush())
        .map_err(Error::Print)
}

/// A value as JSON text.
///
/// # Errors
/// [`Error::Print`] if the value has no form in JSON, which no report lacks.
pub fn json(value: &impl serde::Serialize) -> Result<String, Error> {
    let text = serde_json::to_string_pretty(value);
    text.map(|text| text + "\n")
        .map_err(|error| Error::Print(error.into()))
}

/// Messages of other tools may hold line breaks; the user gets one line.
fn one_line(message: &str) -> String {
    message
        .lines()
        .map(str::trim)
        .filter(|line| !line.is_empty())
        .collect::<Vec<_>>()
        .join("; ")
}

#[cfg(test)]
mod tests {
    #[test]
    fn line_breaks_are_folded() {
        assert_eq!(super::one_line("a\n\n  b\n"), "a; b");
    }
}
