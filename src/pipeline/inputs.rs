//! The files that a link opens, told before it is run: what was opened to plan it,
//! and the tools and libraries that its jobs would open. A library that is only
//! opened if the code turns out to need it is among them.

use super::device::{self, DeviceError};
use super::host::{DEFAULT_HOST, Host};
use super::openmp_runtime;
use super::plan::{DeviceLink, Job, Plan, Work};
use super::scan::Scanned;
use super::select::Entries;
use crate::build_system::{files_of, lines};
use crate::options::{Emit, Options};
use crate::process::Tool;
use crate::request::{Request, Style};
use crate::target::{Device, Target};
use crate::toolchain::Toolchain;
use crate::{Error, files, report};
use std::path::PathBuf;

/// Prints the inputs of these device links and of what was done until now, one a
/// line, sorted.
///
/// # Errors
/// [`Error`] when a tool that is certain to be needed can't be had.
pub fn print(
    jobs: &[Job],
    toolchain: &Toolchain,
    style: Style,
    options: &Options,
) -> Result<(), Error> {
    device::library(jobs, toolchain, &options.llvm_options)?;
    for job in jobs {
        if let Work::Link(link) = &job.work {
            of_link(&job.target, link, &toolchain.for_target(&job.target), style)?;
        }
    }
    let text = lines(&files::inputs(), &options.build_system);
    report::print(&String::from_utf8_lossy(&text))
}

/// Finds what the host link takes besides the line's files.
///
/// # Errors
/// [`Error`] when a tool or OpenMP's runtime can't be had.
pub fn of_host_link(
    request: &Request,
    scanned: &Scanned,
    host: &Host,
    entries: &Entries,
    plan: &Plan,
    toolchain: &Toolchain,
) -> Result<(), Error> {
    let kinds = plan.jobs.iter().flat_map(|job| &job.kinds);
    openmp_runtime::arguments(kinds, entries, request, host, scanned, toolchain)?;
    run(&toolchain.host_linker_tool(request.style)?);
    if let Some(platform) = host.platform.filter(|_| host.triple != DEFAULT_HOST) {
        run(&toolchain
            .compiler(request.style, platform, &host.triple)?
            .tool);
    }
    Ok(())
}

fn of_link(
    target: &Target,
    link: &DeviceLink,
    toolchain: &Toolchain,
    style: Style,
) -> Result<(), DeviceError> {
    let makes_image = link.options.emit == Emit::Image;
    let has_bitcode = !link.bitcode.is_empty();
    let libraries = toolchain.device_libraries();
    match target.device() {
        Device::Nvptx(_) => {
            if has_bitcode {
                may_be_read(libraries.libdevice().ok());
            }
            if makes_image && has_bitcode || !link.ptx.is_empty() {
                run(&toolchain.ptxas()?);
            }
            let is_joined = link.inputs().count() > link.bitcode.len()
                || !link.options.linker_arguments.is_empty();
            if makes_image && is_joined {
                run(&toolchain.nvlink()?);
            }
        }
        Device::Amdgcn(_) => {
            if has_bitcode {
                may_be_read(libraries.rocm().ok());
            }
            if link.options.emit != Emit::Bitcode {
                run(&toolchain.lld()?);
            }
        }
        Device::X86_64(_) if link.options.emit != Emit::Bitcode => {
            run(&toolchain.driver(style)?);
        }
        Device::SpirV if link.objects.len() + usize::from(has_bitcode) > 1 => {
            run(&toolchain.spirv_link()?);
        }
        Device::X86_64(_) | Device::SpirV => {}
    }
    Ok(())
}

/// A library, or the files of a folder of them.
fn may_be_read(path: Option<PathBuf>) {
    let found = path.into_iter().flat_map(files_of);
    found.for_each(|path| files::read(&path));
}

/// A tool that will be run.
pub fn run(tool: &Tool) {
    tool.files().for_each(files::read);
}
