//! Device links that are compiled in parts: each part becomes a cubin by itself, and nvlink joins them.

use super::super::Context;
use super::super::cached;
use super::super::key::Stage;
use super::super::remarks::Remarks;
use super::{Cubin, DeviceError, Linker, bitcode};
use crate::cache::Made;
use crate::device_input::DeviceInput;
use crate::options::{self, Emit};
use crate::pipeline::plan::DeviceLink;
use crate::process::Tool;
use crate::target::{Device, Target};
use bytes::Bytes;
use offlink_bundle::image;
use offlink_bundle::offload_binary::OffloadKind;
use offlink_llvm::{Parts, Split, Undefined};
use offlink_ptx::PtxVersion;
use serde::{Deserialize, Serialize};
use std::cmp::Reverse;

/// The instructions of a part, before LLVM's optimiser: enough that the start of ptxas costs little, and little enough
/// that there is work for several cores, and little to do again when a kernel changes.
const PART: u64 = 2_500;

/// Whether the bitcode of a link may be split, if it is big and there is an nvlink.
pub(in super::super) fn may_split(target: &Target, link: &DeviceLink) -> bool {
    matches!(target.device(), Device::Nvptx(_))
        && !link.bitcode.is_empty()
        && link.options.emit == Emit::Image
        && link.options.split != options::Split::Never
}

impl Linker<'_> {
    /// How the bitcode may be split. Without nvlink it can't, and then a link that needs no nvlink doesn't fail for
    /// it.
    pub(super) fn split(&self) -> Split {
        match self.link.options.split {
            options::Split::Never => Split::Never,
            options::Split::Auto if self.context.toolchain.nvlink().is_err() => Split::Never,
            options::Split::Auto => Split::Parts(PART),
            options::Split::Always => Split::EachKernel,
        }
    }

    /// Makes a cubin of each part, beginning with this PTX version, and joins them in the parts' order, and the other
    /// inputs.
    ///
    /// # Errors
    /// [`DeviceError`], with what would help; [`DeviceError::LostKernels`] if not all kernels are in the image.
    pub(super) fn link_parts(
        &self,
        ptxas: &Tool,
        parts: &Parts,
        version: PtxVersion,
    ) -> Result<Bytes, DeviceError> {
        // The biggest first, so that none of them is left for the end, when other cores have nothing to do.
        let mut order: Vec<(usize, u64)> = parts.weights().iter().copied().enumerate().collect();
        order.sort_by_key(|(_, weight)| Reverse(*weight));
        let setting = self.context.setting;
        let made = offlink_jobs::map(&order, setting.options.jobs, |_, &(part, weight)| {
            let _share = setting.budget.share(weight);
            self.make_part(ptxas, parts, part, version)
        })?;
        let mut made: Vec<(usize, Cubin)> = order.iter().map(|(part, _)| *part).zip(made).collect();
        made.sort_by_key(|(part, _)| *part);
        let mut cubins = Vec::new();
        let mut undefined = Vec::new();
        for (_, cubin) in made {
            cubins.push(cubin.file);
            undefined.extend(cubin.undefined);
        }
        undefined.retain(|undefined| !parts.defines(&undefined.symbol));
        cubins.extend(self.assemble_inputs(ptxas, true)?);
        let image = self.join(cubins, &undefined)?;
        let found = image::kernels(&image).map_err(|source| self.unreadable("nvlink", source))?;
        let kernels = parts.kernels().iter();
        let lost: Vec<String> = kernels
            .filter(|name| !found.contains(*name))
            .cloned()
            .collect();
        if lost.is_empty() {
            return Ok(image);
        }
        Err(DeviceError::LostKernels {
            target: self.target.to_string(),
            kernels: lost,
        })
    }

    /// The cubin of a part: from the cache, or made of the part's bitcode.
    fn make_part(
        &self,
        ptxas: &Tool,
        parts: &Parts,
        part: usize,
        version: PtxVersion,
    ) -> Result<Cubin, DeviceError> {
        let remarks = Remarks::new(self.context.setting.options.verbose);
        let context = Context {
            remarks: &remarks,
            ..*self.context
        };
        let code = bitcode::cut_part(self.target, parts, part)?;
        let link = self.link_of_part(code.clone());
        let name = format!("{}, part {}", self.target, part + 1);
        let stem = format!("part{part}.");
        let stage = Stage::Part(version);
        let mut cubin = None;
        let made = cached::get_or_make_step(stage, &name, self.target, &link, &context, || {
            let compile = |version: PtxVersion| {
                let features = version.feature();
                bitcode::compile_part(self.target, parts, &code, &features, &remarks)
            };
            let compiled = self.with_ptx_version(version, compile)?;
            let made = self.assemble_compiled(ptxas, compiled, &stem, true, compile)?;
            let data = self.files.read(&made.file)?;
            let undefined = made.undefined.iter().map(Missing::of).collect();
            cubin = Some(made);
            Ok(Made {
                data,
                details: undefined,
            })
        })?;
        self.context.remarks.take_over(&remarks);
        if let Some(cubin) = cubin {
            return Ok(cubin);
        }
        let missing: Vec<Missing> = made.details;
        Ok(Cubin {
            file: self.files.write(&format!("{stem}cubin"), &made.data)?,
            undefined: missing.into_iter().map(Undefined::from).collect(),
        })
    }

    /// The link of a part alone, of which everything is in its bitcode.
    fn link_of_part(&self, bitcode: Bytes) -> DeviceLink {
        let input = DeviceInput {
            source: "the linked bitcode".into(),
            kind: OffloadKind::None,
            triple: self.target.triple().into(),
            arch: self.target.arch(),
            data: bitcode,
        };
        DeviceLink {
            bitcode: vec![input],
            ptx: Vec::new(),
            objects: Vec::new(),
            exports: Vec::new(),
            options: self.link.options.clone(),
        }
    }
}

/// [`Undefined`], to be kept.
#[derive(Debug, Serialize, Deserialize)]
struct Missing {
    symbol: String,
    used_by: String,
}

impl Missing {
    fn of(undefined: &Undefined) -> Self {
        Self {
            symbol: undefined.symbol.clone(),
            used_by: undefined.used_by.clone(),
        }
    }
}

impl From<Missing> for Undefined {
    fn from(Missing { symbol, used_by }: Missing) -> Self {
        Self { symbol, used_by }
    }
}
