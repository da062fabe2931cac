//! GPU kernels in a build script, in the manner of the `cc` crate:
//!
//! ```no_run
//! // build.rs
//! offlink_build::Kernels::new()
//!     .rust("kernel/gpu.rs", ["sm_80", "sm_90", "gfx90a"])
//!     .rust("kernel/cpu.rs", [offlink_build::HOST])
//!     .compile("kernels");
//! ```
//!
//! compiles the kernels to bitcode, links that into an image for each
//! architecture, and links a library that holds the images and registers them
//! with LLVM's offload runtime into whatever the package becomes. The
//! package needs no other setting; `offlink-rt`
//! launches the kernels. A library with kernels works like any other dependency.
//!
//! [`Kernels::images`] is for programs that load the images by themselves.
//!
//! It runs the program `offlink`, which is that of the environment variable
//! `OFFLINK`, or the first in `PATH` and in cargo's own `bin` folder. `OFFLINK_ARCHS`,
//! a list with commas, chooses other GPUs than the script, of vendors that it names.

mod archive;
mod archs;
mod cargo_lines;
mod diagnostics;
mod error;
mod images_module;
mod package;
mod program;
mod source;

pub use archs::HOST;
pub use error::Error;

use archs::Target;
use program::Offlink;
use source::Source;
use std::path::PathBuf;

/// Kernels to build: sources, each with the architectures that it is for.
#[derive(Clone, Debug, Default)]
pub struct Kernels {
    sources: Vec<(Source, Vec<String>)>,
    emit_ptx: bool,
    opt_level: Option<u8>,
}

/// A finished image.
struct Image {
    target: Target,
    file: PathBuf,
    is_ptx: bool,
}

impl Kernels {
    /// No kernels yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds kernels in one Rust file with its modules, which rustc compiles as a
    /// crate of its own (edition 2024, `-O`, `panic=abort`) for each device triple.
    ///
    /// `archs` are NVIDIA architectures (`sm_90`), AMD processors or target IDs
    /// (`gfx90a:xnack+`), and [`HOST`].
    #[must_use]
    pub fn rust<A: Into<String>>(
        self,
        file: impl Into<PathBuf>,
        archs: impl IntoIterator<Item = A>,
    ) -> Self {
        self.source(Source::Rust(file.into()), archs)
    }

    /// Adds the kernels of a cargo package, in the folder with its `Cargo.toml`: a
    /// library, which cargo builds (`--release`) in a target directory of its own.
    ///
    /// Where a device's `core` has to be built, that takes the component `rust-src`.
    #[must_use]
    pub fn package<A: Into<String>>(
        self,
        folder: impl Into<PathBuf>,
        archs: impl IntoIterator<Item = A>,
    ) -> Self {
        self.source(Source::Package(folder.into()), archs)
    }

    /// Adds kernels that a compiler has made into LLVM bitcode or LLVM's textual IR.
    #[must_use]
    pub fn bitcode<A: Into<String>>(
        self,
        file: impl Into<PathBuf>,
        archs: impl IntoIterator<Item = A>,
    ) -> Self {
        self.source(Source::Bitcode(file.into()), archs)
    }

    fn source<A: Into<String>>(
        mut self,
        source: Source,
        archs: impl IntoIterator<Item = A>,
    ) -> Self {
        let archs = archs.into_iter().map(Into::into).collect();
        self.sources.push((source, archs));
        self
    }

    /// Makes PTX for NVIDIA GPUs, which the driver compiles, instead of machine code.
    /// LLVM's offload runtime does not load it; [`Kernels::images`] is for that.
    #[must_use]
    pub fn emit_ptx(self, emit_ptx: bool) -> Self {
        Self { emit_ptx, ..self }
    }

    /// How much device code is optimised at the link: 0 to 3, 3 if not said.
    #[must_use]
    pub fn opt_level(self, level: u8) -> Self {
        Self {
            opt_level: Some(level),
            ..self
        }
    }

    /// Builds the kernels and links them, with libomptarget, into what the package
    /// becomes. `name` tells several sets of kernels of one package apart.
    ///
    /// Ends the build script with a message when that fails.
    pub fn compile(&self, name: &str) {
        or_end(self.try_compile(name));
    }

    /// As [`Kernels::compile`], but returns the error.
    ///
    /// # Errors
    /// [`Error`], whose text says what went wrong and what to do.
    pub fn try_compile(&self, name: &str) -> Result<(), Error> {
        let build = Build::new(self, name)?;
        let images = build.images()?;
        let bundle = build.folder.join("images.bundle");
        let object = build.folder.join("registration.o");
        let library = build.folder.join(format!("lib{name}.a"));
        build.offlink.bundle(&images, &bundle)?;
        build.offlink.wrap(&bundle, &build.host, &object)?;
        archive::write(&library, &object)?;
        cargo_lines::library(name, &build.folder);
        cargo_lines::offload_runtime(&build.offlink.offload_runtime()?);
        cargo_lines::kernels(build.offlink.kernels(&bundle)?);
        Ok(())
    }

    /// Builds the kernels for `offlink_rt::images!` with the same name, which puts
    /// the images into the program as data and registers them with no runtime.
    ///
    /// Ends the build script with a message when that fails.
    pub fn images(&self, name: &str) {
        or_end(self.try_images(name));
    }

    /// As [`Kernels::images`], but returns the error.
    ///
    /// # Errors
    /// [`Error`], whose text says what went wrong and what to do.
    pub fn try_images(&self, name: &str) -> Result<(), Error> {
        let build = Build::new(self, name)?;
        let images = build.images()?;
        images_module::write(&cargo_lines::out_dir()?.join(format!("{name}.rs")), &images)
    }
}

/// The one way in which a build script can fail readably.
fn or_end(result: Result<(), Error>) {
    if let Err(error) = result {
        println!("cargo::error={error}");
        std::process::exit(1);
    }
}

/// One run over a set of kernels.
struct Build<'a> {
    kernels: &'a Kernels,
    offlink: Offlink,
    /// The triple that the package is built for.
    host: String,
    /// All files of this set.
    folder: PathBuf,
}

impl<'a> Build<'a> {
    fn new(kernels: &'a Kernels, name: &str) -> Result<Self, Error> {
        let is_fit = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
        if name.is_empty() || !name.chars().all(is_fit) {
            return Err(Error::Name(name.into()));
        }
        let folder = cargo_lines::out_dir()?.join("offlink").join(name);
        std::fs::create_dir_all(&folder).map_err(|source| Error::file(&folder, source))?;
        Ok(Self {
            kernels,
            offlink: Offlink::find()?,
            host: cargo_lines::variable("TARGET")?,
            folder,
        })
    }

    /// The images: one for each target, of all sources that are for it, in the order
    /// in which the script names the targets.
    fn images(&self) -> Result<Vec<Image>, Error> {
        let mut links: Vec<(Target, Vec<PathBuf>)> = Vec::new();
        for (number, (source, archs)) in self.kernels.sources.iter().enumerate() {
            for targets in archs::by_triple(archs, &self.host)? {
                let triple = targets.first().map_or("", |target| &target.triple);
                let stem = self.folder.join(format!("{number}-{triple}"));
                let bitcode = source.bitcode(&targets, &stem, &self.offlink)?;
                for target in targets {
                    match links.iter_mut().find(|(other, _)| *other == target) {
                        Some((_, inputs)) => inputs.push(bitcode.clone()),
                        None => links.push((target, vec![bitcode.clone()])),
                    }
                }
            }
        }
        if links.is_empty() {
            return Err(Error::Nothing);
        }
        offlink_jobs::map(&links, None, |_, (target, inputs)| {
            self.link(target, inputs)
        })
    }

    fn link(&self, target: &Target, inputs: &[PathBuf]) -> Result<Image, Error> {
        let is_ptx = self.kernels.emit_ptx && target.is_nvidia();
        let file = self.folder.join(target.image_name(is_ptx));
        self.offlink
            .link(inputs, target, is_ptx, self.kernels.opt_level, &file)?;
        Ok(Image {
            target: target.clone(),
            file,
            is_ptx,
        })
    }
}
