//! What rustc says about kernels, for the log of the package that has them.

use crate::Error;
use serde_json::Value;
use std::path::Path;

/// The diagnostics of one compilation; warnings are passed on as they are read.
#[derive(Debug, Default)]
pub struct Diagnostics {
    first_error: Option<String>,
}

impl Diagnostics {
    /// Reads a line of rustc's `--error-format=json`.
    pub fn read_line(&mut self, line: &[u8]) {
        if let Ok(diagnostic) = serde_json::from_slice(line) {
            self.read(&diagnostic);
        }
    }

    /// Takes a diagnostic: a warning becomes a warning of the build script, an error
    /// goes to its standard error, which cargo shows when a script fails.
    pub fn read(&mut self, diagnostic: &Value) {
        let Some(message) = diagnostic["message"].as_str() else {
            return;
        };
        let text = located(message, diagnostic);
        match diagnostic["level"].as_str() {
            // The line that counts the others has no place.
            Some("warning") if has_place(diagnostic) => println!("cargo::warning={text}"),
            Some(level) if level.starts_with("error") => {
                eprint!("{}", diagnostic["rendered"].as_str().unwrap_or(message));
                self.first_error.get_or_insert(text);
            }
            _ => {}
        }
    }

    /// The error to end with, after a compiler has failed.
    pub fn into_error(self, program: &'static str, source: &Path, triple: &str) -> Error {
        Error::Compile {
            program,
            source_file: source.into(),
            triple: triple.into(),
            reason: self
                .first_error
                .unwrap_or_else(|| "it does not say why".into()),
        }
    }
}

fn has_place(diagnostic: &Value) -> bool {
    diagnostic["spans"]
        .as_array()
        .is_some_and(|spans| !spans.is_empty())
}

/// The message behind its place, as `file:line:column: message`, on one line.
fn located(message: &str, diagnostic: &Value) -> String {
    let message = message.replace('\n', " ");
    let mut spans = diagnostic["spans"].as_array().into_iter().flatten();
    let Some(span) = spans.find(|span| span["is_primary"] == true) else {
        return message;
    };
    let file = span["file_name"].as_str().unwrap_or_default();
    let (line, column) = (&span["line_start"], &span["column_start"]);
    format!("{file}:{line}:{column}: {message}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_error_is_the_reason() {
        let mut diagnostics = Diagnostics::default();
        let line = br#"{"message":"no x","level":"error","rendered":"","spans":[
            {"file_name":"k.rs","line_start":3,"column_start":5,"is_primary":true}]}"#;
        diagnostics.read_line(line);
        diagnostics.read_line(br#"{"message":"no y","level":"error","rendered":"","spans":[]}"#);
        diagnostics.read_line(b"not JSON");
        let error = diagnostics.into_error("rustc", Path::new("k.rs"), "nvptx64-nvidia-cuda");
        assert_eq!(
            error.to_string(),
            "rustc could not compile 'k.rs' for nvptx64-nvidia-cuda: k.rs:3:5: no x"
        );
    }
}
