//! Everything that can end offlink, and how the process ends then.

use crate::build_system::BuildSystemError;
use crate::cache::upkeep::UpkeepError;
use crate::cli::{PeerError, UsageError};
use crate::mapped_file::ReadError;
use crate::output_file::OutputError;
use crate::pipeline::bundle::BundleError;
use crate::pipeline::determinism::Differs;
use crate::pipeline::device::DeviceError;
use crate::pipeline::device_product::ProductError;
use crate::pipeline::device_target::DeviceTargetError;
use crate::pipeline::extract::NotAsExpected;
use crate::pipeline::group::GroupError;
use crate::pipeline::host::{NoDryRun, OtherHost};
use crate::pipeline::host_link::HostLinkError;
use crate::pipeline::mach_o_copies::CopyError;
use crate::pipeline::openmp_runtime::TooOld;
use crate::pipeline::override_image::OverrideError;
use crate::pipeline::plan::PlanError;
use crate::pipeline::register::RegisterError;
use crate::pipeline::scan::ScanError;
use crate::pipeline::seal::SealError;
use crate::pipeline::select::SelectError;
use crate::pipeline::verify::VerifyError;
use crate::pipeline::work_dir::WorkDirError;
use crate::target::TargetError;
use crate::toolchain::NotFound;
use crate::toolchain::omptarget::OmptargetError;
use offlink_llvm::AssembleError;
use std::path::PathBuf;
use thiserror::Error as ThisError;

/// Why offlink failed. Each message is one line that says what is wrong, where,
/// and what to do.
#[derive(Debug, ThisError)]
pub enum Error {
    /// The command line makes no sense.
    #[error(transparent)]
    Usage(#[from] UsageError),
    /// A peer's line can't be carried out.
    #[error(transparent)]
    Peer(#[from] PeerError),
    /// A target makes no sense.
    #[error(transparent)]
    Target(#[from] TargetError),
    /// An input can't be read.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// An output can't be written.
    #[error(transparent)]
    Output(#[from] OutputError),
    /// There is no place for temporary files.
    #[error(transparent)]
    WorkDir(#[from] WorkDirError),
    /// An input can't be understood.
    #[error(transparent)]
    Scan(#[from] ScanError),
    /// What takes part in the link can't be found out.
    #[error(transparent)]
    Select(#[from] SelectError),
    /// The OpenMP runtime does not read the program's entries.
    #[error(transparent)]
    OpenMpRuntime(#[from] TooOld),
    /// Device code can't be assigned to a target.
    #[error(transparent)]
    Group(#[from] GroupError),
    /// Device code can't be linked for its target.
    #[error(transparent)]
    Plan(#[from] PlanError),
    /// A finished image can't be taken.
    #[error(transparent)]
    Override(#[from] OverrideError),
    /// The images can't be written in place of a program.
    #[error(transparent)]
    Product(#[from] ProductError),
    /// A device target's line can't be carried out.
    #[error(transparent)]
    DeviceTarget(#[from] DeviceTargetError),
    /// A device link failed.
    #[error(transparent)]
    Device(#[from] DeviceError),
    /// Textual IR is none.
    #[error(transparent)]
    Assemble(#[from] AssembleError),
    /// The registration object can't be made.
    #[error(transparent)]
    Register(#[from] RegisterError),
    /// A tool is nowhere.
    #[error(transparent)]
    NotFound(#[from] NotFound),
    /// There is no library to register OpenMP's images with.
    #[error(transparent)]
    Omptarget(#[from] OmptargetError),
    /// An object is not for the host of the link.
    #[error(transparent)]
    OtherHost(#[from] OtherHost),
    /// The link can't be shown as commands.
    #[error(transparent)]
    NoDryRun(#[from] NoDryRun),
    /// The host linker can't be given the entries.
    #[error(transparent)]
    Copy(#[from] CopyError),
    /// The host linker can't be run.
    #[error(transparent)]
    HostLink(#[from] HostLinkError),
    /// The output would not work.
    #[error(transparent)]
    Verify(#[from] VerifyError),
    /// The output of a relocatable link can't be sealed.
    #[error(transparent)]
    Seal(#[from] SealError),
    /// Extracted device code is for other targets than those expected.
    #[error(transparent)]
    NotAsExpected(#[from] NotAsExpected),
    /// The images of a device link are several where one is wanted.
    #[error(
        "{count} images come of the inputs for {target}, but '{}' can hold one; leave out inputs \
         that are images already",
        output.display()
    )]
    SeveralImages {
        /// How many.
        count: usize,
        /// The target.
        target: String,
        /// The output.
        output: PathBuf,
    },
    /// Images don't fit into their container.
    #[error(transparent)]
    Bundle(#[from] BundleError),
    /// The cache can't be looked after.
    #[error(transparent)]
    Upkeep(#[from] UpkeepError),
    /// A device link is not deterministic.
    #[error(transparent)]
    Differs(#[from] Differs),
    /// The build system can't be given what it wants.
    #[error(transparent)]
    BuildSystem(#[from] BuildSystemError),
    /// stdout is closed.
    #[error("cannot write to standard output: {0}")]
    Print(std::io::Error),
}

impl Error {
    /// The exit code: 2 for a command line that makes no sense, 3 for a tool
    /// that was run and failed, 4 for a hermetic link that lacks a declaration, 1
    /// for everything else.
    pub fn exit_code(&self) -> u8 {
        match self {
            Self::NotFound(error) | Self::Register(RegisterError::NoCompiler(error))
                if error.is_undeclared() =>
            {
                4
            }
            Self::Omptarget(OmptargetError::Undeclared(_)) => 4,
            Self::BuildSystem(BuildSystemError::Forbidden { .. }) => 4,
            Self::BuildSystem(BuildSystemError::NoLink) => 2,
            Self::Device(DeviceError::Elsewhere(error)) => error.exit_code(),
            Self::Device(error) if error.is_undeclared() => 4,
            Self::Usage(_) | Self::Peer(_) | Self::Scan(ScanError::NoTriple(_)) => 2,
            Self::Device(error) if error.is_tool_failure() => 3,
            Self::Register(RegisterError::Compiler(_)) => 3,
            _ => 1,
        }
    }

    /// What the failed tool printed, for `-v`.
    pub fn details(&self) -> Option<&str> {
        match self {
            Self::Device(error) => error.details(),
            Self::Register(RegisterError::Compiler(error)) => Some(error.stderr()),
            _ => None,
        }
    }
}
