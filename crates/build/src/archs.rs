//! The architectures that kernels are for.

use crate::Error;
use std::collections::BTreeMap;
use std::env;

/// Stands for the CPU that the package is built for, among the architectures of
/// kernels: where there is no GPU, LLVM's offload runtime runs those.
pub const HOST: &str = "host";

/// One target of a device link.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Target {
    /// The device triple.
    pub triple: String,
    /// The arch or target ID; `generic` for CPUs.
    pub arch: String,
}

impl Target {
    fn parse(arch: &str, host: &str) -> Result<Self, Error> {
        let triple = match arch {
            HOST => host,
            _ if arch.starts_with("sm_") => "nvptx64-nvidia-cuda",
            _ if arch.starts_with("gfx") => "amdgcn-amd-amdhsa",
            _ => return Err(Error::Arch(arch.into())),
        };
        Ok(Self {
            triple: triple.into(),
            arch: if arch == HOST { "generic" } else { arch }.into(),
        })
    }

    /// Whether it is an NVIDIA GPU.
    pub fn is_nvidia(&self) -> bool {
        self.triple.starts_with("nvptx")
    }

    /// Whether it is a GPU of either vendor.
    pub fn is_gpu(&self) -> bool {
        self.arch != "generic"
    }

    /// The processor, without the settings of a target ID.
    pub fn processor(&self) -> &str {
        self.arch.split(':').next().unwrap_or_default()
    }

    /// A file name for the image.
    pub fn image_name(&self, is_ptx: bool) -> String {
        let ending = match (is_ptx, self.is_nvidia(), self.is_gpu()) {
            (true, ..) => "ptx",
            (_, true, _) => "cubin",
            (_, _, true) => "hsaco",
            _ => "so",
        };
        format!("{}.{ending}", self.arch.replace(':', "-"))
    }
}

/// The targets of each triple, in the order of `archs` and without doubles. If
/// `OFFLINK_ARCHS` names GPUs, those take the place of the list's own of the
/// same vendors.
///
/// # Errors
/// [`Error::Arch`] for a text that names no device.
pub fn by_triple(archs: &[String], host: &str) -> Result<Vec<Vec<Target>>, Error> {
    println!("cargo::rerun-if-env-changed=OFFLINK_ARCHS");
    let chosen = env::var("OFFLINK_ARCHS").unwrap_or_default();
    grouped(archs, host, &chosen)
}

fn grouped(archs: &[String], host: &str, chosen: &str) -> Result<Vec<Vec<Target>>, Error> {
    let mut triples: BTreeMap<String, Vec<Target>> = BTreeMap::new();
    for arch in archs {
        let target = Target::parse(arch, host)?;
        triples
            .entry(target.triple.clone())
            .or_default()
            .push(target);
    }
    let chosen = chosen
        .split(',')
        .map(str::trim)
        .filter(|arch| !arch.is_empty());
    let chosen: Vec<Target> = chosen
        .map(|arch| Target::parse(arch, host))
        .collect::<Result<_, _>>()?;
    if !chosen.is_empty() {
        for (triple, targets) in &mut triples {
            if targets.iter().all(Target::is_gpu) {
                let others = chosen.iter().filter(|other| other.triple == *triple);
                *targets = others.cloned().collect();
            }
        }
    }
    let without_doubles = triples.into_values().map(|mut targets| {
        targets.sort_by(|a, b| a.arch.cmp(&b.arch));
        targets.dedup();
        targets
    });
    Ok(without_doubles
        .filter(|targets| !targets.is_empty())
        .collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    const X86: &str = "x86_64-unknown-linux-gnu";

    fn archs(list: &[&str], chosen: &str) -> String {
        let list: Vec<String> = list.iter().map(|&arch| arch.to_owned()).collect();
        let names = |targets: &Vec<Target>| {
            let archs: Vec<&str> = targets.iter().map(|target| target.arch.as_str()).collect();
            format!("{} {}", targets[0].triple, archs.join(","))
        };
        match grouped(&list, X86, chosen) {
            Ok(triples) => triples.iter().map(names).collect::<Vec<_>>().join("; "),
            Err(error) => error.to_string(),
        }
    }

    #[test]
    fn archs_are_sorted_to_their_triples() {
        assert_eq!(
            archs(&["sm_90", "gfx90a:xnack+", "host", "sm_80", "sm_90"], ""),
            "amdgcn-amd-amdhsa gfx90a:xnack+; nvptx64-nvidia-cuda sm_80,sm_90; \
             x86_64-unknown-linux-gnu generic"
        );
        assert!(archs(&["fermi"], "").contains("'fermi' is no architecture"));
    }

    #[test]
    fn the_environment_chooses_among_the_vendors_of_the_list() {
        assert_eq!(
            archs(&["sm_90", "host"], "sm_75,gfx942"),
            "nvptx64-nvidia-cuda sm_75; x86_64-unknown-linux-gnu generic"
        );
        assert_eq!(archs(&["gfx90a"], "sm_75"), "");
    }
}
