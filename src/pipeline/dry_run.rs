//! A link as commands: run by hand, or by a build system, they give the same
//! images and the same program as the whole link.

use super::group::REGISTERED;
use super::host::{DEFAULT_HOST, Host};
use super::host_link::Line;
use super::mach_o_copies::Copies;
use super::plan::{Plan, Work};
use super::scan::{Item, Scanned};
use super::select::Selected;
use super::{extract, group, host, host_link, openmp_runtime, plan};
use crate::Error;
use crate::options::{Compress, DeviceOptions, Emit, Split};
use crate::request::{OutputKind, Request, Style};
use crate::spirv_runtime::SpirvRuntime;
use crate::toolchain::Toolchain;
use offlink_bundle::entry::Generation;
use offlink_bundle::offload_binary::OffloadKind;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

/// Where the printed commands keep extracted device code.
const EXTRACTED: &str = "device";

/// One command a line: extract, a link for each image, bundle, wrap, and the
/// host link.
///
/// # Errors
/// [`Error`] for device code that fits no target, and for macOS, whose linker gets
/// copies of objects that no command makes.
pub fn commands(
    mut selected: Selected,
    request: &Request,
    scanned: &Scanned,
    host: &Host,
    toolchain: &Toolchain,
) -> Result<String, Error> {
    if host.is_macos() {
        return Err(host::NoDryRun.into());
    }
    let host_linker = toolchain.host_linker(request.style)?;
    let mut lines = vec![extract_line(&selected, request, scanned)];
    let names = extract::names(&selected.device);
    for (input, name) in selected.device.iter_mut().zip(names) {
        input.source = Path::new(EXTRACTED).join(name).display().to_string();
    }
    let groups = group::by_target(selected.device, &request.options.archs)?;
    let plan = plan::plan(groups, &selected.entries, &request.options)?;
    lines.extend(link_lines(&plan, &request.options.llvm_options));
    let kinds = plan.jobs.iter().flat_map(|job| &job.kinds);
    let runtime =
        openmp_runtime::arguments(kinds, &selected.entries, request, host, scanned, toolchain)?;
    let is_relocatable = request.line.output_kind == OutputKind::Relocatable;
    let mut objects = Vec::new();
    for kind in REGISTERED {
        let Some(line) = bundle_line(&plan, kind, request, host) else {
            continue;
        };
        lines.push(line);
        let (bundle, object) = (bundle_file(kind), format!("offlink.{}.o", kind.as_str()));
        let mut wrap = words(&["offlink", "wrap"]);
        wrap.extend(host_triple(host));
        wrap.extend(compiler(request, host, toolchain, &host_linker));
        wrap.extend(entries_of_llvm(selected.entries.form(kind)));
        wrap.extend(words(&["-o", &object, &bundle]));
        if is_relocatable && matches!(kind, OffloadKind::OpenMp | OffloadKind::Sycl) {
            wrap.push("--relocatable".into());
        }
        lines.push(wrap);
        objects.push(PathBuf::from(object));
    }
    let mut host_line = vec![host_linker.as_os_str().to_owned()];
    host_line.extend(host_link::arguments(&Line {
        request,
        dropped: &scanned.device_arguments,
        objects: &objects,
        copies: &Copies::default(),
        runtime: &runtime,
    }));
    lines.push(host_line);
    if is_relocatable && !objects.is_empty() {
        let mut seal = words(&["offlink", "seal"]);
        seal.push(request.line.output.clone().into());
        lines.push(seal);
    }
    Ok(lines.iter().map(|line| quoted(line) + "\n").collect())
}

/// Extracts what was selected: of archives, the members that are taken.
fn extract_line(selected: &Selected, request: &Request, scanned: &Scanned) -> Vec<OsString> {
    let images = scanned
        .items
        .iter()
        .rev()
        .take(request.options.images.len());
    let from_images: usize = images
        .map(|item| match item {
            Item::Device(inputs) => inputs.len(),
            _ => 0,
        })
        .sum();
    let mut line = words(&["offlink", "extract", "-o", EXTRACTED]);
    let mut last = None;
    for input in selected
        .device
        .iter()
        .take(selected.device.len() - from_images)
    {
        // One file may hold several pieces.
        if last != Some(&input.source) {
            line.push(OsString::from(&input.source));
            last = Some(&input.source);
        }
    }
    line.extend(
        request
            .options
            .images
            .iter()
            .map(|image| format!("--image={image}").into()),
    );
    line
}

fn link_lines(plan: &Plan, llvm_options: &[String]) -> Vec<Vec<OsString>> {
    let mut lines = Vec::new();
    for (number, job) in plan.jobs.iter().enumerate() {
        let Work::Link(link) = &job.work else {
            continue;
        };
        let mut line = words(&["offlink", "link"]);
        line.push(format!("--triple={}", job.target.triple()).into());
        line.push(format!("--arch={}", job.target.arch()).into());
        line.extend(device_options(&link.options, llvm_options));
        line.extend(
            link.exports
                .iter()
                .map(|name| format!("--export-symbol={name}").into()),
        );
        line.extend(["-o".into(), OsString::from(image_file(number, plan))]);
        line.extend(link.inputs().map(|input| OsString::from(&input.source)));
        lines.push(line);
    }
    lines
}

/// Bundles the images of one kind, if there are any.
fn bundle_line(
    plan: &Plan,
    kind: OffloadKind,
    request: &Request,
    host: &Host,
) -> Option<Vec<OsString>> {
    let mut line = words(&["offlink", "bundle", "-o", &bundle_file(kind)]);
    if kind == OffloadKind::Hip {
        line.extend(host_triple(host));
    }
    let Compress { cuda, hip, .. } = request.options.compress;
    if kind == OffloadKind::Cuda && cuda || kind == OffloadKind::Hip && hip {
        line.push("--compress".into());
    }
    let reads_spirv = matches!(kind, OffloadKind::OpenMp | OffloadKind::Sycl);
    if reads_spirv && request.options.spirv_runtime == SpirvRuntime::Llvm24 {
        line.push("--spirv-runtime=24".into());
    }
    let without_images = line.len();
    let of_kind = plan
        .jobs
        .iter()
        .enumerate()
        .filter(|(_, job)| job.kinds.contains(&kind));
    for (number, job) in of_kind {
        let file = match &job.work {
            Work::PassOn(input) => input.source.clone(),
            Work::Link(_) => image_file(number, plan),
        };
        let (triple, arch, kind) = (job.target.triple(), job.target.arch(), kind.as_str());
        line.push(format!("--image=file={file},triple={triple},arch={arch},kind={kind}").into());
    }
    (line.len() > without_images).then_some(line)
}

/// The compiler, where the host needs one and the line says which.
fn compiler(
    request: &Request,
    host: &Host,
    toolchain: &Toolchain,
    host_linker: &Path,
) -> Option<OsString> {
    let named = toolchain.named().cc.as_deref();
    let driver = (request.style == Style::Cc).then_some(host_linker);
    let compiler = named.or(driver)?;
    (host.triple != DEFAULT_HOST).then(|| format!("--cc={}", compiler.display()).into())
}

/// The form of the entries, where it is not that of today's compilers.
pub fn entries_of_llvm(form: Generation) -> Option<OsString> {
    let version = match form {
        Generation::Llvm19 => "19",
        Generation::Llvm20 => "20",
        Generation::Llvm21 => return None,
    };
    Some(format!("--entries-of-llvm={version}").into())
}

fn host_triple(host: &Host) -> Option<OsString> {
    (host.triple != DEFAULT_HOST).then(|| format!("--host-triple={}", host.triple).into())
}

fn bundle_file(kind: OffloadKind) -> String {
    format!("offlink.{}.bundle", kind.as_str())
}

fn image_file(number: usize, plan: &Plan) -> String {
    format!("{number}-{}.image", plan.jobs[number].target.file_stem())
}

/// What decides about a device link, as options of `offlink link`.
pub(crate) fn device_options(device: &DeviceOptions, llvm_options: &[String]) -> Vec<OsString> {
    let mut options = vec![OsString::from(format!("-O{}", device.opt_level))];
    match device.emit {
        Emit::Image => {}
        Emit::Ptx => options.push("--emit=ptx".into()),
        Emit::Bitcode => options.push("--emit=bc".into()),
    }
    if device.relocatable {
        options.push("--relocatable".into());
    }
    match device.split {
        Split::Auto => {}
        Split::Never => options.push("--split=never".into()),
        Split::Always => options.push("--split=always".into()),
    }
    let with_value = |flag: &str, value: &OsStr| {
        let mut option = OsString::from(flag);
        option.push(value);
        option
    };
    let passes = device.passes.iter();
    options.extend(passes.map(|value| with_value("--passes=", value.as_ref())));
    let llvm = llvm_options.iter();
    options.extend(llvm.map(|value| with_value("--mllvm=", value.as_ref())));
    let ptxas = device.ptxas_arguments.iter();
    options.extend(ptxas.map(|value| with_value("--ptxas-arg=", value)));
    let linker = device.linker_arguments.iter();
    options.extend(linker.map(|value| with_value("--linker-arg=", value)));
    options
}

fn words(words: &[&str]) -> Vec<OsString> {
    words.iter().map(OsString::from).collect()
}

/// The line as a shell reads it back.
pub(crate) fn quoted(line: &[OsString]) -> String {
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
