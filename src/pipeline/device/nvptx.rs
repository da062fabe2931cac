//! NVIDIA images: bitcode → PTX → ptxas → cubin, and nvlink where objects join.

mod parts;

pub(super) use parts::may_split;

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

/// A cubin that ptxas made.
struct Cubin {
    file: PathBuf,
    /// What LLVM knows that the code uses and doesn't define.
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
                let compiled =
                    self.with_ptx_version(lowest.max(asked), |version| self.compile(version))?;
                Ok(compiled.code.into())
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
            let compiled = match self.compile_or_split()? {
                (offlink_llvm::Outcome::Whole(compiled), _) => compiled,
                (offlink_llvm::Outcome::Parts(parts), version) => {
                    return self.link_parts(&ptxas, &parts, version);
                }
            };
            let compile = |version| self.compile(version);
            let cubin = self.assemble_compiled(&ptxas, compiled, "", relocatable, compile)?;
            cubins.push(cubin.file);
            undefined = cubin.undefined;
        }
        cubins.extend(self.assemble_inputs(&ptxas, relocatable)?);
        match cubins.as_slice() {
            [only] if !relocatable => self.files.read(only),
            _ => self.join(cubins, &undefined),
        }
    }

    /// All bitcode as PTX, or in parts that can be; and the PTX version.
    fn compile_or_split(&self) -> Result<(offlink_llvm::Outcome, PtxVersion), DeviceError> {
        let split = self.split();
        self.with_ptx_version(self.arch.min_ptx(), |version| {
            let machine = self.machine(version);
            let emit = offlink_llvm::Emit::Assembly;
            let (target, link) = (self.target, self.link);
            let outcome =
                bitcode::compile_or_split(target, &machine, link, emit, split, self.context)?;
            Ok((outcome, version))
        })
    }

    /// What LLVM made of bitcode, as a cubin. The PTX version is that of `compiled`,
    /// or the one that ptxas then says the code needs.
    fn assemble_compiled(
        &self,
        ptxas: &Tool,
        mut compiled: Compiled,
        stem: &str,
        relocatable: bool,
        compile: impl Fn(PtxVersion) -> Result<Compiled, DeviceError>,
    ) -> Result<Cubin, DeviceError> {
        loop {
            let Compiled {
                code, undefined, ..
            } = compiled;
            let file = self.files.write(&format!("{stem}ptx"), &code)?;
            let used = text::version(&code);
            // ptxas takes its time, in which nobody needs the text.
            drop(code);
            let error = match self.assemble(ptxas, &file, &format!("{stem}cubin"), relocatable) {
                Ok(file) => return Ok(Cubin { file, undefined }),
                Err(error) => error,
            };
            match complaint(error.stderr()) {
                Some(Complaint::VersionTooOld { needed }) if Some(needed) > used => {
                    compiled = self.with_ptx_version(needed, &compile)?;
                }
                _ => return Err(self.explain(error, ptxas, used, &undefined)),
            }
        }
    }

    /// Compiles with this PTX version; with the one that the code asked for when it
    /// was compiled, if that is higher and LLVM gives up on this one.
    fn with_ptx_version<T>(
        &self,
        version: PtxVersion,
        compile: impl Fn(PtxVersion) -> Result<T, DeviceError>,
    ) -> Result<T, DeviceError> {
        let result = compile(version);
        if let Err(error) = &result
            && let Some(declared) = error.declared_ptx().map(PtxVersion::new)
            && declared > version
        {
            return compile(declared);
        }
        result
    }

    fn compile(&self, version: PtxVersion) -> Result<Compiled, DeviceError> {
        let machine = self.machine(version);
        let emit = offlink_llvm::Emit::Assembly;
        bitcode::compile(self.target, &machine, self.link, emit, self.context)
    }

    fn machine(&self, version: PtxVersion) -> Machine {
        Machine {
            cpu: self.arch.name(),
            features: version.feature(),
            first_llvm: self.arch.first_llvm(),
        }
    }

    /// The inputs that are PTX, as cubins.
    fn assemble_inputs(
        &self,
        ptxas: &Tool,
        relocatable: bool,
    ) -> Result<Vec<PathBuf>, DeviceError> {
        let numbered = self.link.ptx.iter().enumerate();
        numbered
            .map(|(number, ptx)| self.assemble_input(ptxas, ptx, number, relocatable))
            .collect()
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
