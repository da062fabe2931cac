//! Finding the libraries that device code is linked with: NVIDIA's libdevice and
//! ROCm's.

use super::cuda;
use super::file::Key;
use super::search::{NAMED_ROCM, NotFound, Rules, Search};
use super::{subdirectories, variable};
use crate::options::ToolPaths;
use std::path::{Path, PathBuf};

/// Where device libraries may be. They are looked for when code needs one.
#[derive(Clone, Debug)]
pub struct DeviceLibraries {
    named: ToolPaths,
    rules: Rules,
}

impl DeviceLibraries {
    /// `named` holds what is declared.
    pub(super) fn new(named: &ToolPaths, rules: &Rules) -> Self {
        Self {
            named: named.clone(),
            rules: rules.clone(),
        }
    }

    /// `libdevice.10.bc`, which CUDA has had under this name since its release 9.
    ///
    /// # Errors
    /// [`NotFound`] with all places that were looked at.
    pub fn libdevice(&self) -> Result<PathBuf, NotFound> {
        let mut search = Search::new(
            "libdevice",
            Key::Libdevice,
            &self.rules,
            "name its libdevice.10.bc with --offlink-libdevice=PATH or OFFLINK_LIBDEVICE, or \
             install it with 'pip install nvidia-nvvm'",
        );
        if let Some(path) = &self.named.libdevice {
            return search.only_file(path).map(|found| found.path);
        }
        // First beside the ptxas in use, of which PATH may have a link.
        let cuda = self.named.cuda.as_deref();
        let ptxas = Search::new("ptxas", Key::Ptxas, &self.rules, "");
        let ptxas = cuda::tool(ptxas, "ptxas", self.named.ptxas.as_deref(), cuda)
            .ok()
            .and_then(|ptxas| ptxas.path.canonicalize().ok());
        let beside_ptxas = ptxas.as_deref().and_then(Path::parent);
        let bins = beside_ptxas
            .map(|bin| (bin.to_owned(), "beside ptxas"))
            .into_iter()
            .chain(cuda::bin_dirs(cuda, self.rules.hermetic));
        for (bin, rule) in bins {
            if let Some(root) = bin.parent() {
                search.file(&root.join("nvvm/libdevice"), "libdevice.10.bc", rule);
            }
            if search.has_found() {
                break;
            }
        }
        search.file(
            // Debian's package of CUDA.
            Path::new("/usr/lib/nvidia-cuda-toolkit/libdevice"),
            "libdevice.10.bc",
            "a usual place",
        );
        search.finish().map(|found| found.path)
    }

    /// The folder of ROCm's device libraries: `ocml.bc`, `ockl.bc`, `oclc_….bc`.
    ///
    /// # Errors
    /// [`NotFound`] with all places that were looked at.
    pub fn rocm(&self) -> Result<PathBuf, NotFound> {
        const FILE: &str = "ocml.bc";
        let mut search = Search::new(
            "ROCm's device libraries",
            Key::RocmDeviceLibs,
            &self.rules,
            "name their folder, which holds ocml.bc, with --offlink-rocm-device-libs=DIR or \
             OFFLINK_ROCM_DEVICE_LIBS, or install ROCm's rocm-device-libs",
        );
        if let Some(dir) = &self.named.rocm_device_libs {
            return search.only_file(&dir.join(FILE)).map(|_| dir.clone());
        }
        let rule = self
            .named
            .rocm
            .as_ref()
            .map_or("a usual place", |_| NAMED_ROCM);
        for dir in rocm_dirs(self.named.rocm.as_deref()) {
            search.file(&dir, FILE, rule);
        }
        let found = search.finish()?.path;
        Ok(found.parent().map_or_else(PathBuf::new, Path::to_owned))
    }
}

/// In order: the installation that was named, else ROCM_PATH, /opt/rocm, clang's
/// resource folders from the newest on, and the system's own packages.
fn rocm_dirs(named: Option<&Path>) -> Vec<PathBuf> {
    const BELOW: &str = "amdgcn/bitcode";
    if let Some(rocm) = named {
        return vec![rocm.join(BELOW)];
    }
    let mut dirs: Vec<PathBuf> = variable("ROCM_PATH")
        .into_iter()
        .map(|path| Path::new(&path).join(BELOW))
        .collect();
    dirs.push(Path::new("/opt/rocm").join(BELOW));
    let mut llvms = subdirectories(Path::new("/usr/lib"), |name| name.starts_with("llvm-"));
    llvms.reverse();
    for llvm in llvms {
        for resources in subdirectories(&llvm.join("lib/clang"), |_| true) {
            dirs.extend(["lib", ""].map(|lib| resources.join(lib).join(BELOW)));
        }
    }
    let multiarch = format!("/usr/lib/{}-linux-gnu", std::env::consts::ARCH);
    dirs.extend([&*multiarch, "/usr"].map(|root| Path::new(root).join(BELOW)));
    dirs
}
