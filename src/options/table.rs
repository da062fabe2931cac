//! The table of offlink's own options: each with its value, its environment
//! variable, its line of help and its effect.

use super::{Choice, DeviceLib, Emit, OptionError, Options, Split, split_once};
use crate::toolchain::ToolchainFile;
use std::ffi::OsStr;
use std::path::PathBuf;

/// One option: its name, what its value stands for (`None` if it has none),
/// its environment variable, its line of help, and its effect.
pub(super) struct OwnOption {
    pub(super) name: &'static str,
    pub(super) hint: Option<&'static str>,
    pub(super) variable: Option<&'static str>,
    pub(super) help: &'static str,
    pub(super) apply: fn(&mut Options, &OsStr) -> Result<bool, OptionError>,
}

/// Stores a path that is not empty.
pub(super) fn path(slot: &mut Option<PathBuf>, value: &OsStr) -> Result<bool, OptionError> {
    *slot = Some(value.into());
    Ok(!value.is_empty())
}

/// Stores a path or `none`.
fn choice(slot: &mut Choice, value: &OsStr) -> Result<bool, OptionError> {
    *slot = if value == "none" {
        Choice::None
    } else {
        Choice::Named(value.into())
    };
    Ok(!value.is_empty())
}

pub(super) const TABLE: &[OwnOption] = &[
    OwnOption {
        name: "image",
        hint: Some("file=F[,triple=T,arch=A,kind=openmp]"),
        variable: None,
        help: "add device code to the link (an offload binary needs no triple); may be repeated",
        apply: |options, value| {
            options.images.push(value.to_string_lossy().parse()?);
            Ok(true)
        },
    },
    OwnOption {
        name: "device-lib",
        hint: Some("FILE"),
        variable: None,
        help: "a library of device code (archive or bitcode), such as libompdevice.a; may be repeated",
        apply: |options, value| {
            options.device_libs.push(DeviceLib::File(value.into()));
            Ok(!value.is_empty())
        },
    },
    OwnOption {
        name: "archs",
        hint: Some("ARCH,…"),
        variable: Some("OFFLINK_ARCHS"),
        help: "what rustc's device targets, and images without arch, are linked for",
        apply: |options, value| {
            options.archs = value.to_string_lossy().parse()?;
            Ok(!options.archs.is_empty())
        },
    },
    OwnOption {
        name: "emit",
        hint: Some("image|cubin|ptx|bc"),
        variable: Some("OFFLINK_EMIT"),
        help: "make images (for NVIDIA GPUs cubins), or PTX for those, or bitcode",
        apply: |options, value| {
            options.device.emit = match value.to_str() {
                Some("image" | "cubin") => Emit::Image,
                Some("ptx") => Emit::Ptx,
                Some("bc") => Emit::Bitcode,
                _ => return Ok(false),
            };
            options.emit_is_chosen = true;
            Ok(true)
        },
    },
    OwnOption {
        name: "opt-level",
        hint: Some("0|1|2|3"),
        variable: None,
        help: "optimisation of device code (default 3)",
        apply: |options, value| {
            let level = value
                .to_str()
                .and_then(|text| text.parse().ok())
                .filter(|l| *l <= 3);
            options.device.opt_level = level.unwrap_or(options.device.opt_level);
            Ok(level.is_some())
        },
    },
    OwnOption {
        name: "jobs",
        hint: Some("N"),
        variable: Some("OFFLINK_JOBS"),
        help: "the most device links, or parts of them, at a time (default: the number of cores)",
        apply: |options, value| {
            options.jobs = value.to_str().and_then(|text| text.parse().ok());
            Ok(options.jobs.is_some())
        },
    },
    OwnOption {
        name: "split",
        hint: Some("auto|never|always"),
        variable: Some("OFFLINK_SPLIT"),
        help: "compile big device links for NVIDIA in parts (auto), or none, or each kernel by \
               itself",
        apply: |options, value| {
            options.device.split = match value.to_str() {
                Some("auto") => Split::Auto,
                Some("never") => Split::Never,
                Some("always") => Split::Always,
                _ => return Ok(false),
            };
            Ok(true)
        },
    },
    OwnOption {
        name: "toolchain",
        hint: Some("FILE"),
        variable: Some("OFFLINK_TOOLCHAIN"),
        help: "the toolchain file, which names tools and device libraries (docs/HERMETIC.md)",
        apply: |options, value| {
            let file = ToolchainFile::read(value.as_ref())?;
            options.device.tools.file = Some(file.into());
            Ok(true)
        },
    },
    OwnOption {
        name: "memory",
        hint: Some("MIB"),
        variable: Some("OFFLINK_MEMORY"),
        help: "the memory for parts compiled at a time (default: most of what is available)",
        apply: |options, value| {
            options.memory = value.to_str().and_then(|text| text.parse().ok());
            Ok(options.memory.is_some())
        },
    },
    OwnOption {
        name: "hermetic",
        hint: None,
        variable: None,
        help: "use only what is named: no PATH, no usual places, a clean environment for tools",
        apply: |options, _| {
            options.device.tools.hermetic = true;
            Ok(true)
        },
    },
    OwnOption {
        name: "print-inputs",
        hint: None,
        variable: None,
        help: "print the files that the link would open instead of linking",
        apply: |options, _| {
            options.build_system.print_inputs = true;
            Ok(true)
        },
    },
    OwnOption {
        name: "depfile",
        hint: Some("FILE"),
        variable: None,
        help: "write there, for make or ninja, which files were opened (own steps: -MD -MF FILE)",
        apply: |options, value| path(&mut options.build_system.depfile, value),
    },
    OwnOption {
        name: "unused-inputs-list",
        hint: Some("FILE"),
        variable: None,
        help: "write there which named tools and device libraries were not opened",
        apply: |options, value| path(&mut options.build_system.unused_inputs, value),
    },
    OwnOption {
        name: "path-prefix-map",
        hint: Some("OLD=NEW"),
        variable: None,
        help: "in lists of files, write NEW where a path starts with OLD; may be repeated",
        apply: |options, value| {
            let (old, new) = split_once(value, b'=');
            let (Some(new), false) = (new, old.is_empty()) else {
                return Ok(false);
            };
            let map = &mut options.build_system.prefix_map;
            map.push((old.into(), new.into()));
            Ok(true)
        },
    },
    OwnOption {
        name: "forbid-bytes",
        hint: Some("TEXT"),
        variable: None,
        help: "fail if an output holds TEXT, such as the root of the build; may be repeated",
        apply: |options, value| {
            options.build_system.forbidden.push(value.into());
            Ok(!value.is_empty())
        },
    },
    OwnOption {
        name: "verify-deterministic",
        hint: None,
        variable: None,
        help: "run the tools of device links twice, and fail if the images differ",
        apply: |options, _| {
            options.verify_deterministic = true;
            Ok(true)
        },
    },
    OwnOption {
        name: "llvm",
        hint: Some("PATH"),
        variable: Some("OFFLINK_LLVM"),
        help: "the libLLVM to use",
        apply: |options, value| path(&mut options.device.tools.llvm, value),
    },
    OwnOption {
        name: "ptxas",
        hint: Some("PATH"),
        variable: Some("OFFLINK_PTXAS"),
        help: "the ptxas to use",
        apply: |options, value| path(&mut options.device.tools.ptxas, value),
    },
    OwnOption {
        name: "nvlink",
        hint: Some("PATH"),
        variable: Some("OFFLINK_NVLINK"),
        help: "the nvlink to use",
        apply: |options, value| path(&mut options.device.tools.nvlink, value),
    },
    OwnOption {
        name: "lld",
        hint: Some("PATH"),
        variable: Some("OFFLINK_LLD"),
        help: "the lld to use for AMD images (ld.lld or rust-lld)",
        apply: |options, value| path(&mut options.device.tools.lld, value),
    },
    OwnOption {
        name: "spirv-link",
        hint: Some("PATH"),
        variable: Some("OFFLINK_SPIRV_LINK"),
        help: "the spirv-link to use where SPIR-V modules join",
        apply: |options, value| path(&mut options.device.tools.spirv_link, value),
    },
    OwnOption {
        name: "libdevice",
        hint: Some("PATH"),
        variable: Some("OFFLINK_LIBDEVICE"),
        help: "the libdevice (libdevice.10.bc) to use for NVIDIA targets",
        apply: |options, value| path(&mut options.device.tools.libdevice, value),
    },
    OwnOption {
        name: "rocm-device-libs",
        hint: Some("DIR"),
        variable: Some("OFFLINK_ROCM_DEVICE_LIBS"),
        help: "the folder of ROCm's device libraries (ocml.bc ...) to use for AMD targets",
        apply: |options, value| path(&mut options.device.tools.rocm_device_libs, value),
    },
    OwnOption {
        name: "host-linker",
        hint: Some("PATH"),
        variable: Some("OFFLINK_HOST_LINKER"),
        help: "the linker or compiler driver that makes the program",
        apply: |options, value| path(&mut options.device.tools.host_linker, value),
    },
    OwnOption {
        name: "omptarget",
        hint: Some("FILE|none"),
        variable: Some("OFFLINK_OMPTARGET"),
        help: "the libomptarget to link where a line with OpenMP images names none",
        apply: |options, value| choice(&mut options.omptarget, value),
    },
    OwnOption {
        name: "rpath",
        hint: Some("DIR|none"),
        variable: None,
        help: "where the program looks for libomptarget, if not where the loader does",
        apply: |options, value| choice(&mut options.rpath, value),
    },
    OwnOption {
        name: "cc",
        hint: Some("PATH"),
        variable: Some("OFFLINK_CC"),
        help: "the compiler driver for hosts other than x86-64 Linux",
        apply: |options, value| path(&mut options.device.tools.cc, value),
    },
    OwnOption {
        name: "host-triple",
        hint: Some("TRIPLE"),
        variable: None,
        help: "the host (default: that of the first object)",
        apply: |options, value| {
            options.host_triple = value.to_str().map(str::to_owned);
            Ok(!value.is_empty() && options.host_triple.is_some())
        },
    },
    OwnOption {
        name: "compress",
        hint: None,
        variable: None,
        help: "compress the images in fatbins and HIP bundles",
        apply: |options, _| {
            (options.compress.cuda, options.compress.hip) = (true, true);
            Ok(true)
        },
    },
    OwnOption {
        name: "spirv-runtime",
        hint: Some("22|24"),
        variable: None,
        help: "the LLVM whose runtimes load SPIR-V images (default 22)",
        apply: |options, value| {
            let runtime = value.to_str().and_then(|text| text.parse().ok());
            options.spirv_runtime = runtime.unwrap_or_default();
            Ok(runtime.is_some())
        },
    },
    OwnOption {
        name: "embed-ptx",
        hint: None,
        variable: None,
        help: "keep PTX of the newest NVIDIA architecture beside CUDA's cubins",
        apply: |options, _| {
            options.embed_ptx = true;
            Ok(true)
        },
    },
    OwnOption {
        name: "cache-dir",
        hint: Some("DIR|none"),
        variable: Some("OFFLINK_CACHE_DIR"),
        help: "where to keep images for later links (default: under cargo in its target directory)",
        apply: |options, value| choice(&mut options.cache_dir, value),
    },
    OwnOption {
        name: "explain-cache",
        hint: None,
        variable: None,
        help: "say of each image whether the cache had it, and if not, why",
        apply: |options, _| {
            options.explain_cache = true;
            Ok(true)
        },
    },
    OwnOption {
        name: "save-temps",
        hint: Some("DIR"),
        variable: None,
        help: "keep what is made on the way there",
        apply: |options, value| path(&mut options.save_temps, value),
    },
    OwnOption {
        name: "dry-run",
        hint: None,
        variable: None,
        help: "print the steps of the link instead of running them",
        apply: |options, _| {
            options.dry_run = true;
            Ok(true)
        },
    },
    OwnOption {
        name: "time",
        hint: None,
        variable: None,
        help: "print how long each phase and each device link took, their CPU time and memory",
        apply: |options, _| {
            options.time = true;
            Ok(true)
        },
    },
    OwnOption {
        name: "time-trace",
        hint: Some("FILE"),
        variable: None,
        help: "write the same there, for Chrome's trace viewer (chrome://tracing)",
        apply: |options, value| path(&mut options.time_trace, value),
    },
    OwnOption {
        name: "verbose",
        hint: None,
        variable: None,
        help: "show details of errors",
        apply: |options, _| {
            options.verbose = true;
            Ok(true)
        },
    },
];
