//! Which images of a program run on which devices.

use super::devices::{Device, DeviceTarget, Devices};
use super::fit::{Fit, fit, preference};
use super::runtime;
use crate::Error;
use crate::cli::UsageError;
use crate::device_input::DeviceInput;
use crate::inspect::{self, Contents, ImageReport};
use crate::mapped_file;
use crate::pipeline::group::REGISTERED;
use crate::pipeline::verify::lacks;
use offlink_bundle::entry::{Generation, OffloadEntry};
use offlink_bundle::image::{self, ImageFormat};
use offlink_bundle::offload_binary::OffloadKind;
use serde::Serialize;
use std::path::Path;

/// What is known of one program.
#[derive(Debug, Serialize)]
pub struct Report {
    /// The program.
    pub file: String,
    /// Its images, which the rest numbers from 1.
    pub images: Vec<ImageReport>,
    /// How many offload entries it has.
    pub entries: usize,
    /// The libomptarget that it loads.
    pub libomptarget: Option<String>,
    /// What is wrong whatever the device.
    pub problems: Vec<String>,
    /// One for each offload kind of it.
    pub kinds: Vec<KindReport>,
    /// What may hide devices.
    pub notes: Vec<String>,
}

/// What becomes of the images of one offload kind.
#[derive(Debug, Serialize)]
pub struct KindReport {
    /// `openmp`, `cuda`, `hip`, `sycl`.
    pub kind: &'static str,
    /// Every device that its runtime uses, in order.
    pub devices: Vec<DeviceReport>,
    /// Whether kernels run on one of them.
    pub runs: bool,
    /// What happens at run time, as a sentence.
    pub verdict: String,
}

/// What one device makes of the images of a kind.
#[derive(Debug, Serialize)]
pub struct DeviceReport {
    /// The device.
    pub device: Device,
    /// The number of the image that the runtime takes for it.
    pub image: Option<usize>,
    /// Why it takes none, or why that one does not do.
    pub reasons: Vec<String>,
}

impl Report {
    /// Whether every kind runs somewhere and nothing is in its way.
    pub fn works(&self) -> bool {
        self.problems.is_empty() && self.kinds.iter().all(|kind| kind.runs)
    }
}

/// Looks at a program or shared library.
///
/// # Errors
/// [`Error`] when it can't be read or is something else.
pub fn examine(path: &Path, devices: &Devices) -> Result<Report, Error> {
    let data = mapped_file::map(path)?;
    if !matches!(ImageFormat::detect(&data), ImageFormat::ElfShared(_)) {
        let file = path.display().to_string();
        return Err(UsageError::NoProgram { file }.into());
    }
    let Contents { images, entries } = inspect::contents(path)?;
    let has = |kind: OffloadKind| {
        images.iter().any(|image| image.kind == kind)
            || entries.iter().any(|entry| entry.is_of(kind))
    };
    let is_openmp = |entry: &&OffloadEntry| entry.is_of(OffloadKind::OpenMp);
    let form = entries.iter().find(is_openmp).map(|entry| entry.generation);
    let form = form.or_else(|| has(OffloadKind::OpenMp).then(Generation::default));
    let loaded = runtime::of_program(path, &data, form);
    let mut problems = loaded.problems;
    if images.is_empty() && entries.is_empty() {
        problems.push(
            "it holds no device code and no offload entries: nothing of it runs on a device; was \
             it linked by offlink, or is the device code in one of its libraries?"
                .into(),
        );
    }
    let kinds = REGISTERED.into_iter().filter(|kind| has(*kind));
    let kinds = kinds.map(|kind| of_kind(kind, &images, &entries, devices));
    Ok(Report {
        file: path.display().to_string(),
        kinds: kinds.collect(),
        images: images.iter().map(inspect::describe).collect(),
        entries: entries.len(),
        libomptarget: loaded.omptarget.map(|path| path.display().to_string()),
        problems,
        notes: devices.notes.clone(),
    })
}

fn of_kind(
    kind: OffloadKind,
    images: &[DeviceInput],
    entries: &[OffloadEntry],
    devices: &Devices,
) -> KindReport {
    let of_kind: Vec<(usize, &DeviceInput)> = (1..)
        .zip(images)
        .filter(|(_, image)| image.kind == kind)
        .collect();
    let entries: Vec<&OffloadEntry> = entries.iter().filter(|entry| entry.is_of(kind)).collect();
    let reports: Vec<DeviceReport> = devices
        .found
        .iter()
        .filter(|device| device.is_used_by(kind))
        .map(|device| on_device(device, &of_kind, &entries))
        .collect();
    let runs = |report: &&DeviceReport| report.image.is_some() && report.reasons.is_empty();
    // libomptarget numbers its devices in the order of the images that they run.
    let first = match kind {
        OffloadKind::OpenMp => reports
            .iter()
            .filter(runs)
            .min_by_key(|report| report.image),
        _ => reports.iter().find(runs),
    };
    let verdict = match first {
        Some(report) => runs_on(report, images),
        None => runs_nowhere(kind, &reports, of_kind.is_empty()),
    };
    KindReport {
        kind: kind.as_str(),
        runs: first.is_some(),
        verdict,
        devices: reports,
    }
}

fn on_device(
    device: &Device,
    images: &[(usize, &DeviceInput)],
    entries: &[&OffloadEntry],
) -> DeviceReport {
    let mut report = DeviceReport {
        device: device.clone(),
        image: None,
        reasons: Vec::new(),
    };
    let mut fitting = Vec::new();
    for (number, image) in images {
        match fit(image, &device.target) {
            Fit::Runs => fitting.push((*number, *image)),
            Fit::OtherDevice => {}
            Fit::No(why) => report.reasons.push(format!("image {number}: {why}")),
        }
    }
    // `max_by_key` returns the last of equals, and the first is wanted.
    let taken = fitting
        .into_iter()
        .rev()
        .max_by_key(|(_, image)| preference(image));
    if let Some((number, image)) = taken {
        report.image = Some(number);
        report.reasons = missing_in(number, image, entries).into_iter().collect();
    } else if report.reasons.is_empty() {
        let vendor = match device.target {
            DeviceTarget::Nvidia(_) => "NVIDIA GPUs",
            DeviceTarget::Amd(_) | DeviceTarget::OtherAmd(_) => "AMD GPUs",
            DeviceTarget::Intel => "Intel GPUs",
            DeviceTarget::Cpu(_) => "CPUs like this one",
        };
        report.reasons.push(format!("no image is for {vendor}"));
    }
    report
}

/// The first entry that the image does not define, if its symbols can be read.
fn missing_in(number: usize, image: &DeviceInput, entries: &[&OffloadEntry]) -> Option<String> {
    let kernels = image::kernels(&image.data).ok()?;
    let all = image::device_symbols(&image.data).ok()?;
    let missing = entries.iter().find(|entry| lacks(&kernels, &all, entry))?;
    let what = if missing.size == 0 {
        "kernel"
    } else {
        "variable"
    };
    Some(format!(
        "image {number}: it lacks {what} '{}', which the program uses; was its device code part of \
         the link?",
        missing.name
    ))
}

fn runs_on(report: &DeviceReport, images: &[DeviceInput]) -> String {
    let number = report.image.unwrap_or_default();
    let image = number.checked_sub(1).and_then(|index| images.get(index));
    let described = image.map_or_else(String::new, |image| {
        let format = ImageFormat::detect(&image.data);
        format!("the {} {format} (image {number})", image.arch)
    });
    format!("kernels run on {} by {described}", report.device)
}

fn runs_nowhere(kind: OffloadKind, devices: &[DeviceReport], lacks_images: bool) -> String {
    let incomplete = devices.iter().find(|report| report.image.is_some());
    if let Some(reason) = incomplete.and_then(|report| report.reasons.first()) {
        return format!("kernels are missing from the images: {reason}");
    }
    let what = if lacks_images {
        "there is no image"
    } else {
        "no image fits a device"
    };
    // What LLVM 22's libomptarget, CUDA 13 and ROCm 7 say.
    let says = match kind {
        OffloadKind::OpenMp => {
            "the runtime runs the host's code, or fails with 'does not have a matching target \
             pointer' or 'failure of target construct while offloading is mandatory'"
        }
        OffloadKind::Cuda | OffloadKind::Hip => {
            "the runtime fails with 'no kernel image is available for execution on the device', or \
             finds no device"
        }
        _ => "the runtime finds no device",
    };
    // GPUs stand before the CPU.
    let remedy = match devices.first() {
        Some(report) => {
            let (triple, arch) = report.device.target.image_target();
            let name = kind.as_str();
            format!("add --offlink-image=file=…,triple={triple},arch={arch},kind={name}")
        }
        None => "this machine has no device for it".into(),
    };
    format!("{what}: {says}; {remedy}")
}
