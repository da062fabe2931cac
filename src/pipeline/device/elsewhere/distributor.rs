//! Handing all device links of an invocation to a program that distributes them. It is
//! called as LLVM's DTLTO calls a distributor (LLVM 22's DTLTO.rst): with a JSON file
//! behind its own arguments, and ends when all jobs are done. A job's command line is
//! `args` of `common` followed by its own.

use super::super::key::Stage;
use super::super::{DeviceError, DeviceImage, Files, Setting, cached};
use super::parcel::{Parcel, text, toolchain_file};
use super::{Candidate, ElsewhereError, candidates, checked, or_here, warn};
use crate::{files, mapped_file, output_file, process};
use bytes::Bytes;
use serde::Serialize;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// The file.
#[derive(Serialize)]
struct Jobs {
    common: Common,
    jobs: Vec<Job>,
}

/// What all jobs have in common.
#[derive(Serialize)]
struct Common {
    /// What the whole link makes.
    linker_output: String,
    args: Vec<String>,
    inputs: Vec<String>,
}

/// One device link.
#[derive(Serialize)]
struct Job {
    args: Vec<String>,
    inputs: Vec<String>,
    outputs: Vec<String>,
}

/// Has the program run the links that are not in the cache.
pub(super) fn link(
    setting: &Setting<'_>,
    program: &Path,
) -> Result<BTreeMap<usize, DeviceImage>, DeviceError> {
    let mut images = BTreeMap::new();
    let mut reasons = Vec::new();
    let mut jobs = Vec::new();
    let mut distributed: Vec<(Candidate<'_>, PathBuf)> = Vec::new();
    for candidate in candidates(setting) {
        let position = candidate.position;
        let (target, link) = (candidate.target, candidate.link);
        let known = setting.with_context(target, |context| cached::get(target, link, context));
        if let Some(linked) = known {
            images.insert(position, setting.image(position, linked));
            continue;
        }
        let work = setting.files(position);
        let output = work.path("image");
        let job = setting.with_context(target, |context| {
            job(&Parcel::new(target, link, context)?, &work, &output)
        });
        match job {
            Ok(job) => {
                jobs.push(job);
                distributed.push((candidate, output));
            }
            Err(error) => {
                let error = or_here(Err(error), &candidate, setting)?;
                reasons.extend(error.err());
            }
        }
    }
    warn(&reasons);
    if jobs.is_empty() {
        return Ok(images);
    }
    run(setting, program, jobs)?;
    for (candidate, output) in distributed {
        let (target, link) = (candidate.target, candidate.link);
        let image = setting.with_context(target, |context| {
            cached::get_or_make(Stage::Image, target, link, context, || {
                Ok(image(&candidate, &output)?.into())
            })
        })?;
        images.insert(candidate.position, setting.image(candidate.position, image));
    }
    Ok(images)
}

/// The link as a job, whose files are written.
fn job(parcel: &Parcel<'_>, work: &Files<'_>, output: &Path) -> Result<Job, DeviceError> {
    let target = parcel.target;
    let path = |path: &Path| -> Result<String, DeviceError> {
        // Whoever runs it may do so in another folder.
        let absolute = std::path::absolute(path).unwrap_or_else(|_| path.into());
        text(target, absolute.as_os_str())
    };
    let mut inputs = Vec::new();
    for (name, input) in parcel.input_names().zip(parcel.link.inputs()) {
        inputs.push(path(&work.write(&name, &input.data)?)?);
    }
    let mut needed = Vec::new();
    let mut tools = Vec::new();
    if let Some(llvm) = &parcel.llvm {
        files::read(llvm);
        needed.push(path(llvm)?);
        tools.push(("llvm", vec![path(llvm)?]));
    }
    for (key, tool) in &parcel.tools {
        let mut words = Vec::new();
        for word in &tool.launcher {
            words.push(text(target, word)?);
        }
        words.push(path(&tool.path)?);
        tools.push((key, words));
        for file in tool.files() {
            files::read(file);
            needed.push(path(file)?);
        }
    }
    for library in &parcel.libraries {
        files::read(library);
        needed.push(path(library)?);
    }
    let folder = parcel.libraries.first();
    if let Some(first) = folder {
        let key = parcel.library_key();
        let named = match key {
            "libdevice" => first,
            _ => first.parent().unwrap_or(first),
        };
        tools.push((key, vec![path(named)?]));
    }
    let toolchain = toolchain_file(parcel.is_hermetic, &parcel.environment, &tools);
    let toolchain = path(&work.write("toml", toolchain.as_bytes())?)?;
    let output = path(output)?;
    let arguments = &parcel.link.options.linker_arguments;
    let args = parcel.arguments(&toolchain, arguments, &output, &inputs)?;
    needed.push(toolchain);
    needed.extend(inputs);
    Ok(Job {
        args,
        inputs: needed,
        outputs: vec![output],
    })
}

fn run(setting: &Setting<'_>, program: &Path, jobs: Vec<Job>) -> Result<(), DeviceError> {
    let own = process::own_path();
    // A copy with a peer's name would take the peer's line.
    if own.file_name() != Some("offlink".as_ref()) {
        return Err(ElsewhereError::Settings(
            "--offlink-distributor needs the program under its own name, offlink; make its other \
             names symbolic links",
        )
        .into());
    }
    let own = own.to_string_lossy().into_owned();
    let jobs = Jobs {
        common: Common {
            linker_output: setting.output.to_string_lossy().into_owned(),
            args: vec![own.clone(), "link".into()],
            inputs: vec![own],
        },
        jobs,
    };
    let file = setting.work_dir.file("jobs.json");
    // Texts and lists of them always have a form in JSON.
    let json = serde_json::to_vec_pretty(&jobs).unwrap_or_default();
    output_file::write_bytes(&file, &json)?;
    let tool = setting.toolchain.distributor(program);
    let mut arguments = setting.options.elsewhere.distributor_arguments.clone();
    arguments.push(file.into());
    tool.run(&arguments, "the device links")?;
    Ok(())
}

/// The image that the distributor has left.
fn image(candidate: &Candidate<'_>, output: &Path) -> Result<Bytes, ElsewhereError> {
    let target = || candidate.target.to_string();
    let data = mapped_file::map(output).map_err(|error| ElsewhereError::Output {
        target: target(),
        path: output.into(),
        source: error.into(),
    })?;
    checked(candidate, data)
}
