//! Which host a line links for.

use super::scan::{Item, Scanned};
use crate::request::{InputName, Request};
use offlink_bundle::host_object::Platform;
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};
use thiserror::Error;

/// The host that offlink links for when nothing names another.
pub const DEFAULT_HOST: &str = "x86_64-unknown-linux-gnu";

/// The host of one link.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Host {
    /// Its triple, as it was given or as clang normalises it.
    pub triple: String,
    /// Its processor and object format, if offlink knows them.
    pub platform: Option<Platform>,
}

/// An object is not for the host of the link.
#[derive(Debug, Error)]
#[error(
    "'{object}' is an object for {found}, but the link is for {triple}; leave it out, or name \
     the host with --offlink-host-triple"
)]
pub struct OtherHost {
    object: String,
    found: &'static str,
    triple: String,
}

impl Host {
    /// The host that a triple names.
    pub fn of_triple(triple: &str) -> Self {
        Self {
            triple: triple.into(),
            platform: Platform::from_triple(triple).ok(),
        }
    }

    /// The host that the line links for: the one that is named, else that of
    /// the line's first object, else x86-64 Linux. Of files only the headers
    /// are read; the linker will speak of those that can't be.
    pub fn of(request: &Request) -> Self {
        let named = request.options.host_triple.as_ref();
        if let Some(triple) = named.or(request.host_triple.as_ref()) {
            return Self::of_triple(triple);
        }
        let files = request
            .line
            .inputs
            .iter()
            .filter_map(|input| match &input.name {
                InputName::File(path) => Some(path.as_path()),
                InputName::Library(_) => None,
            });
        let platform = files.filter_map(platform_of).next();
        Self::of_triple(platform.map_or(DEFAULT_HOST, Platform::triple))
    }

    /// Checks that the objects of the line are for this host.
    ///
    /// # Errors
    /// [`OtherHost`] for the first that is not.
    pub fn check(&self, scanned: &Scanned) -> Result<(), OtherHost> {
        let Some(platform) = self.platform else {
            return Ok(());
        };
        for item in &scanned.items {
            let Item::Object(object) = item else {
                continue;
            };
            // Bitcode can be for any host; the linker compiles it for its own.
            let found = Platform::of_file(&object.data);
            if !offlink_llvm::is_bitcode(&object.data) && found != Some(platform) {
                return Err(OtherHost {
                    object: object.name.clone(),
                    found: found.map_or("a processor that offlink does not know", Platform::triple),
                    triple: self.triple.clone(),
                });
            }
        }
        Ok(())
    }

    /// Where the linker looks for libraries after the `-L` directories, as far as
    /// offlink knows (`ld --verbose | grep SEARCH_DIR` of Debian 12's linkers,
    /// less directories for other ABIs).
    pub fn library_dirs(&self) -> Vec<PathBuf> {
        let Some(name) = self.platform.and_then(Platform::gnu_name) else {
            return Vec::new();
        };
        let own = ["/usr/local/lib", "/lib", "/usr/lib"].map(|dir| Path::new(dir).join(name));
        let shared = [
            "/usr/local/lib64",
            "/lib64",
            "/usr/lib64",
            "/usr/local/lib",
            "/lib",
            "/usr/lib",
        ];
        let cross = Path::new("/usr").join(name).join("lib");
        own.into_iter()
            .chain(shared.map(PathBuf::from))
            .chain([cross])
            .collect()
    }
}

/// The platform of an object, program or library; `None` if it can't be read.
pub fn platform_of(path: &Path) -> Option<Platform> {
    let mut header = Vec::new();
    let file = File::open(path).ok()?;
    file.take(64).read_to_end(&mut header).ok()?;
    Platform::of_file(&header)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli;

    fn host(line: &str) -> Host {
        let line = line.split_whitespace().map(Into::into).collect();
        match cli::parse(line).unwrap() {
            cli::Command::Link(request) => Host::of(&request),
            _ => panic!("not a link"),
        }
    }

    #[test]
    fn named_before_found_before_default() {
        let dir = tempfile::tempdir().unwrap();
        let object = dir.path().join("a.o");
        let mut header = b"\x7fELF\x02\x01\x01".to_vec();
        header.resize(16, 0);
        header.extend([1, 0, 183, 0]);
        std::fs::write(&object, header).unwrap();
        let object = object.display();

        assert_eq!(host("offlink cc x.c").triple, DEFAULT_HOST);
        let found = host(&format!("offlink cc x.c {object}"));
        assert_eq!(found.triple, "aarch64-unknown-linux-gnu");
        let dirs = found.library_dirs();
        assert!(
            dirs.contains(&"/usr/lib/aarch64-linux-gnu".into()),
            "{dirs:?}"
        );
        let named = "--offlink-host-triple=riscv64-linux-gnu";
        let named = host(&format!("offlink cc {named} {object}"));
        assert_eq!(named.triple, "riscv64-linux-gnu");
    }
}
