//! clang-offload-bundler: files for several targets into one, and out of it.
//! Options and meanings are those of 22.1.8.

mod archive_members;
mod container;
mod elf_sections;
mod target;

use super::PeerError;
use super::line::{self, OF_EVERY_LLVM_TOOL, PeerLine, PeerOption};
use crate::cli::help;
use crate::options::Options;
use crate::{Error, mapped_file, output_file, report};
use container::{Container, Packing, Part};
use offlink_bundle::hip_bundle::{CompressedVersion, Compression};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use target::Target;

const TABLE: &[PeerOption] = &[
    PeerOption {
        names: &["type"],
        value: Some("i|ii|cui|hipi|d|ll|bc|s|o|a|gch|ast"),
        help: "what the files are",
    },
    PeerOption {
        names: &["targets"],
        value: Some("kind-triple-target,..."),
        help: "the target of each file, in order",
    },
    PeerOption {
        names: &["input"],
        value: Some("file"),
        help: "a file to read; may be repeated",
    },
    PeerOption {
        names: &["output"],
        value: Some("file"),
        help: "a file to write; may be repeated",
    },
    PeerOption {
        names: &["inputs"],
        value: Some("file,..."),
        help: "as --input, deprecated",
    },
    PeerOption {
        names: &["outputs"],
        value: Some("file,..."),
        help: "as --output, deprecated",
    },
    PeerOption {
        names: &["unbundle"],
        value: None,
        help: "take files out of a bundle",
    },
    PeerOption {
        names: &["list"],
        value: None,
        help: "show the targets of a bundle",
    },
    PeerOption {
        names: &["allow-missing-bundles"],
        value: None,
        help: "write empty files for targets that a bundle lacks",
    },
    PeerOption {
        names: &["hip-openmp-compatible"],
        value: None,
        help: "take code of hip for openmp and the other way round",
    },
    PeerOption {
        names: &["check-input-archive"],
        value: None,
        help: "refuse an archive with bundles whose targets conflict",
    },
    PeerOption {
        names: &["bundle-align"],
        value: Some("n"),
        help: "the alignment of files in a bundle, in bytes",
    },
    PeerOption {
        names: &["compress"],
        value: None,
        help: "compress the bundle",
    },
    PeerOption {
        names: &["compression-level"],
        value: Some("n"),
        help: "how much to compress: 1 to 22, by default 3",
    },
    PeerOption {
        names: &["verbose", "###"],
        value: None,
        help: "taken and not needed: there is nothing to show",
    },
];

/// Carries the line out.
///
/// # Errors
/// [`Error`] when files can't be read or written or the line makes no sense.
pub fn run(arguments: Vec<OsString>, _: Options) -> Result<(), Error> {
    let tables = [TABLE, OF_EVERY_LLVM_TOOL];
    let line = PeerLine::read(&tables, arguments)?;
    if line.has("version") {
        return report::print(&help::version());
    }
    if line.has("help") {
        let usage = "clang-offload-bundler --type=T --targets=… --input=… --output=…";
        return report::print(&line::help(usage, &tables));
    }
    let job = Job::read(&line)?;
    match (line.has("list"), line.has("unbundle")) {
        (true, true) => {
            Err(PeerError::Mismatch("--unbundle and --list can't be used together").into())
        }
        (true, false) => job.list(),
        (false, true) if job.container == Container::Archive => job.unbundle_archive(),
        (false, true) => job.unbundle(),
        (false, false) => job.bundle(),
    }
}

/// A line that was understood.
struct Job {
    container: Container,
    inputs: Vec<PathBuf>,
    outputs: Vec<PathBuf>,
    targets: Vec<Target>,
    allow_missing: bool,
    hip_is_openmp: bool,
    check_archive: bool,
    packing: Packing,
}

impl Job {
    fn read(line: &PeerLine) -> Result<Self, PeerError> {
        let kind = line.text("type").ok_or(PeerError::Missing("--type"))?;
        let container = Container::of_type(&kind).ok_or(PeerError::BadValue {
            option: "--type".into(),
            value: kind,
            expected: "i, ii, cui, hipi, d, ll, bc, s, o, a, gch or ast",
        })?;
        let mut targets = Vec::new();
        for list in line.all("targets") {
            let list = list.to_string_lossy();
            for id in list.split(',').filter(|id| !id.is_empty()) {
                targets.push(Target::read(id)?);
            }
        }
        target::check(&targets)?;
        Ok(Self {
            container,
            inputs: files(line, "input", "inputs")?,
            outputs: files(line, "output", "outputs")?,
            targets,
            allow_missing: line.has("allow-missing-bundles"),
            hip_is_openmp: line.has("hip-openmp-compatible"),
            check_archive: line.has("check-input-archive"),
            packing: packing(line, |name| std::env::var(name).ok())?,
        })
    }

    /// The one input that --list and --unbundle read.
    fn input(&self) -> Result<&Path, PeerError> {
        match self.inputs.as_slice() {
            [input] => Ok(input),
            _ => Err(PeerError::Mismatch(
                "--list and --unbundle take exactly one --input",
            )),
        }
    }

    fn list(&self) -> Result<(), Error> {
        let input = self.input()?;
        let data = mapped_file::map(input)?;
        let name = input.display().to_string();
        let ids = match self.container {
            Container::Archive => archive_members::ids(&name, &data)?,
            container => container::read(container, &name, &data)?
                .into_iter()
                .map(|part| part.id)
                .collect(),
        };
        report::print(&ids.iter().map(|id| format!("{id}\n")).collect::<String>())
    }

    fn bundle(&self) -> Result<(), Error> {
        if self.targets.is_empty() {
            return Err(PeerError::Missing("--targets").into());
        }
        let [output] = self.outputs.as_slice() else {
            return Err(PeerError::Mismatch("a bundle needs exactly one --output").into());
        };
        if self.inputs.len() != self.targets.len() {
            let message = "there must be as many --input as targets";
            return Err(PeerError::Mismatch(message).into());
        }
        let hosts = self
            .targets
            .iter()
            .filter(|target| target.is_host())
            .count();
        if hosts > 1 || (hosts == 0 && !self.targets.iter().all(Target::is_hip)) {
            let message = "a bundle has one target of kind host; one for HIP alone may have none";
            return Err(PeerError::Mismatch(message).into());
        }
        let mut contents = Vec::new();
        for input in &self.inputs {
            contents.push(mapped_file::map(input)?);
        }
        let parts: Vec<Part<'_>> = self
            .targets
            .iter()
            .zip(&contents)
            .map(|(target, data)| Part {
                id: target.to_string(),
                data: (&**data).into(),
            })
            .collect();
        let host = self.targets.iter().position(Target::is_host);
        output_file::write(output, |out| {
            container::write(self.container, &parts, host, self.packing, out)
        })
    }

    fn unbundle(&self) -> Result<(), Error> {
        let input = self.input()?;
        self.as_many_outputs_as_targets()?;
        let data = mapped_file::map(input)?;
        let name = input.display().to_string();
        let parts = container::read(self.container, &name, &data)?;
        let mut found: Vec<Option<&[u8]>> = Vec::new();
        for target in &self.targets {
            let part = self.best(target, &parts);
            let whole = parts.is_empty() && self.allow_missing && target.is_host();
            found.push(match part {
                Some(part) => Some(&part.data),
                None if whole => Some(&data),
                None => None,
            });
        }
        self.write_found(&name, &found)
    }

    fn unbundle_archive(&self) -> Result<(), Error> {
        let input = self.input()?;
        self.as_many_outputs_as_targets()?;
        let data = mapped_file::map(input)?;
        let name = input.display().to_string();
        let members = archive_members::read(&name, &data)?;
        if self.check_archive {
            for member in &members {
                let mut targets: Vec<Target> = Vec::new();
                for part in &member.parts {
                    let target = Target::read(&part.id)?;
                    if !targets.contains(&target) {
                        targets.push(target);
                    }
                }
                target::check(&targets)?;
            }
        }
        let mut archives = Vec::new();
        for target in &self.targets {
            let taken: Vec<(String, &[u8])> = members
                .iter()
                .filter_map(|member| {
                    let part = self.best(target, &member.parts)?;
                    Some((member.name_of(part), &*part.data))
                })
                .collect();
            let exists = !taken.is_empty() || self.allow_missing;
            archives.push(exists.then(|| super::archive::write(&taken)));
        }
        let found: Vec<Option<&[u8]>> = archives.iter().map(Option::as_deref).collect();
        self.write_found(&name, &found)
    }

    fn as_many_outputs_as_targets(&self) -> Result<(), PeerError> {
        match self.targets.len() {
            0 => Err(PeerError::Missing("--targets")),
            count if count != self.outputs.len() => Err(PeerError::Mismatch(
                "there must be as many --output as targets",
            )),
            _ => Ok(()),
        }
    }

    /// The part for just this target, or the most specific one that runs on it.
    fn best<'a, 'b>(&self, target: &Target, parts: &'a [Part<'b>]) -> Option<&'a Part<'b>> {
        parts
            .iter()
            .filter_map(|part| Some((Target::read(&part.id).ok()?, part)))
            .filter(|(offered, _)| target.takes(offered, self.hip_is_openmp))
            .max_by_key(|(offered, _)| (offered == target, offered.features()))
            .map(|(_, part)| part)
    }

    /// Writes all outputs, or none if one would be missing.
    fn write_found(&self, input: &str, found: &[Option<&[u8]>]) -> Result<(), Error> {
        let missing: Vec<String> = self
            .targets
            .iter()
            .zip(found)
            .filter(|(_, data)| data.is_none())
            .map(|(target, _)| target.to_string())
            .collect();
        if !missing.is_empty() && !self.allow_missing {
            let (file, targets) = (input.into(), missing.join(" and "));
            return Err(PeerError::NotInBundle { file, targets }.into());
        }
        for (output, data) in self.outputs.iter().zip(found) {
            output_file::write_bytes(output, data.unwrap_or_default())?;
        }
        Ok(())
    }
}

/// The files that the option or its deprecated form with commas names.
fn files(line: &PeerLine, name: &str, list: &str) -> Result<Vec<PathBuf>, PeerError> {
    let single: Vec<PathBuf> = line.all(name).map(PathBuf::from).collect();
    let mut listed = Vec::new();
    for value in line.all(list) {
        listed.extend(value.to_string_lossy().split(',').map(PathBuf::from));
    }
    if !listed.is_empty() && !single.is_empty() {
        return Err(PeerError::Mismatch(
            "--inputs and --outputs can't stand beside --input and --output",
        ));
    }
    Ok(if single.is_empty() { listed } else { single })
}

/// Options and the variables of the environment that the peer reads.
fn packing(
    line: &PeerLine,
    variable: impl Fn(&str) -> Option<String>,
) -> Result<Packing, PeerError> {
    let ignored = variable("OFFLOAD_BUNDLER_IGNORE_ENV_VAR").is_some_and(|value| value == "1");
    let variable = |name: &str| variable(name).filter(|value| !ignored && !value.is_empty());
    let alignment = number(line.text("bundle-align"), "--bundle-align")?.unwrap_or(1);
    let by_variable = variable("OFFLOAD_BUNDLER_COMPRESS").is_some_and(|value| value == "1");
    if !line.has("compress") && !by_variable {
        return Ok(Packing {
            alignment,
            compression: None,
        });
    }
    let level = match line.text("compression-level") {
        Some(level) => Some(level),
        None => variable("OFFLOAD_BUNDLER_COMPRESSION_LEVEL"),
    };
    let version = match variable("COMPRESSED_BUNDLE_FORMAT_VERSION").as_deref() {
        Some("2") => CompressedVersion::V2,
        None | Some("3") => CompressedVersion::V3,
        Some(other) => {
            return Err(PeerError::BadValue {
                option: "COMPRESSED_BUNDLE_FORMAT_VERSION".into(),
                value: other.into(),
                expected: "2 or 3",
            });
        }
    };
    let default = Compression::DEFAULT;
    Ok(Packing {
        alignment,
        compression: Some(Compression {
            version,
            level: number(level, "--compression-level")?.unwrap_or(default.level),
            ..default
        }),
    })
}

fn number<N: std::str::FromStr>(
    text: Option<String>,
    option: &str,
) -> Result<Option<N>, PeerError> {
    let Some(text) = text else {
        return Ok(None);
    };
    match text.parse() {
        Ok(number) => Ok(Some(number)),
        Err(_) => Err(PeerError::BadValue {
            option: option.into(),
            value: text,
            expected: "a number",
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(line: &str) -> PeerLine {
        let arguments = line.split_whitespace().map(OsString::from).collect();
        PeerLine::read(&[TABLE, OF_EVERY_LLVM_TOOL], arguments).unwrap()
    }

    fn packed(line: &str, variables: &[(&str, &str)]) -> Result<Packing, PeerError> {
        packing(&read(line), |name| {
            let found = variables.iter().find(|(known, _)| *known == name);
            found.map(|(_, value)| (*value).to_owned())
        })
    }

    #[test]
    fn variables_count_unless_options_say_otherwise() {
        let compressed = |line, variables: &[(&str, &str)]| {
            packed(line, variables)
                .unwrap()
                .compression
                .map(|c| (c.level, c.version))
        };
        let on = ("OFFLOAD_BUNDLER_COMPRESS", "1");
        let level = ("OFFLOAD_BUNDLER_COMPRESSION_LEVEL", "7");
        let version = ("COMPRESSED_BUNDLE_FORMAT_VERSION", "2");
        let off = ("OFFLOAD_BUNDLER_IGNORE_ENV_VAR", "1");
        assert_eq!(compressed("", &[level]), None);
        assert_eq!(
            compressed("", &[on, level]),
            Some((7, CompressedVersion::V3))
        );
        assert_eq!(
            compressed("-compression-level=19", &[on, level, version]),
            Some((19, CompressedVersion::V2))
        );
        assert_eq!(compressed("", &[on, off]), None);
        assert_eq!(
            compressed("-compress", &[level, version, off]),
            Some((3, CompressedVersion::V3))
        );
        let one = ("COMPRESSED_BUNDLE_FORMAT_VERSION", "1");
        assert!(packed("-compress", &[one]).is_err());
        assert!(packed("-bundle-align=x", &[]).is_err());
    }

    #[test]
    fn files_in_both_forms() {
        let names = |line| files(&read(line), "input", "inputs");
        assert_eq!(
            names("-inputs=a,b").unwrap(),
            names("-input=a -input b").unwrap()
        );
        assert!(names("-inputs=a -input=b").is_err());
    }
}
