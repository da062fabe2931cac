//! Finding what `-l` names, as the host linker will.

use crate::pipeline::host::Host;
use crate::request::LinkLine;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

/// The places where the linker looks for libraries.
#[derive(Debug)]
pub struct Libraries<'a> {
    line: &'a LinkLine,
    /// The linker's own, behind those of the line.
    default_dirs: Vec<PathBuf>,
    /// What the names of shared libraries, or of texts about them, end with.
    shared: &'static [&'static str],
}

impl<'a> Libraries<'a> {
    /// The places of a line that links for `host`. In a hermetic link those of this
    /// machine don't count, but those below a sysroot do.
    pub fn new(line: &'a LinkLine, host: &Host, hermetic: bool) -> Self {
        let default_dirs = if hermetic && line.sysroot.is_none() {
            Vec::new()
        } else {
            host.library_dirs()
        };
        Self {
            line,
            default_dirs,
            shared: if host.is_macos() {
                &[".tbd", ".dylib", ".so"]
            } else {
                &[".so"]
            },
        }
    }

    /// The file that `-l<name>` means: in each directory the shared library goes
    /// before the static one, unless `-Bstatic` holds; `:file` is a file name.
    pub fn find(&self, name: &OsStr, prefer_static: bool) -> Option<PathBuf> {
        let candidates: Vec<OsString> = match crate::options::strip_prefix(name, ":") {
            Some(file) => vec![file.to_owned()],
            None if prefer_static => vec![file_name(name, ".a")],
            None => {
                let endings = self.shared.iter().chain(&[".a"]);
                endings.map(|ending| file_name(name, ending)).collect()
            }
        };
        self.dirs()
            .flat_map(|dir| candidates.iter().map(move |file| dir.join(file)))
            .find(|path| path.is_file())
    }

    /// The file that a linker script means: beside the script, in the working
    /// directory, then where libraries are. One with an absolute path is below the
    /// sysroot if the script is (GNU ld manual, "Commands Dealing with Files").
    pub fn find_for_script(&self, file: &Path, script: &Path) -> Option<PathBuf> {
        let sysroot = self.line.sysroot.as_deref();
        if file.is_absolute() {
            let root = sysroot.filter(|root| script.starts_with(root));
            let path = root.map_or_else(|| file.into(), |root| below(root, file));
            return path.is_file().then_some(path);
        }
        let path = below_sysroot(file, sysroot);
        [script.with_file_name(&path), path]
            .into_iter()
            .chain(self.dirs().map(|dir| dir.join(file)))
            .find(|path| path.is_file())
    }

    /// The directories of the line, then the linker's own.
    fn dirs(&self) -> impl Iterator<Item = PathBuf> {
        let sysroot = self.line.sysroot.as_deref();
        let named = self.line.search_dirs.iter();
        // On macOS any directory can be below the sysroot, and is if it is there.
        let below_root = move |dir: &PathBuf| {
            let root = sysroot.filter(|_| self.line.is_for_macos && dir.is_absolute())?;
            Some(below(root, dir)).filter(|dir| dir.is_dir())
        };
        let named =
            named.map(move |dir| below_root(dir).unwrap_or_else(|| below_sysroot(dir, sysroot)));
        let defaults = self.default_dirs.iter().map(move |dir| match sysroot {
            Some(root) => below(root, dir),
            None => dir.clone(),
        });
        named.chain(defaults)
    }
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
    use crate::pipeline::host::DEFAULT_HOST;

    fn at_host(line: &LinkLine) -> Libraries<'_> {
        Libraries::new(line, &Host::of_triple(DEFAULT_HOST), false)
    }

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
        assert_eq!(
            at_host(&line).find("x".as_ref(), false),
            Some(at("libx.so"))
        );
        assert_eq!(at_host(&line).find("x".as_ref(), true), Some(at("libx.a")));
        assert_eq!(
            at_host(&line).find(":libx.a".as_ref(), false),
            Some(at("libx.a"))
        );
        assert_eq!(
            at_host(&line).find("offlink-has-no-such-library".as_ref(), false),
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
        assert_eq!(at_host(&line).find("y".as_ref(), false), Some(library));
    }
}
