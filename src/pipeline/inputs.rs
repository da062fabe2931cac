//! The files that a link opens, told before it is run: what was opened to plan it,
//! and the tools and libraries that its jobs would open. A library that is only
//! opened if the code turns out to need it is among them.

use super::device::{self, DeviceError};
use super::host::{DEFAULT_HOST, Host};
use super::openmp_runtime;
use super::plan::{Job, Plan, Work};
use super::scan::Scanned;
use super::select::Entries;
use crate::build_system::{Wanted, lines};
use crate::device_input::DeviceInput;
use crate::options::Emit;
use crate::process::Tool;
use crate::request::{Request, Style};
use crate::target::Device;
use crate::toolchain::Toolchain;
use crate::{Error, files, report};

/// Prints the inputs of these device links and of what was done until now, one a
/// line, sorted.
///
/// # Errors
/// [`Error`] when a tool that is certain to be needed can't be had.
pub fn print(
    jobs: &[Job],
    toolchain: &Toolchain,
    style: Style,
    wanted: &Wanted,
) -> Result<(), Error> {
    of_device_links(jobs, toolchain, style)?;
    let text = lines(&files::inputs(), wanted);
    report::print(&String::from_utf8_lossy(&text))
}

fn of_device_links(jobs: &[Job], toolchain: &Toolchain, style: Style) -> Result<(), DeviceError> {
    let mut bitcode: Vec<&DeviceInput> = Vec::new();
    for Job { target, work, .. } in jobs {
        let Work::Link(link) = work else {
            continue;
        };
        let toolchain = toolchain.for_target(target);
        for (_, find) in device::tools(target, link) {
            run(&find(&toolchain)?);
        }
        let (_, find) = device::tool_if_there_is_one(target, link).unzip();
        if let Some(Ok(tool)) = find.map(|find| find(&toolchain)) {
            run(&tool);
        }
        if matches!(target.device(), Device::X86_64(_)) && link.options.emit != Emit::Bitcode {
            run(&toolchain.driver(style)?);
        }
        if !link.bitcode.is_empty() {
            let libraries = device::possible_libraries(target, &toolchain);
            libraries.iter().for_each(|path| files::read(path));
            bitcode.extend(&link.bitcode);
        }
    }
    if !bitcode.is_empty() {
        toolchain.llvm(bitcode)?;
    }
    Ok(())
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

/// A tool that will be run.
pub fn run(tool: &Tool) {
    tool.files().for_each(files::read);
}
