//! The devices that the offload runtimes can see on this machine.

use crate::loader::{Dynamic, Loader};
use crate::pipeline::host::{DEFAULT_HOST, Host};
use crate::toolchain::{Toolchain, subdirectories};
use offlink_bundle::offload_binary::OffloadKind;
use offlink_hsaco::fit::processor_name;
use offlink_hsaco::{Processor, TargetId};
use offlink_ptx::fit::ComputeCapability;
use serde::{Serialize, Serializer};
use std::fmt;
use std::path::Path;

/// All devices, and what may keep a runtime from seeing them.
#[derive(Debug, Default, Serialize)]
pub struct Devices {
    /// GPUs first; this machine's CPU, which OpenMP can use as one, last.
    #[serde(rename = "devices")]
    pub found: Vec<Device>,
    /// What could not be found out, or hides a device.
    pub notes: Vec<String>,
}

/// One device.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Device {
    /// Its name for people.
    pub name: String,
    /// What it runs.
    pub target: DeviceTarget,
}

/// What decides which images a device runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DeviceTarget {
    /// A GPU of NVIDIA's.
    Nvidia(ComputeCapability),
    /// A GPU of AMD's, with the settings of its features.
    Amd(TargetId),
    /// A GPU of AMD's that offlink does not know, by its processor's name.
    OtherAmd(String),
    /// A GPU of Intel's, whose driver compiles SPIR-V.
    Intel,
    /// The CPU, by Rust's name for it: `x86_64`.
    Cpu(&'static str),
}

impl DeviceTarget {
    /// `nvidia`, `amd`, `intel` or `cpu`.
    pub fn vendor(&self) -> &'static str {
        match self {
            Self::Nvidia(_) => "nvidia",
            Self::Amd(_) | Self::OtherAmd(_) => "amd",
            Self::Intel => "intel",
            Self::Cpu(_) => "cpu",
        }
    }

    /// The triple and arch of an image that runs on it for certain.
    pub fn image_target(&self) -> (String, String) {
        match self {
            Self::Nvidia(capability) => (offlink_ptx::TRIPLE.into(), capability.arch()),
            Self::Amd(id) => (
                offlink_hsaco::TRIPLE.into(),
                id.processor().name().to_owned(),
            ),
            Self::OtherAmd(name) => (offlink_hsaco::TRIPLE.into(), name.clone()),
            Self::Intel => ("spirv64-intel".into(), "generic".into()),
            Self::Cpu(name) => (format!("{name}-unknown-linux-gnu"), "generic".into()),
        }
    }
}

impl fmt::Display for DeviceTarget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Nvidia(capability) => f.write_str(&capability.arch()),
            Self::Amd(id) => id.fmt(f),
            Self::OtherAmd(name) => f.write_str(name),
            Self::Intel => f.write_str("SPIR-V"),
            Self::Cpu(name) => f.write_str(name),
        }
    }
}

impl fmt::Display for Device {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({})", self.name, self.target)
    }
}

impl Serialize for Device {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        use serde::ser::SerializeStruct;
        let mut device = serializer.serialize_struct("Device", 3)?;
        device.serialize_field("name", &self.name)?;
        device.serialize_field("vendor", self.target.vendor())?;
        device.serialize_field("target", &self.target.to_string())?;
        device.end()
    }
}

impl Device {
    /// Whether the runtime of this kind looks for such devices.
    pub fn is_used_by(&self, kind: OffloadKind) -> bool {
        match kind {
            OffloadKind::Cuda => self.target.vendor() == "nvidia",
            OffloadKind::Hip => self.target.vendor() == "amd",
            OffloadKind::Sycl => self.target.vendor() == "intel",
            _ => true,
        }
    }
}

impl Devices {
    /// The devices of the machine whose /proc, /sys and /dev are below `root`.
    pub fn of_machine(root: &Path, toolchain: &Toolchain) -> Self {
        let mut devices = Self::default();
        devices.add_nvidia(root, toolchain);
        devices.add_amd(root);
        devices.add_intel(root);
        devices.found.push(Device {
            name: "this CPU".into(),
            target: DeviceTarget::Cpu(std::env::consts::ARCH),
        });
        for name in [
            "CUDA_VISIBLE_DEVICES",
            "ROCR_VISIBLE_DEVICES",
            "HIP_VISIBLE_DEVICES",
            "OMP_TARGET_OFFLOAD",
        ] {
            if let Some(value) = std::env::var_os(name) {
                let value = value.display();
                devices
                    .notes
                    .push(format!("{name}={value} is set and may hide devices"));
            }
        }
        devices
    }

    /// By nvidia-smi, which comes with the driver. The driver itself tells only
    /// how many GPUs there are.
    fn add_nvidia(&mut self, root: &Path, toolchain: &Toolchain) {
        let known = subdirectories(&root.join("proc/driver/nvidia/gpus"), |_| true).len();
        let tool = match toolchain.nvidia_smi() {
            Ok(tool) => tool,
            Err(error) => {
                if known > 0 {
                    let gpus = format!("the driver has {known} NVIDIA GPUs");
                    self.notes.push(format!("{gpus}, but {error}"));
                }
                return;
            }
        };
        let query = ["--query-gpu=compute_cap,name", "--format=csv,noheader"];
        match tool.run(&query.map(Into::into), "the list of GPUs") {
            Ok(printed) => self.found.extend(printed.lines().filter_map(nvidia)),
            Err(error) => self.notes.push(error.to_string()),
        }
        if !self.found.is_empty() {
            self.notes.extend(missing_drivers(root));
        }
    }

    /// By the topology that the kernel's driver shows to everyone.
    fn add_amd(&mut self, root: &Path) {
        let nodes = root.join("sys/class/kfd/kfd/topology/nodes");
        let gpus = subdirectories(&nodes, |_| true);
        let before = self.found.len();
        self.found.extend(gpus.iter().filter_map(|node| amd(node)));
        let kfd = root.join("dev/kfd");
        if self.found.len() > before
            && let Err(error) = std::fs::File::options().read(true).write(true).open(&kfd)
        {
            self.notes.push(format!(
                "'{}' can't be opened ({error}), so no runtime sees the AMD GPUs; is this user in \
                 group 'render'?",
                kfd.display()
            ));
        }
    }

    fn add_intel(&mut self, root: &Path) {
        const INTEL: &str = "0x8086";
        let nodes = root.join("sys/class/drm");
        for node in subdirectories(&nodes, |name| name.starts_with("renderD")) {
            let vendor = std::fs::read_to_string(node.join("device/vendor"));
            if vendor.is_ok_and(|vendor| vendor.trim() == INTEL) {
                self.found.push(Device {
                    name: "Intel GPU".into(),
                    target: DeviceTarget::Intel,
                });
            }
        }
    }
}

/// The names by which programs load NVIDIA's driver at run time, of those that
/// the loader does not find. libomptarget 22 asks for the first.
fn missing_drivers(root: &Path) -> impl Iterator<Item = String> {
    let paths = std::env::var_os("LD_LIBRARY_PATH");
    let loader = Loader::new(Host::of_triple(DEFAULT_HOST).platform, None);
    let user = root.join("program");
    [("libcuda.so", "OpenMP's"), ("libcuda.so.1", "CUDA's")]
        .into_iter()
        .filter(move |(name, _)| {
            let found = loader.resolve(name, &user, &Dynamic::default(), paths.as_ref());
            found.is_none()
        })
        .map(|(name, runtime)| {
            format!(
                "the loader does not find NVIDIA's driver as {name}, so {runtime} runtime sees no \
                 NVIDIA GPU; install the driver's libraries, or make that link to them"
            )
        })
}

/// One line of nvidia-smi's: `9.0, NVIDIA H200`.
fn nvidia(line: &str) -> Option<Device> {
    let (capability, name) = line.split_once(", ")?;
    Some(Device {
        name: name.trim().into(),
        target: DeviceTarget::Nvidia(ComputeCapability::parse(capability)?),
    })
}

/// A node of the topology, unless it is a CPU.
fn amd(node: &Path) -> Option<Device> {
    /// The memory of the shaders has ECC on (Linux, `kfd_sysfs.h`).
    const SRAM_ECC: u64 = 0x0400_0000;
    let properties = std::fs::read_to_string(node.join("properties")).ok()?;
    let value = |wanted: &str| {
        let mut pairs = properties.lines().filter_map(|line| line.split_once(' '));
        let value = pairs.find(|(name, _)| *name == wanted)?.1;
        value.trim().parse::<u64>().ok()
    };
    let version = u32::try_from(value("gfx_target_version")?).ok()?;
    let processor = processor_name(version)?;
    let sramecc = value("capability").unwrap_or(0) & SRAM_ECC != 0;
    Some(Device {
        name: "AMD GPU".into(),
        target: amd_target(&processor, sramecc),
    })
}

/// The target ID as ROCm's runtime has it: xnack is off unless HSA_XNACK says
/// otherwise.
fn amd_target(processor: &str, sramecc: bool) -> DeviceTarget {
    let Some(known) = Processor::find(processor) else {
        return DeviceTarget::OtherAmd(processor.into());
    };
    let xnack = std::env::var_os("HSA_XNACK").is_some_and(|value| value == "1");
    let mut id = processor.to_owned();
    for (has, name, on) in [
        (known.has_sramecc(), "sramecc", sramecc),
        (known.has_xnack(), "xnack", xnack),
    ] {
        if has {
            id += &format!(":{name}{}", if on { '+' } else { '-' });
        }
    }
    TargetId::parse(&id).map_or_else(
        |_| DeviceTarget::OtherAmd(processor.into()),
        DeviceTarget::Amd,
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_nvidia_smi() {
        let device = nvidia("9.0, NVIDIA H200").unwrap();
        assert_eq!(device.to_string(), "NVIDIA H200 (sm_90)");
        assert_eq!(nvidia("No devices were found"), None);
        assert_eq!(nvidia("[N/A], Tesla K80"), None);
    }

    #[test]
    fn nodes_of_the_topology() {
        let node = tempfile::tempdir().unwrap();
        let device = |properties: &str| {
            std::fs::write(node.path().join("properties"), properties).unwrap();
            amd(node.path()).map(|device| device.target.to_string())
        };
        assert_eq!(device("simd_count 0\ngfx_target_version 0\n"), None);
        assert_eq!(
            device("capability 742531712\ngfx_target_version 110000\n"),
            Some("gfx1100".into())
        );
        let mi200 = device("capability 67108864\ngfx_target_version 90010\n").unwrap();
        assert!(mi200.starts_with("gfx90a:sramecc+:xnack"), "{mi200}");
        assert_eq!(
            device("gfx_target_version 990000\n"),
            Some("gfx9900".into())
        );
    }
}
