//! What clang-linker-wrapper's options want to see of a link: the commands that
//! LLVM's wrapper would run, the registration code, and intermediate files.

use super::bundle::Described;
use super::device::DeviceImage;
use super::host::{DEFAULT_HOST, Host};
use super::host_link::{self, Line};
use super::llvm_commands::{self, LlvmCommands, Origin};
use super::mach_o_copies::Copies;
use super::openmp_runtime;
use super::plan::Plan;
use super::register;
use super::scan::Scanned;
use super::select::Entries;
use super::work_dir::WorkDir;
use super::wrapped_module;
use crate::Error;
use crate::mapped_file;
use crate::report;
use crate::request::{OutputKind, Request, Style};
use crate::toolchain::Toolchain;
use crate::wrapper_request::Product;
use offlink_bundle::entry::Generation;
use offlink_bundle::offload_binary::OffloadKind;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// The sight of one link. Each function belongs to a phase, and does nothing
/// if nobody asked for what it shows.
pub(super) struct Transcript<'a> {
    request: &'a Request,
    plan: &'a Plan,
    toolchain: &'a Toolchain,
    work_dir: &'a WorkDir,
    commands: LlvmCommands<'a>,
}

impl<'a> Transcript<'a> {
    pub(super) fn new(
        request: &'a Request,
        plan: &'a Plan,
        origins: &[Origin],
        toolchain: &'a Toolchain,
        work_dir: &'a WorkDir,
    ) -> Self {
        Self {
            request,
            plan,
            toolchain,
            work_dir,
            commands: LlvmCommands::new(request, plan, origins, toolchain, work_dir),
        }
    }

    fn prints_commands(&self) -> bool {
        self.request.wrapper.dry_run || self.request.wrapper.verbose
    }

    fn makes_containers(&self) -> bool {
        !matches!(self.request.wrapper.product, Product::Images(_))
    }

    /// Before the device links.
    pub(super) fn device_links(&self) -> Result<(), Error> {
        if self.request.wrapper.save_temps {
            self.commands.save_inputs()?;
        }
        if self.prints_commands() {
            report::raw(&self.commands.device_lines());
        }
        Ok(())
    }

    /// When the images are there.
    pub(super) fn images(&self, images: &[DeviceImage]) -> Result<(), Error> {
        if self.request.wrapper.save_temps {
            for image in images {
                self.commands.save_image(&image.target, &image.data)?;
            }
        }
        if self.prints_commands() && self.makes_containers() {
            report::raw(&self.commands.bundle_lines());
        }
        Ok(())
    }

    /// When the registration objects are there.
    pub(super) fn modules(&self, images: &[DeviceImage], entries: &Entries) -> Result<(), Error> {
        if !self.request.wrapper.print_module {
            return Ok(());
        }
        for kind in self.commands.kinds() {
            let of_kind: Vec<Described<'_>> = images
                .iter()
                .filter(|image| image.kinds.contains(kind))
                .map(|image| Described::linked(*kind, &image.target, &image.data))
                .collect();
            let form = entries.form(*kind);
            if *kind == OffloadKind::OpenMp {
                self.print_module(*kind, form, &of_kind, &[])?;
            } else {
                let container = register::container_file(*kind, self.work_dir);
                self.print_module(*kind, form, &of_kind, &mapped_file::map(&container)?)?;
            }
        }
        Ok(())
    }

    fn print_module(
        &self,
        kind: OffloadKind,
        entries: Generation,
        images: &[Described<'_>],
        container: &[u8],
    ) -> Result<(), Error> {
        let host = self.request.host_triple.as_deref().unwrap_or(DEFAULT_HOST);
        let runtime = self.request.options.spirv_runtime;
        let module = wrapped_module::text(kind, entries, images, container, runtime, host)?;
        report::raw(&module);
        Ok(())
    }

    /// Before the host link.
    pub(super) fn host_link(&self, linker: &Path, arguments: &[OsString]) {
        if self.prints_commands() {
            report::raw(&llvm_commands::host_line(linker, arguments));
        }
    }

    /// What follows on the device links where nothing is run. Modules hold no
    /// images then, as there are none.
    pub(super) fn rest_of_dry_run(
        &self,
        scanned: &Scanned,
        host: &Host,
        entries: &Entries,
    ) -> Result<(), Error> {
        if self.makes_containers() {
            report::raw(&self.commands.bundle_lines());
        }
        if self.request.wrapper.is_device_only() {
            return Ok(());
        }
        let mut objects = Vec::new();
        for kind in self.commands.kinds() {
            if self.request.wrapper.print_module {
                let jobs = self.plan.jobs.iter();
                let images: Vec<Described<'_>> = jobs
                    .filter(|job| job.kinds.contains(kind))
                    .map(|job| Described::linked(*kind, &job.target, &[]))
                    .collect();
                self.print_module(*kind, entries.form(*kind), &images, &[])?;
            }
            objects.push(register::object_file(*kind, self.work_dir));
        }
        let linker = host_linker_to_print(self.toolchain);
        let kinds = self.commands.kinds();
        let runtime =
            openmp_runtime::arguments(kinds, entries, self.request, host, scanned, self.toolchain)?;
        let line = host_link::arguments(&Line {
            request: self.request,
            dropped: &scanned.device_arguments,
            objects: &objects,
            copies: &Copies::default(),
            runtime: &runtime,
        });
        self.host_link(&linker, &line);
        if self.request.line.output_kind == OutputKind::Relocatable {
            report::raw(&self.commands.relocatable_line(entries));
        }
        Ok(())
    }
}

/// The host linker as the line names it: it need not be there to be printed.
fn host_linker_to_print(toolchain: &Toolchain) -> PathBuf {
    let named = toolchain.named().host_linker.clone();
    named
        .or_else(|| toolchain.host_linker(Style::Ld).ok())
        .unwrap_or_else(|| "ld".into())
}
