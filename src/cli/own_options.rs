//! Taking offlink's own options out of a foreign line.

use super::UsageError;
use crate::options::{OptionError, Options, is_own, split_once, strip_prefix};
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};

/// The options that a build system gives to any step, which own verbs take without
/// `offlink-` too.
const OF_BUILD_SYSTEMS: [&str; 18] = [
    "toolchain",
    "hermetic",
    "print-inputs",
    "unused-inputs-list",
    "path-prefix-map",
    "forbid-bytes",
    "verify-deterministic",
    "remote",
    "remote-instance",
    "remote-header",
    "remote-ca",
    "remote-cert",
    "remote-key",
    "remote-platform",
    "remote-jobs",
    "remote-fallback",
    "distributor",
    "distributor-arg",
];

/// The line of an own verb with the options of build systems in their long form:
/// `--toolchain=FILE` is `--offlink-toolchain=FILE`, `-MD -MF FILE` is
/// `--offlink-depfile=FILE`.
///
/// # Errors
/// [`UsageError`] when one of `-MD` and `-MF` lacks the other or its file.
pub fn without_prefix(arguments: Vec<OsString>) -> Result<Vec<OsString>, UsageError> {
    let mut rest = Vec::with_capacity(arguments.len());
    let (mut writes, mut file) = (false, None);
    let mut arguments = arguments.into_iter();
    while let Some(argument) = arguments.next() {
        if argument == "-MD" {
            writes = true;
        } else if argument == "-MF" {
            let option = "-MF".into();
            file = Some(arguments.next().ok_or(UsageError::NoArgument { option })?);
        } else {
            rest.push(long_form(argument));
        }
    }
    match (writes, file) {
        (true, Some(file)) => {
            let mut depfile = OsString::from("--offlink-depfile=");
            depfile.push(file);
            rest.push(depfile);
            Ok(rest)
        }
        (false, None) => Ok(rest),
        _ => Err(UsageError::Contradiction(
            "-MD and -MF FILE go together: write -MD -MF FILE".into(),
        )),
    }
}

fn long_form(argument: OsString) -> OsString {
    let Some(rest) = strip_prefix(&argument, "--") else {
        return argument;
    };
    let (name, _) = split_once(rest, b'=');
    if !OF_BUILD_SYSTEMS.iter().any(|known| name == *known) {
        return argument;
    }
    let mut long = OsString::from("--offlink-");
    long.push(rest);
    long
}

/// Moves every `--offlink-…` of the line into `options` and returns the rest,
/// in order. They may stand alone, behind `-Xlinker` or in a `-Wl,…` group; in
/// a group, where commas separate, the keys of an image argument belong to it.
///
/// # Errors
/// [`OptionError`] when an own option makes no sense.
pub fn take_out(
    arguments: Vec<OsString>,
    options: &mut Options,
) -> Result<Vec<OsString>, OptionError> {
    let mut rest: Vec<OsString> = Vec::with_capacity(arguments.len());
    for argument in arguments {
        if options.take(&argument)? {
            if rest.last().is_some_and(|last| last == "-Xlinker") {
                rest.pop();
            }
        } else if let Some(group) = strip_prefix(&argument, "-Wl,").filter(|g| holds_own(g)) {
            rest.extend(take_out_of_group(group, options)?);
        } else {
            rest.push(argument);
        }
    }
    Ok(rest)
}

fn holds_own(group: &OsStr) -> bool {
    words(group).any(is_own)
}

fn words(group: &OsStr) -> impl Iterator<Item = &OsStr> {
    group
        .as_bytes()
        .split(|byte| *byte == b',')
        .map(OsStr::from_bytes)
}

/// What is left of a `-Wl,` group, or nothing.
fn take_out_of_group(
    group: &OsStr,
    options: &mut Options,
) -> Result<Option<OsString>, OptionError> {
    const IMAGE_KEYS: [&str; 4] = ["file=", "triple=", "arch=", "kind="];
    let mut left = OsString::from("-Wl");
    let mut words = words(group).peekable();
    while let Some(word) = words.next() {
        if !is_own(word) {
            left.push(",");
            left.push(word);
            continue;
        }
        let mut own = word.as_bytes().to_vec();
        let continues = |next: &&OsStr| {
            IMAGE_KEYS
                .iter()
                .any(|key| strip_prefix(next, key).is_some())
        };
        while let Some(next) = words.next_if(continues) {
            own.push(b',');
            own.extend_from_slice(next.as_bytes());
        }
        options.take(&OsString::from_vec(own))?;
    }
    Ok((left != "-Wl").then_some(left))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn take(line: &str) -> (String, Options) {
        let mut options = Options::default();
        let arguments = line.split_whitespace().map(OsString::from).collect();
        let rest = take_out(arguments, &mut options).unwrap();
        (rest.join(OsStr::new(" ")).into_string().unwrap(), options)
    }

    #[test]
    fn wherever_they_stand() {
        let (rest, options) = take(
            "a.o --offlink-llvm=L -Xlinker --offlink-lld=D -Xlinker -z \
             -Wl,-z,--offlink-ptxas=P,now -Wl,--offlink-jobs=2 -o x",
        );
        assert_eq!(rest, "a.o -Xlinker -z -Wl,-z,now -o x");
        let tools = options.device.tools;
        assert_eq!(tools.llvm, Some("L".into()));
        assert_eq!(tools.lld, Some("D".into()));
        assert_eq!(tools.ptxas, Some("P".into()));
        assert_eq!(options.jobs.map(|n| n.get()), Some(2));
    }

    #[test]
    fn build_systems_options_on_own_verbs() {
        let long = |line: &str| {
            let arguments = line.split_whitespace().map(OsString::from).collect();
            let rest = without_prefix(arguments)?;
            Ok::<_, UsageError>(rest.join(OsStr::new(" ")).into_string().unwrap())
        };
        assert_eq!(
            long("link --hermetic -MD --emit=bc -MF x.d --toolchain=t").unwrap(),
            "link --offlink-hermetic --emit=bc --offlink-toolchain=t --offlink-depfile=x.d"
        );
        assert!(
            long("link -MD")
                .unwrap_err()
                .to_string()
                .contains("-MF FILE")
        );
        assert!(
            long("link -MD -MF")
                .unwrap_err()
                .to_string()
                .contains("'-MF'")
        );
    }

    #[test]
    fn an_image_in_a_group_keeps_its_keys() {
        let (rest, options) = take("-Wl,-z,--offlink-image=file=k.bc,triple=t,arch=sm_90,relro");
        assert_eq!(rest, "-Wl,-z,relro");
        assert_eq!(options.images[0].arch, "sm_90");
    }
}
