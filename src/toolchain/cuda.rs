//! Directories that may hold NVIDIA's tools.

use super::search::{NAMED_CUDA, NotFound, Search};
use super::{subdirectories, variable};
use crate::process::Tool;
use std::path::{Path, PathBuf};

/// The tool `name`: the program `only`, or else the first in the directories of
/// CUDA installations (of `named` alone, if it is given) and in PATH.
///
/// # Errors
/// [`NotFound`] with all places that were looked at.
pub(super) fn tool(
    mut search: Search<'_>,
    name: &'static str,
    only: Option<&Path>,
    named: Option<&Path>,
) -> Result<Tool, NotFound> {
    if let Some(path) = only {
        return search.only(path);
    }
    for (dir, rule) in bin_dirs(named, search.is_hermetic()) {
        search.dir(&dir, &[name], rule);
        if search.has_found() {
            break;
        }
    }
    search.path_variable(&[name]);
    search.finish()
}

/// In order, with their rules: the installation that was named, CUDA_PATH and
/// CUDA_HOME, pip wheels, /usr/local/cuda. Wheels may be in many places, which are
/// looked into when the iterator gets there. A hermetic link has the first only.
pub(super) fn bin_dirs(
    named: Option<&Path>,
    hermetic: bool,
) -> Box<dyn Iterator<Item = (PathBuf, &'static str)>> {
    if let Some(cuda) = named {
        return Box::new(std::iter::once((cuda.join("bin"), NAMED_CUDA)));
    }
    if hermetic {
        return Box::new(std::iter::empty());
    }
    let by_variable = ["CUDA_PATH", "CUDA_HOME"]
        .into_iter()
        .filter_map(|name| Some((Path::new(&variable(name)?).join("bin"), name)));
    let wheels = std::iter::once_with(site_packages)
        .flatten()
        .flat_map(|site| wheel_bins(&site))
        .map(|dir| (dir, "a wheel of pip"));
    let usual = ("/usr/local/cuda/bin".into(), "/usr/local/cuda");
    Box::new(by_variable.chain(wheels).chain([usual]))
}

/// `nvidia/cu13/bin` (wheels since CUDA 13), newest first, and
/// `nvidia/cuda_nvcc/bin` (CUDA 12).
fn wheel_bins(site: &Path) -> Vec<PathBuf> {
    let nvidia = site.join("nvidia");
    let mut dirs = subdirectories(&nvidia, |name| name.starts_with("cu"));
    dirs.retain(|dir| dir.join("bin").is_dir());
    dirs.sort_by_key(|dir| std::cmp::Reverse(number_in(dir)));
    dirs.into_iter().map(|dir| dir.join("bin")).collect()
}

/// 13 in `cu13`; 0 where there is none.
fn number_in(dir: &Path) -> u32 {
    let name = dir.file_name().unwrap_or_default().to_string_lossy();
    name.trim_start_matches(|c: char| !c.is_ascii_digit())
        .parse()
        .unwrap_or(0)
}

/// Where pip installs to, without asking a Python: the active environment,
/// PYTHONPATH, the user's directory, the system's.
fn site_packages() -> Vec<PathBuf> {
    let mut sites = Vec::new();
    for name in ["VIRTUAL_ENV", "CONDA_PREFIX"] {
        if let Some(prefix) = variable(name) {
            sites.extend(sites_below(&Path::new(&prefix).join("lib")));
        }
    }
    if let Some(path) = variable("PYTHONPATH") {
        sites.extend(std::env::split_paths(&path));
    }
    if let Some(home) = variable("HOME") {
        let home = Path::new(&home);
        sites.extend(sites_below(&home.join(".local/lib")));
        for version in subdirectories(&home.join(".pyenv/versions"), |_| true) {
            sites.extend(sites_below(&version.join("lib")));
        }
    }
    for lib in ["/usr/local/lib", "/usr/lib"] {
        sites.extend(sites_below(Path::new(lib)));
    }
    sites
}

/// `python3.11/site-packages`, `python3/dist-packages` …, the newest first.
fn sites_below(lib: &Path) -> Vec<PathBuf> {
    let mut pythons = subdirectories(lib, |name| name.starts_with("python3"));
    pythons.reverse();
    pythons
        .iter()
        .flat_map(|python| ["site-packages", "dist-packages"].map(|site| python.join(site)))
        .filter(|site| site.is_dir())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wheels_newest_first() {
        let site = tempfile::tempdir().unwrap();
        for dir in ["cuda_nvcc/bin", "cu9/bin", "cu13/bin", "curand/lib"] {
            std::fs::create_dir_all(site.path().join("nvidia").join(dir)).unwrap();
        }
        let bins: Vec<String> = wheel_bins(site.path())
            .iter()
            .map(|dir| dir.strip_prefix(site.path()).unwrap().display().to_string())
            .collect();
        assert_eq!(
            bins,
            ["nvidia/cu13/bin", "nvidia/cu9/bin", "nvidia/cuda_nvcc/bin"]
        );
    }
}
