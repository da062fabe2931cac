//! One link, from its inputs to the verified output.
//!
//! Each phase is one module; what it returns is borrowed by those after it.

pub mod bundle;
mod compile;
pub mod determinism;
pub mod device;
pub mod device_product;
pub mod device_target;
pub mod dry_run;
pub mod extract;
pub mod group;
pub mod host;
pub mod host_link;
pub mod image_file;
mod inputs;
pub mod llvm_commands;
pub mod mach_o_copies;
pub mod openmp_runtime;
pub mod override_image;
pub mod plan;
pub mod register;
pub mod scan;
pub mod seal;
pub mod select;
pub mod symbols;
mod transcript;
pub mod verify;
pub mod work_dir;
pub mod wrapped_module;

use crate::request::{OutputKind, Request};
use crate::timing;
use crate::toolchain::Toolchain;
use crate::{Error, files};
use host::Host;
use host_link::Line;
use llvm_commands::Origin;
use mach_o_copies::Copies;
use register::Registrar;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use transcript::Transcript;
use work_dir::WorkDir;

/// Carries a link out: device code is linked, registered and verified, and the
/// host linker makes the output. A line without device code goes straight to
/// the host linker, which then takes the place of this process.
///
/// Returns the host linker's exit code when that ran and failed.
///
/// # Errors
/// [`Error`] when a phase fails; the output does not exist then.
pub fn link(request: &Request) -> Result<ExitCode, Error> {
    let toolchain = Toolchain::new(&request.options.device.tools, &request.arguments);
    if request.line.output_kind == OutputKind::NotALink {
        return pass_through(request, &toolchain);
    }
    if let Some(link) = device_target::amdgcn::of(request)? {
        link.run()?;
        return Ok(ExitCode::SUCCESS);
    }
    let wrapper = &request.wrapper;
    let host = Host::of(request);
    let scanned = timing::phase("scan", || {
        scan::scan(&request.line, &request.options, &host)
    })?;
    let is_for_devices = wrapper.is_device_only() || !wrapper.overrides.is_empty();
    if !scanned.concerns_devices() && !is_for_devices {
        return pass_through(request, &toolchain);
    }
    host.check(&scanned)?;
    let mut selected = timing::phase("select", || select::select(&scanned, request, &host))?;
    if !is_for_devices {
        verify::has_device_code(&selected)?;
        openmp_runtime::check(&scanned, &selected.entries)?;
    }
    if request.options.wants_reproducibility() {
        let entries = selected.entries.entries.iter();
        let warning = determinism::warning(entries.map(|(_, entry)| entry.name.as_str()));
        warning.iter().for_each(|text| crate::report::warning(text));
    }
    if request.options.dry_run {
        let commands = dry_run::commands(selected, request, &scanned, &host, &toolchain)?;
        crate::report::print(&commands)?;
        return Ok(ExitCode::SUCCESS);
    }
    let device_code = std::mem::take(&mut selected.device);
    let origins: Vec<Origin> = device_code.iter().map(Origin::of).collect();
    let plan = if wrapper.overrides.is_empty() {
        let groups = group::by_target(device_code, &request.options.archs)?;
        plan::plan(groups, &selected.entries, &request.options)?
    } else {
        override_image::plan(&wrapper.overrides)?
    };
    let wanted = &request.options.build_system;
    if wanted.print_inputs {
        inputs::of_host_link(
            request,
            &scanned,
            &host,
            &selected.entries,
            &plan,
            &toolchain,
        )?;
        inputs::print(&plan.jobs, &toolchain, request.style, wanted)?;
        return Ok(ExitCode::SUCCESS);
    }
    let work_dir = work_dir(request)?;
    let transcript = Transcript::new(request, &plan, &origins, &toolchain, &work_dir);
    transcript.device_links()?;
    if wrapper.dry_run {
        transcript.rest_of_dry_run(&scanned, &host, &selected.entries)?;
        return Ok(ExitCode::SUCCESS);
    }
    let images = timing::phase("device links", || {
        let output = &request.line.output;
        let (options, style) = (&request.options, request.style);
        let setting =
            device::Setting::new(&plan.jobs, &toolchain, options, style, &work_dir, output);
        device::link_all(&setting)
    })?;
    if request.options.verify_deterministic {
        determinism::verify(
            &images,
            &plan.jobs,
            &toolchain,
            &request.options,
            request.style,
        )?;
    }
    for warning in images.iter().filter_map(device::DeviceImage::warning) {
        crate::report::warning(&warning);
    }
    transcript.images(&images)?;
    if wrapper.is_device_only() {
        timing::phase("write", || device_product::write(&images, request))?;
        return Ok(ExitCode::SUCCESS);
    }
    let output = Output {
        request,
        toolchain: &toolchain,
        host: &host,
        scanned: &scanned,
        work_dir: &work_dir,
        transcript: &transcript,
    };
    output.make(&images, &selected.entries)
}

/// What making the output takes besides images and entries.
struct Output<'a> {
    request: &'a Request,
    toolchain: &'a Toolchain,
    host: &'a Host,
    scanned: &'a scan::Scanned,
    work_dir: &'a WorkDir,
    transcript: &'a Transcript<'a>,
}

impl Output<'_> {
    /// The last phases: the images are registered, the host linker runs, and
    /// its output is verified.
    fn make(
        &self,
        images: &[device::DeviceImage],
        entries: &select::Entries,
    ) -> Result<ExitCode, Error> {
        let request = self.request;
        let registrar = Registrar {
            host: self.host,
            toolchain: self.toolchain,
            style: request.style,
            spirv_runtime: request.options.spirv_runtime,
            work_dir: self.work_dir,
        };
        let objects = timing::phase("register", || {
            registrar.write(
                images,
                entries,
                request.options.compress,
                request.line.output_kind,
            )
        })?;
        self.transcript.modules(images, entries)?;
        let kinds = images.iter().flat_map(|image| &image.kinds);
        let runtime = openmp_runtime::arguments(
            kinds,
            entries,
            request,
            self.host,
            self.scanned,
            self.toolchain,
        )?;
        let host_linker = self.toolchain.host_linker_tool(request.style)?;
        let copies = Copies::write(request, self.host, self.work_dir)?;
        let line = host_link::arguments(&Line {
            request,
            dropped: &self.scanned.device_arguments,
            objects: &objects,
            copies: &copies,
            runtime: &runtime,
        });
        self.transcript.host_link(&host_linker.path, &line);
        files::written(&request.line.output);
        let status = host_link::run(&host_linker, request.style, line, self.work_dir)?;
        if !status.success() {
            return Ok(host_link::exit_code(status));
        }
        let finished = timing::phase("verify", || finish(request, entries, images, &objects));
        if let Err(error) = finished {
            // An output that can't work must not be taken for one that can.
            let _ = std::fs::remove_file(&request.line.output);
            return Err(error);
        }
        Ok(ExitCode::SUCCESS)
    }
}

/// Hands the line to the host linker as it came; returns only if it is not to be
/// run or can't be.
fn pass_through(request: &Request, toolchain: &Toolchain) -> Result<ExitCode, Error> {
    let host_linker = toolchain.host_linker_tool(request.style)?;
    let wrapper = &request.wrapper;
    if wrapper.dry_run || wrapper.verbose {
        let line = llvm_commands::host_line(&host_linker.path, &request.arguments);
        crate::report::raw(&line);
    }
    if wrapper.dry_run {
        return Ok(ExitCode::SUCCESS);
    }
    let wanted = &request.options.build_system;
    if wanted.print_inputs {
        inputs::run(&host_linker);
        inputs::print(&[], toolchain, request.style, wanted)?;
        return Ok(ExitCode::SUCCESS);
    }
    if wanted.is_any() {
        files::written(&request.line.output);
        let (arguments, work_dir) = (request.arguments.clone(), work_dir(request)?);
        let status = host_link::run(&host_linker, request.style, arguments, &work_dir)?;
        return Ok(host_link::exit_code(status));
    }
    timing::report(&request.options, wrapper.time_trace.as_ref())?;
    Err(host_link::exec(&host_linker, request).into())
}

/// Where intermediate files go. They carry the output's name, so that those of
/// several links can be kept in one place: with clang-linker-wrapper's
/// `--save-temps` that is where the output lies.
fn work_dir(request: &Request) -> Result<WorkDir, Error> {
    let output = &request.line.output;
    let beside_output = output
        .parent()
        .filter(|dir| !dir.as_os_str().is_empty())
        .unwrap_or(Path::new("."));
    let own = request.options.save_temps.as_deref();
    let keep = own.or_else(|| request.wrapper.save_temps.then_some(beside_output));
    let name = output.file_name();
    let stem = name.map_or("offlink".into(), |name| name.to_string_lossy());
    Ok(WorkDir::new(keep, &stem)?)
}

/// What is left to do once the host linker has made the output.
fn finish(
    request: &Request,
    entries: &select::Entries,
    images: &[device::DeviceImage],
    registration: &[PathBuf],
) -> Result<(), Error> {
    let output = &request.line.output;
    verify::verify(output, entries, images)?;
    let is_relocatable = request.line.output_kind == OutputKind::Relocatable;
    if is_relocatable && !registration.is_empty() && output.is_file() {
        seal::in_place(output)?;
    }
    Ok(())
}
