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
    "/usr/local/lib",
    "/lib64",
    "/lib",
    "/usr/lib64",
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
    let sysroot = line.sysroot.as_deref();
    let named = line
        .search_dirs
        .iter()
        .map(|dir| below_sysroot(dir, sysroot));
    let defaults = DEFAULT_DIRS.iter().map(|dir| match sysroot {
        Some(root) => root.join(dir.trim_start_matches('/')),
        None => PathBuf::from(dir),
    });
    named
        .chain(defaults)
        .flat_map(|dir| candidates.iter().map(move |file| dir.join(file)))
        .find(|path| path.is_file())
}

fn file_name(library: &OsStr, extension: &str) -> OsString {
    let mut file = OsString::from("lib");
    file.push(library);
    file.push(extension);
    file
}

/// `-L=dir` is below the sysroot.
fn below_sysroot(dir: &Path, sysroot: Option<&Path>) -> PathBuf {
    match (crate::options::strip_prefix(dir.as_os_str(), "="), sysroot) {
        (Some(rest), Some(root)) => {
            root.join(Path::new(rest).strip_prefix("/").unwrap_or(rest.as_ref()))
        }
        _ => dir.into(),
    }
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
