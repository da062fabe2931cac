//! Reading the lines of the peers that take options in LLVM's `cl::opt` manner
//! or NVIDIA's: one or two dashes, a value behind `=` or as the next argument.

use super::PeerError;
use crate::options::{split_once, strip_prefix};
use std::ffi::{OsStr, OsString};

/// One option of a peer.
pub struct PeerOption {
    /// The name without dashes; other spellings behind it.
    pub names: &'static [&'static str],
    /// What the value stands for; `None` for a flag.
    pub value: Option<&'static str>,
    /// Its line of help.
    pub help: &'static str,
}

/// What a flag's value may say, in the spellings of LLVM's `cl::opt`.
const YES: [&str; 4] = ["", "1", "true", "TRUE"];
const NO: [&str; 3] = ["0", "false", "FALSE"];

/// The options that every LLVM tool has besides its own. The printing of
/// option values has nothing to say about offlink and prints nothing.
pub const OF_EVERY_LLVM_TOOL: &[PeerOption] = &[
    PeerOption {
        names: &["help", "h", "help-hidden", "help-list", "help-list-hidden"],
        value: None,
        help: "show the options",
    },
    PeerOption {
        names: &["version"],
        value: None,
        help: "show the version",
    },
    PeerOption {
        names: &["print-options", "print-all-options"],
        value: None,
        help: "taken and not needed",
    },
];

/// A line that was read: options by their first name, in order, and the rest.
#[derive(Debug)]
pub struct PeerLine {
    given: Vec<(&'static str, OsString)>,
    /// Arguments that are no options.
    pub inputs: Vec<OsString>,
}

impl PeerLine {
    /// Reads `arguments`; options may stand in either table.
    ///
    /// # Errors
    /// [`PeerError`] for unknown options and missing or senseless values.
    pub fn read(
        tables: &[&'static [PeerOption]],
        arguments: Vec<OsString>,
    ) -> Result<Self, PeerError> {
        let (mut given, mut inputs) = (Vec::new(), Vec::new());
        let mut arguments = arguments.into_iter();
        while let Some(argument) = arguments.next() {
            if argument == "--" {
                inputs.extend(arguments);
                break;
            }
            let option = strip_prefix(&argument, "--").or_else(|| strip_prefix(&argument, "-"));
            let Some(option) = option.filter(|name| !name.is_empty()) else {
                inputs.push(argument);
                continue;
            };
            let (name, joined) = split_once(option, b'=');
            let known = tables
                .iter()
                .flat_map(|table| table.iter())
                .find(|known| known.names.iter().any(|known| *known == name))
                .ok_or_else(|| PeerError::Unknown(argument.to_string_lossy().into_owned()))?;
            let shown = || format!("--{}", name.to_string_lossy());
            let value = match (known.value, joined) {
                (_, Some(value)) => value.to_owned(),
                (None, None) => OsString::new(),
                (Some(expected), None) => arguments.next().ok_or_else(|| PeerError::NoValue {
                    option: shown(),
                    expected,
                })?,
            };
            if known.value.is_none() {
                let text = value.to_string_lossy();
                if NO.contains(&text.as_ref()) {
                    given.retain(|(name, _)| *name != known.names[0]);
                    continue;
                }
                if !YES.contains(&text.as_ref()) {
                    return Err(PeerError::BadValue {
                        option: shown(),
                        value: text.into_owned(),
                        expected: "no value, true or false",
                    });
                }
            }
            given.push((known.names[0], value));
        }
        Ok(Self { given, inputs })
    }

    /// Whether a flag is set or an option given.
    pub fn has(&self, name: &str) -> bool {
        self.given.iter().any(|(given, _)| *given == name)
    }

    /// The values of an option, in order.
    pub fn all<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a OsStr> {
        let of_name = move |(given, _): &&(&str, OsString)| *given == name;
        let values = self.given.iter().filter(of_name);
        values.map(|(_, value)| value.as_os_str())
    }

    /// The last value of an option, which counts.
    pub fn last(&self, name: &str) -> Option<&OsStr> {
        let of_name = self.given.iter().rev().find(|(given, _)| *given == name);
        of_name.map(|(_, value)| value.as_os_str())
    }

    /// The last value of an option as text.
    pub fn text(&self, name: &str) -> Option<String> {
        self.last(name)
            .map(|value| value.to_string_lossy().into_owned())
    }
}

/// The options of a peer as help: `usage`, then a line for each.
pub fn help(usage: &str, tables: &[&[PeerOption]]) -> String {
    let mut text = format!("{}Usage: {usage}\n\n", crate::cli::help::version());
    for option in tables.iter().flat_map(|table| table.iter()) {
        let names: Vec<String> = option
            .names
            .iter()
            .map(|name| format!("--{name}"))
            .collect();
        let value = option.value.map(|v| format!("=<{v}>")).unwrap_or_default();
        text += &format!("  {}{value}\n          {}\n", names.join(", "), option.help);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    const TABLE: &[PeerOption] = &[
        PeerOption {
            names: &["o"],
            value: Some("file"),
            help: "",
        },
        PeerOption {
            names: &["archive"],
            value: None,
            help: "",
        },
    ];

    fn read(line: &str) -> Result<PeerLine, PeerError> {
        let arguments = line.split_whitespace().map(OsString::from).collect();
        PeerLine::read(&[TABLE, OF_EVERY_LLVM_TOOL], arguments)
    }

    #[test]
    fn every_way_to_write_them() {
        let line = read("-o a in --o=b --archive - -archive=false -- --o").unwrap();
        assert_eq!(line.all("o").collect::<Vec<_>>(), ["a", "b"]);
        assert_eq!(line.text("o").as_deref(), Some("b"));
        assert!(!line.has("archive"));
        assert_eq!(line.inputs, ["in", "-", "--o"]);
        assert!(read("-archive=true").unwrap().has("archive"));
        assert!(read("--help-list-hidden").unwrap().has("help"));
    }

    #[test]
    fn faults_are_named() {
        let says = |line: &str| read(line).unwrap_err().to_string();
        assert!(says("--foo=1").contains("'--foo=1'"));
        assert!(says("-o").contains("--o needs a value"));
        assert!(says("--archive=maybe").contains("'maybe'"));
    }
}
