//! Finding what `-l` names, as the host linker will.

use crate::request::LinkLine;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

/// Where GNU ld and lld look on x86-64 Linux after the `-L` directories
/// (`ld --verbose | grep SEARCH_DIR` on Debian 12, less those that don't exist
/// anywhere today).
const DEFAULT_DIRS: &[&str] = &[
    "/usr/local/lib/x86_64-linux-gnu",
    "/lib/x86_64-linux-gnu",
    "/usr/lib/x86_64-linux-gnu",
    "/usr/local/lib64",
    "/lib64",
    "/usr/lib64",
    "/usr/local/lib",
    "/lib",
    "/usr/lib",
];

/// The file that `-l<name>` means: in each directory the shared library goes
/// before the static one, unless `-Bstatic` holds; `:file` is a file name.
pub fn find(name: &OsStr, prefer_static: bool, line: &LinkLine) -> Option<PathBuf> {
    let candidates: Vec<OsString> = match crate::options::strip_prefix(name, ":") {
        Some(file) => vec![file.to_owned()],
        None if prefer_static => vec![file_name(name, ".a")],
        None => vec![file_name(name, ".so"), file_name(name, ".a")],
    };
    search_dirs(line)
        .flat_map(|dir| candidates.iter().map(move |file| dir.join(file)))
        .find(|path| path.is_file())
}

/// The file that a linker script means: beside the script, in the working
/// directory, then where libraries are. One with an absolute path is below the
/// sysroot if the script is (GNU ld manual, "Commands Dealing with Files").
pub fn find_for_script(file: &Path, script: &Path, line: &LinkLine) -> Option<PathBuf> {
    let sysroot = line.sysroot.as_deref();
    if file.is_absolute() {
        let root = sysroot.filter(|root| script.starts_with(root));
        let path = root.map_or_else(|| file.into(), |root| below(root, file));
        return path.is_file().then_some(path);
    }
    let path = below_sysroot(file, sysroot);
    [script.with_file_name(&path), path]
        .into_iter()
        .chain(search_dirs(line).map(|dir| dir.join(file)))
        .find(|path| path.is_file())
}

/// The directories of the line, then the linker's own.
fn search_dirs(line: &LinkLine) -> impl Iterator<Item = PathBuf> {
    let sysroot = line.sysroot.as_deref();
    let named = line
        .search_dirs
        .iter()
        .map(move |dir| below_sysroot(dir, sysroot));
    let defaults = DEFAULT_DIRS.iter().map(move |dir| match sysroot {
        Some(root) => below(root, Path::new(dir)),
        None => PathBuf::from(dir),
    });
    named.chain(defaults)
}

fn file_name(library: &OsStr, extension: &str) -> OsString {
    let mut file = OsString::from("lib");
    file.push(library);
    file.push(extension);
    file
}

/// `=dir` and `$SYSROOTdir` are below the sysroot.
fn below_sysroot(path: &Path, sysroot: Option<&Path>) -> PathBuf {
    let name = path.as_os_str();
    let rest = crate::options::strip_prefix(name, "=")
        .or_else(|| crate::options::strip_prefix(name, "$SYSROOT"));
    match (rest, sysroot) {
        (Some(rest), Some(root)) => below(root, Path::new(rest)),
        (Some(rest), None) => rest.into(),
        (None, _) => path.into(),
    }
}

fn below(root: &Path, path: &Path) -> PathBuf {
    root.join(path.strip_prefix("/").unwrap_or(path))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shared_before_static_unless_told() {
        let dir = tempfile::tempdir().unwrap();
        let at = |name: &str| dir.path().join(name);
        std::fs::write(at("libx.so"), "").unwrap();
        std::fs::write(at("libx.a"), "").unwrap();
        let line = LinkLine {
            search_dirs: vec![dir.path().into()],
            ..LinkLine::default()
        };
        assert_eq!(find("x".as_ref(), false, &line), Some(at("libx.so")));
        assert_eq!(find("x".as_ref(), true, &line), Some(at("libx.a")));
        assert_eq!(find(":libx.a".as_ref(), false, &line), Some(at("libx.a")));
        assert_eq!(
            find("offlink-has-no-such-library".as_ref(), false, &line),
            None
        );
    }

    #[test]
    fn sysroot() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::create_dir(dir.path().join("deep")).unwrap();
        let library = dir.path().join("deep/liby.a");
        std::fs::write(&library, "").unwrap();
        let line = LinkLine {
            search_dirs: vec!["=/deep".into()],
            sysroot: Some(dir.path().into()),
            ..LinkLine::default()
        };
        assert_eq!(find("y".as_ref(), false, &line), Some(library));
    }
}
