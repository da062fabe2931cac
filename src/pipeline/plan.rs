//! What has to be done to link the device code: a value that can be printed,
//! carried elsewhere, or run here.

use super::group::{Group, REGISTERED};
use super::select::Entries;
use crate::device_input::DeviceInput;
use crate::options::{DeviceOptions, Emit, Options};
use crate::target::{Device, Target};
use offlink_bundle::image::ImageFormat;
use offlink_bundle::offload_binary::OffloadKind;
use thiserror::Error;

/// The device side of a link.
#[derive(Clone, Debug)]
pub struct Plan {
    /// One job for each image, by target.
    pub jobs: Vec<Job>,
}

/// How one image comes to be.
#[derive(Clone, Debug)]
pub struct Job {
    /// What the image is for.
    pub target: Target,
    /// Who launches its kernels, in ascending order.
    pub kinds: Vec<OffloadKind>,
    /// What is to be done.
    pub work: Work,
}

/// The work for one image.
#[derive(Clone, Debug)]
pub enum Work {
    /// The input is an image already.
    PassOn(DeviceInput),
    /// The inputs are linked.
    Link(Box<DeviceLink>),
}

/// One device link.
#[derive(Clone, Debug)]
pub struct DeviceLink {
    /// Bitcode, linked by LLVM.
    pub bitcode: Vec<DeviceInput>,
    /// PTX, assembled by ptxas.
    pub ptx: Vec<DeviceInput>,
    /// Relocatable objects and SPIR-V modules, linked by nvlink, lld, spirv-link
    /// or the host linker.
    pub objects: Vec<DeviceInput>,
    /// Symbols that the host looks up and the code itself doesn't show to be
    /// looked up: device variables; on CPUs functions too.
    pub exports: Vec<String>,
    /// How to go about it.
    pub options: DeviceOptions,
}

impl DeviceLink {
    /// Everything that is linked.
    pub fn inputs(&self) -> impl Iterator<Item = &DeviceInput> {
        self.bitcode.iter().chain(&self.ptx).chain(&self.objects)
    }

    fn kinds(&self) -> Vec<OffloadKind> {
        let is_used = |kind: &OffloadKind| self.inputs().any(|input| input.kind == *kind);
        REGISTERED.into_iter().filter(is_used).collect()
    }
}

/// The device code can't be linked as it is to be.
#[derive(Debug, Error)]
pub enum PlanError {
    /// The format of some code does not fit its target.
    #[error(
        "device code in '{origin}' for {target} is {found}, which can't be linked for that target"
    )]
    Format {
        /// Where the code is.
        origin: String,
        /// The target.
        target: String,
        /// What the code is.
        found: ImageFormat,
    },
    /// Bitcode is asked for, but the runtime of this kind does not compile it.
    #[error(
        "bitcode images are for OpenMP, but '{origin}' has device code of kind {kind}; leave out \
         --embed-bitcode or --offlink-emit=bc"
    )]
    BitcodeForKind {
        /// Where the code is.
        origin: String,
        /// The offload kind.
        kind: &'static str,
    },
    /// PTX is to be kept for newer GPUs, but there is none that they take.
    #[error(
        "--offlink-embed-ptx needs CUDA code for a plain architecture such as sm_90: PTX of \
         architectures with a suffix does not run on newer GPUs"
    )]
    NoPlainArch,
}

/// Makes one job of each group, and one of each input that is an image of its
/// own already.
///
/// # Errors
/// [`PlanError`] for code whose format does not fit its target, or when there
/// is no PTX to keep.
pub fn plan(groups: Vec<Group>, entries: &Entries, options: &Options) -> Result<Plan, PlanError> {
    let mut jobs = Vec::new();
    for group in groups {
        let exports = exports(&group.target, entries);
        let mut device = options.device_for(&group.target);
        if device.emit == Emit::Bitcode {
            device.emit = emit_where_bitcode_is_asked_for(&group)?;
        }
        jobs.extend(jobs_of(group, exports, &device)?);
    }
    if options.embed_ptx {
        let ptx = newest_as_ptx(&jobs).ok_or(PlanError::NoPlainArch)?;
        jobs.push(ptx);
    }
    Ok(Plan { jobs })
}

/// Runtimes of OpenMP compile bitcode for GPUs, but those of CPUs, CUDA and HIP
/// don't.
///
/// # Errors
/// [`PlanError::BitcodeForKind`] for code of CUDA or HIP.
fn emit_where_bitcode_is_asked_for(group: &Group) -> Result<Emit, PlanError> {
    if matches!(group.target.device(), Device::X86_64(_)) {
        return Ok(Emit::Image);
    }
    let other = group
        .inputs
        .iter()
        .find(|input| input.kind != OffloadKind::OpenMp);
    other.map_or(Ok(Emit::Bitcode), |input| {
        Err(PlanError::BitcodeForKind {
            origin: input.source.clone(),
            kind: input.kind.as_str(),
        })
    })
}

/// The jobs for one group: at most one link, and the images that are passed on
/// behind it.
///
/// # Errors
/// [`PlanError`] for code whose format does not fit the target.
pub fn jobs_of(
    group: Group,
    exports: Vec<String>,
    options: &DeviceOptions,
) -> Result<Vec<Job>, PlanError> {
    let target = group.target;
    let mut link = DeviceLink {
        bitcode: Vec::new(),
        ptx: Vec::new(),
        objects: Vec::new(),
        exports,
        options: options.clone(),
    };
    let mut finished = Vec::new();
    for input in group.inputs {
        let format = ImageFormat::detect(&input.data);
        match role(target.device(), format) {
            Some(Role::Bitcode) => link.bitcode.push(input),
            Some(Role::Ptx) => link.ptx.push(input),
            Some(Role::Object) => link.objects.push(input),
            Some(Role::Image) => {
                finished.push(Job {
                    target: target.clone(),
                    kinds: vec![input.kind],
                    work: Work::PassOn(input),
                });
            }
            None => {
                return Err(PlanError::Format {
                    origin: input.source,
                    target: target.to_string(),
                    found: format,
                });
            }
        }
    }
    let mut jobs = Vec::new();
    if link.inputs().next().is_some() {
        jobs.push(Job {
            target,
            kinds: link.kinds(),
            work: Work::Link(Box::new(link)),
        });
    }
    jobs.extend(finished);
    Ok(jobs)
}

/// The link for the newest NVIDIA architecture of CUDA code, made into PTX: a
/// driver can compile that for GPUs that came later.
fn newest_as_ptx(jobs: &[Job]) -> Option<Job> {
    let link_for_cuda = |job: &Job| match (job.target.device(), &job.work) {
        (Device::Nvptx(arch), Work::Link(link))
            if arch.is_plain() && job.kinds.contains(&OffloadKind::Cuda) =>
        {
            Some((arch.number(), job.target.clone(), link.clone()))
        }
        _ => None,
    };
    let newest = jobs
        .iter()
        .filter_map(link_for_cuda)
        .max_by_key(|(number, ..)| *number);
    let (_, target, mut link) = newest?;
    link.options.emit = Emit::Ptx;
    Some(Job {
        target,
        kinds: vec![OffloadKind::Cuda],
        work: Work::Link(link),
    })
}

enum Role {
    Bitcode,
    Ptx,
    Object,
    Image,
}

fn role(device: &Device, format: ImageFormat) -> Option<Role> {
    const EM_X86_64: u16 = goblin::elf::header::EM_X86_64;
    Some(match (device, format) {
        (_, ImageFormat::Bitcode) => Role::Bitcode,
        (Device::Nvptx(_), ImageFormat::Ptx) => Role::Ptx,
        (Device::Nvptx(_), ImageFormat::CubinRelocatable)
        | (Device::Amdgcn(_), ImageFormat::HsacoRelocatable)
        | (Device::X86_64(_), ImageFormat::ElfRelocatable(EM_X86_64))
        | (Device::SpirV, ImageFormat::SpirV) => Role::Object,
        (Device::Nvptx(_), ImageFormat::CubinFinal)
        | (Device::Amdgcn(_), ImageFormat::HsacoFinal)
        | (Device::X86_64(_), ImageFormat::ElfShared(EM_X86_64))
        | (Device::SpirV, ImageFormat::OneOmp) => Role::Image,
        _ => return None,
    })
}

/// Kernels of GPUs are known by their calling convention, so that only
/// variables need to be named; a CPU's kernels are functions like any other.
pub fn exports(target: &Target, entries: &Entries) -> Vec<String> {
    let is_cpu = matches!(target.device(), Device::X86_64(_));
    let mut names: Vec<String> = entries
        .entries
        .iter()
        .filter(|(_, entry)| is_cpu || entry.size != 0)
        .map(|(_, entry)| entry.name.clone())
        .filter(|name| !name.is_empty())
        .collect();
    names.sort_unstable();
    names.dedup();
    names
}
