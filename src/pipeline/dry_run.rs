//! A link as commands: run by hand, or by a build system, they give the same
//! images and the same program as the whole link.

use super::host_link;
use super::plan::{DeviceLink, Plan, Work};
use super::scan::Scanned;
use crate::options::Emit;
use crate::request::Request;
use std::ffi::{OsStr, OsString};
use std::path::Path;

/// One command a line: a link for each image, bundle, wrap, and the host link.
/// What is linked is what `offlink extract -o device` of the same inputs gives,
/// less the archive members that the program does not need.
pub fn commands(plan: &Plan, request: &Request, scanned: &Scanned, host_linker: &Path) -> String {
    let mut lines = Vec::new();
    let mut bundle = words(&["offlink", "bundle", "-o", "images.bundle"]);
    for (number, job) in plan.jobs.iter().enumerate() {
        let (triple, arch) = (job.target.triple(), job.target.arch());
        let image = format!("{number}-{}.image", job.target.file_stem());
        let file = match &job.work {
            Work::PassOn(input) => input.source.clone(),
            Work::Link(link) => {
                let mut line = words(&["offlink", "link"]);
                line.push(format!("--triple={triple}").into());
                line.push(format!("--arch={arch}").into());
                line.extend(options(link));
                line.extend(["-o".into(), OsString::from(&image)]);
                let inputs = link.bitcode.iter().chain(&link.ptx).chain(&link.objects);
                line.extend(inputs.map(|input| OsString::from(&input.source)));
                lines.push(line);
                image
            }
        };
        bundle.push(format!("--image=file={file},triple={triple},arch={arch},kind=openmp").into());
    }
    lines.push(bundle);
    let object = "offlink.registration.o";
    lines.push(words(&["offlink", "wrap", "-o", object, "images.bundle"]));
    let mut host = vec![host_linker.as_os_str().to_owned()];
    host.extend(host_link::arguments(
        request,
        &scanned.device_arguments,
        Path::new(object),
    ));
    lines.push(host);
    lines.iter().map(|line| quoted(line) + "\n").collect()
}

fn options(link: &DeviceLink) -> Vec<OsString> {
    let mut options = vec![OsString::from(format!("-O{}", link.options.opt_level))];
    if link.options.emit == Emit::Ptx {
        options.push("--emit=ptx".into());
    }
    options.extend(
        link.exports
            .iter()
            .map(|name| format!("--export-symbol={name}").into()),
    );
    options
}

fn words(words: &[&str]) -> Vec<OsString> {
    words.iter().map(OsString::from).collect()
}

/// The line as a shell reads it back.
fn quoted(line: &[OsString]) -> String {
    let quote = |word: &OsStr| {
        let text = word.to_string_lossy();
        let plain = |c: char| c.is_ascii_alphanumeric() || "-_=./,:+@%".contains(c);
        if !text.is_empty() && text.chars().all(plain) {
            text.into_owned()
        } else {
            format!("'{}'", text.replace('\'', r"'\''"))
        }
    };
    line.iter()
        .map(|word| quote(word))
        .collect::<Vec<_>>()
        .join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_with_signs_are_quoted() {
        let line = words(&["ld", "a b", "it's", "", "-o=x"]);
        assert_eq!(quoted(&line), r"ld 'a b' 'it'\''s' '' -o=x");
    }
}
