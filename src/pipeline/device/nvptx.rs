//! NVIDIA images: bitcode → PTX → ptxas → cubin, and nvlink where objects join.

use super::super::plan::DeviceLink;
use super::bitcode::{self, Machine};
use super::error::with_users;
use super::remarks::Remark;
use super::{Context, DeviceError, Files, Linked};
use crate::device_input::DeviceInput;
use crate::options::Emit;
use crate::process::{Tool, ToolError};
use crate::target::Target;
use bytes::Bytes;
use offlink_bundle::image;
use offlink_llvm::{Compiled, Undefined};
use offlink_ptx::ptxas::{Assemble, Complaint, complaint};
use offlink_ptx::{Arch, PtxVersion, nvlink, text};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// Makes the image for `arch`.
///
/// # Errors
/// [`DeviceError`], with what would help.
pub(super) fn link(
    target: &Target,
    arch: Arch,
    link: &DeviceLink,
    context: &Context<'_>,
    files: &Files<'_>,
) -> Result<Linked, DeviceError> {
    let linker = Linker {
        target,
        arch,
        link,
        context,
        files,
    };
    match link.options.emit {
        Emit::Bitcode => linker.bitcode(),
        Emit::Ptx => linker.ptx().map(Linked::from),
        Emit::Image => linker.cubin().map(Linked::from),
    }
}

/// Whether nvlink makes the cubin, of several pieces or because something is said
/// to it.
pub(super) fn is_joined(link: &DeviceLink) -> bool {
    let pieces = link.bitcode.len().min(1) + link.ptx.len();
    pieces > 1 || !link.objects.is_empty() || !link.options.linker_arguments.is_empty()
}

struct Linker<'a> {
    target: &'a Target,
    arch: Arch,
    link: &'a DeviceLink,
    context: &'a Context<'a>,
    files: &'a Files<'a>,
}

/// PTX with what LLVM knows about it.
struct Ptx {
    text: Bytes,
    undefined: Vec<Undefined>,
}

impl Linker<'_> {
    fn bitcode(&self) -> Result<Linked, DeviceError> {
        let machine = self.machine(self.arch.min_ptx());
        bitcode::as_image(self.target, &machine, self.link, self.context)
    }

    fn ptx(&self) -> Result<Bytes, DeviceError> {
        match (self.link.bitcode.as_slice(), self.link.ptx.as_slice()) {
            ([], [only]) if self.link.objects.is_empty() => Ok(only.data.clone()),
            _ => {
                self.only_bitcode()?;
                let lowest = self.arch.min_ptx();
                let asked = self.link.options.ptx_version.unwrap_or(lowest);
                Ok(self.compile_to_ptx(lowest.max(asked))?.text)
            }
        }
    }

    fn only_bitcode(&self) -> Result<(), DeviceError> {
        if self.link.ptx.is_empty() && self.link.objects.is_empty() {
            return Ok(());
        }
        Err(DeviceError::PtxOfObjects {
            target: self.target.to_string(),
            what: "objects or several PTX inputs",
        })
    }

    fn cubin(&self) -> Result<Bytes, DeviceError> {
        if self.link.bitcode.is_empty() && self.link.ptx.is_empty() {
            return self.join(Vec::new(), &[]);
        }
        let ptxas = self.context.toolchain.ptxas()?;
        let relocatable = is_joined(self.link);
        let mut cubins = Vec::new();
        let mut undefined = Vec::new();
        if !self.link.bitcode.is_empty() {
            let (cubin, left) = self.compile_and_assemble(&ptxas, relocatable)?;
            cubins.push(cubin);
            undefined = left;
        }
        for (number, ptx) in self.link.ptx.iter().enumerate() {
            cubins.push(self.assemble_input(&ptxas, ptx, number, relocatable)?);
        }
        match cubins.as_slice() {
            [only] if !relocatable => self.files.read(only),
            _ => self.join(cubins, &undefined),
        }
    }

    /// All bitcode as one cubin. The PTX version is the lowest that the
    /// architecture has, or that ptxas then says the code needs.
    fn compile_and_assemble(
        &self,
        ptxas: &Tool,
        relocatable: bool,
    ) -> Result<(PathBuf, Vec<Undefined>), DeviceError> {
        let mut version = self.arch.min_ptx();
        loop {
            let ptx = self.compile_to_ptx(version)?;
            let file = self.files.write("ptx", &ptx.text)?;
            let error = match self.assemble(ptxas, &file, "cubin", relocatable) {
                Ok(cubin) => return Ok((cubin, ptx.undefined)),
                Err(error) => error,
            };
            let used = text::version(&ptx.text);
            match complaint(error.stderr()) {
                Some(Complaint::VersionTooOld { needed }) if Some(needed) > used => {
                    version = needed;
                }
                _ => return Err(self.explain(error, ptxas, used, &ptx.undefined)),
            }
        }
    }

    /// PTX of this version; of the one that the code asked for when it was
    /// compiled, if that is higher and LLVM gives up on this one.
    fn compile_to_ptx(&self, version: PtxVersion) -> Result<Ptx, DeviceError> {
        let emit = offlink_llvm::Emit::Assembly;
        let mut result = self.compile(version, emit);
        if let Err(error) = &result
            && let Some(declared) = error.declared_ptx().map(PtxVersion::new)
            && declared > version
        {
            result = self.compile(declared, emit);
        }
        let compiled = result?;
        Ok(Ptx {
            undefined: compiled.undefined,
            text: compiled.code.into(),
        })
    }

    fn compile(
        &self,
        version: PtxVersion,
        emit: offlink_llvm::Emit,
    ) -> Result<Compiled, DeviceError> {
        let machine = self.machine(version);
        bitcode::compile(self.target, &machine, self.link, emit, self.context)
    }

    fn machine(&self, version: PtxVersion) -> Machine {
        Machine {
            cpu: self.arch.name(),
            features: version.feature(),
            first_llvm: self.arch.first_llvm(),
        }
    }

    fn assemble_input(
        &self,
        ptxas: &Tool,
        input: &DeviceInput,
        number: usize,
        relocatable: bool,
    ) -> Result<PathBuf, DeviceError> {
        let file = self.files.write(&format!("{number}.ptx"), &input.data)?;
        let version = text::version(&input.data);
        self.assemble(ptxas, &file, &format!("{number}.cubin"), relocatable)
            .map_err(|error| self.explain(error, ptxas, version, &[]))
    }

    fn assemble(
        &self,
        ptxas: &Tool,
        ptx: &Path,
        ending: &str,
        relocatable: bool,
    ) -> Result<PathBuf, ToolError> {
        let output = self.files.path(ending);
        let job = Assemble {
            arch: self.arch,
            opt_level: self.link.options.opt_level,
            relocatable,
            input: ptx,
            output: &output,
        };
        let mut arguments = job.arguments();
        arguments.extend(self.link.options.ptxas_arguments.iter().cloned());
        let printed = ptxas.run(&arguments, &self.target.to_string())?;
        // Who talks to ptxas wants to hear it: `-v` tells about registers.
        if !self.link.options.ptxas_arguments.is_empty() {
            self.context.remarks.add(Remark::Printed(printed));
        }
        Ok(output)
    }

    /// Says what ptxas meant.
    fn explain(
        &self,
        error: ToolError,
        ptxas: &Tool,
        version: Option<PtxVersion>,
        known: &[Undefined],
    ) -> DeviceError {
        match complaint(error.stderr()) {
            Some(Complaint::UnknownArch) => DeviceError::PtxasLacksArch {
                ptxas: ptxas.path.clone(),
                arch: self.arch.to_string(),
            },
            Some(Complaint::VersionTooNew { newest }) => DeviceError::PtxasTooOld {
                ptxas: ptxas.path.clone(),
                arch: self.arch.to_string(),
                newest,
                needed: version.unwrap_or(self.arch.min_ptx()),
            },
            Some(Complaint::Unresolved { symbol }) => self.undefined(vec![symbol], known),
            Some(Complaint::VersionTooOld { .. }) | None => error.into(),
        }
    }

    fn undefined(&self, symbols: Vec<String>, known: &[Undefined]) -> DeviceError {
        DeviceError::Undefined {
            target: self.target.to_string(),
            symbols: with_users(symbols, known),
        }
    }

    /// The kernels of all that nvlink joins.
    fn kernels(&self, cubins: &[PathBuf]) -> Result<BTreeSet<String>, DeviceError> {
        let mut kernels = BTreeSet::new();
        for cubin in cubins {
            let data = self.files.read(cubin)?;
            let name = cubin.display().to_string();
            kernels.extend(image::kernels(&data).map_err(|source| self.unreadable(&name, source))?);
        }
        for object in &self.link.objects {
            let own = image::kernels(&object.data);
            kernels.extend(own.map_err(|source| self.unreadable(&object.source, source))?);
        }
        Ok(kernels)
    }

    fn unreadable(&self, origin: &str, source: image::Error) -> DeviceError {
        DeviceError::Object {
            target: self.target.to_string(),
            origin: origin.into(),
            source,
        }
    }

    /// Joins cubins made here with the relocatable ones of the link.
    fn join(&self, mut cubins: Vec<PathBuf>, known: &[Undefined]) -> Result<Bytes, DeviceError> {
        let nvlink = self.context.toolchain.nvlink()?;
        let kernels = self.kernels(&cubins)?;
        for (number, object) in self.link.objects.iter().enumerate() {
            let declared = image::declare_kernels(&object.data, &kernels)
                .map_err(|source| self.unreadable(&object.source, source))?;
            cubins.push(
                self.files
                    .write(&format!("{number}.object.cubin"), &declared)?,
            );
        }
        let output = self.files.path("linked.cubin");
        let mut arguments = nvlink::arguments(self.arch, &cubins, &output);
        arguments.extend(self.link.options.linker_arguments.iter().cloned());
        nvlink
            .run(&arguments, &self.target.to_string())
            .map_err(|error| match nvlink::undefined_symbols(error.stderr()) {
                symbols if symbols.is_empty() => error.into(),
                symbols => self.undefined(symbols, known),
            })?;
        self.files.read(&output)
    }
}
