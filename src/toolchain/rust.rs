//! Rust toolchains, which bring a libLLVM and an lld.

use super::{subdirectories, variable};
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

/// A Rust toolchain.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sysroot {
    /// Its directory.
    pub path: PathBuf,
    /// Why it is looked into.
    pub rule: &'static str,
}

/// Sysroots, the most fitting first: the one that the line is from, the one
/// that rustc put into LD_LIBRARY_PATH, the one that rustup would use, then
/// rustup's others.
pub(super) fn sysroots(arguments: &[OsString]) -> Vec<Sysroot> {
    let mut found: Vec<Sysroot> = Vec::new();
    let mut add = |path: PathBuf, rule| {
        let is_known = found.iter().any(|sysroot| sysroot.path == path);
        if path.join("lib/rustlib").is_dir() && !is_known {
            found.push(Sysroot { path, rule });
        }
    };
    arguments
        .iter()
        .filter_map(|argument| sysroot_in(argument))
        .for_each(|path| add(path, "the line's"));
    if let Some(path) = variable("LD_LIBRARY_PATH") {
        std::env::split_paths(&path)
            .filter(|dir| dir.ends_with("lib"))
            .filter_map(|dir| dir.parent().map(Path::to_owned))
            .for_each(|path| add(path, "LD_LIBRARY_PATH"));
    }
    if let Some(rustup) = rustup_home() {
        let toolchains = rustup.join("toolchains");
        if let Some(chosen) = variable("RUSTUP_TOOLCHAIN") {
            add(toolchains.join(chosen), "RUSTUP_TOOLCHAIN");
        } else if let Some(chosen) = default_toolchain(&rustup.join("settings.toml")) {
            add(toolchains.join(chosen), "rustup's default");
        }
        subdirectories(&toolchains, |_| true)
            .into_iter()
            .for_each(|path| add(path, "one of rustup's"));
    }
    found
}

/// rustc's line holds paths below its sysroot: `-B<sysroot>/lib/rustlib/…`,
/// `<sysroot>/lib/rustlib/…/libstd-….rlib`.
fn sysroot_in(argument: &OsStr) -> Option<PathBuf> {
    let text = argument.to_str()?;
    let (path, _) = text.split_once("/lib/rustlib/")?;
    Some(
        path.trim_start_matches("-B")
            .trim_start_matches("-L")
            .into(),
    )
}

fn rustup_home() -> Option<PathBuf> {
    let home = || variable("HOME").map(|home| Path::new(&home).join(".rustup"));
    variable("RUSTUP_HOME").map(PathBuf::from).or_else(home)
}

/// The value of `default_toolchain` in rustup's settings.
fn default_toolchain(settings: &Path) -> Option<OsString> {
    let text = std::fs::read_to_string(settings).ok()?;
    let value = text
        .lines()
        .find_map(|line| line.strip_prefix("default_toolchain = "))?;
    Some(value.trim().trim_matches('"').into())
}

/// Where a sysroot keeps the host's `rust-lld`.
pub(super) fn host_bin(sysroot: &Path) -> PathBuf {
    let rustlib = sysroot.join("lib/rustlib");
    subdirectories(&rustlib, |_| true)
        .into_iter()
        .map(|target| target.join("bin"))
        .find(|bin| bin.join("rust-lld").is_file())
        .unwrap_or_else(|| rustlib.join("bin"))
}

/// Where a sysroot keeps the libraries of its targets, the host among them.
pub(super) fn target_libs(sysroot: &Path) -> Vec<PathBuf> {
    let targets = subdirectories(&sysroot.join("lib/rustlib"), |_| true);
    targets.into_iter().map(|dir| dir.join("lib")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_tells_its_sysroot() {
        let sysroot = |text: &str| sysroot_in(OsStr::new(text));
        let expected = Some(PathBuf::from("/r/toolchains/stable"));
        assert_eq!(
            sysroot("-B/r/toolchains/stable/lib/rustlib/x/bin/gcc-ld"),
            expected
        );
        assert_eq!(
            sysroot("/r/toolchains/stable/lib/rustlib/x/lib/libstd-1.rlib"),
            expected
        );
        assert_eq!(sysroot("-lstd"), None);
    }

    #[test]
    fn the_default_toolchain_is_read() {
        let dir = tempfile::tempdir().unwrap();
        let settings = dir.path().join("settings.toml");
        std::fs::write(
            &settings,
            "version = \"12\"\ndefault_toolchain = \"stable-x\"\n",
        )
        .unwrap();
        assert_eq!(default_toolchain(&settings), Some("stable-x".into()));
    }
}
