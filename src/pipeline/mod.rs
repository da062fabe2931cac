//! One link, from its inputs to the verified output.
//!
//! Each phase is one module; what it returns is borrowed by those after it.

pub mod bundle;
pub mod device;
pub mod dry_run;
pub mod extract;
pub mod group;
pub mod host_link;
pub mod one_target;
pub mod plan;
pub mod register;
pub mod scan;
pub mod select;
pub mod symbols;
pub mod verify;
pub mod work_dir;

use crate::Error;
use crate::request::{OutputKind, Request};
use crate::toolchain::Toolchain;
use std::process::ExitCode;

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
    let host_linker = toolchain.host_linker(request.style)?;
    if request.line.output_kind == OutputKind::NotALink {
        return Err(host_link::exec(&host_linker, request).into());
    }
    let scanned = scan::scan(&request.line, &request.options.images)?;
    if !scanned.concerns_devices() {
        return Err(host_link::exec(&host_linker, request).into());
    }
    if request.line.output_kind == OutputKind::Relocatable {
        return Err(Error::Relocatable {
            output: request.line.output.clone(),
        });
    }
    let selected = select::select(&scanned, request)?;
    verify::has_device_code(&selected)?;
    if request.options.dry_run {
        let commands = dry_run::commands(selected, request, &scanned, &host_linker)?;
        crate::report::print(&commands)?;
        return Ok(ExitCode::SUCCESS);
    }
    let groups = group::by_target(selected.device)?;
    let plan = plan::plan(groups, &selected.entries, &request.options)?;
    let work_dir = work_dir::WorkDir::new(request.options.save_temps.as_deref())?;
    let dir = work_dir.path();
    let images = device::link_all(&plan, &toolchain, request, dir)?;
    for warning in images.iter().filter_map(device::DeviceImage::warning) {
        crate::report::warning(&warning);
    }
    let compress = request.options.compress;
    let objects = register::write(&images, compress, request.host_triple.as_deref(), dir)?;
    let status = host_link::run(&host_linker, request, &scanned, &objects, dir)?;
    if !status.success() {
        return Ok(host_link::exit_code(status));
    }
    if let Err(error) = verify::verify(&request.line.output, &selected.entries, &images) {
        // An output that can't work must not be taken for one that can.
        let _ = std::fs::remove_file(&request.line.output);
        return Err(error.into());
    }
    Ok(ExitCode::SUCCESS)
}
