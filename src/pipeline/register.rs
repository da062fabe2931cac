//! The host objects that register the images, one for each offload kind.

use super::bundle::{self, BundleError, Described};
use super::compile::compile;
use super::device::DeviceImage;
use super::group::REGISTERED;
use super::host::Host;
use super::select::Entries;
use super::work_dir::WorkDir;
use crate::mapped_file::{self, ReadError};
use crate::options::Compress;
use crate::output_file::{self, OutputError};
use crate::process::ToolError;
use crate::request::{OutputKind, Style};
use crate::spirv_runtime::SpirvRuntime;
use crate::toolchain::{NotFound, Toolchain};
use offlink_bundle::entry::Generation;
use offlink_bundle::host_object::{self, HostTarget, Platform, UnsupportedHost, openmp};
use offlink_bundle::offload_binary::{Image, OffloadKind, Version};
use std::path::{Path, PathBuf};
use thiserror::Error;

/// An object can't be made.
#[derive(Debug, Error)]
pub enum RegisterError {
    /// No registration code for this host.
    #[error(transparent)]
    Host(#[from] UnsupportedHost),
    /// The images can't be put into their container.
    #[error(transparent)]
    Bundle(#[from] BundleError),
    /// The container can't be put into the object.
    #[error(transparent)]
    Object(#[from] host_object::Error),
    /// A file can't be written.
    #[error(transparent)]
    Output(#[from] OutputError),
    /// A file that was just written can't be read.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// There is no compiler for the host.
    #[error(transparent)]
    NoCompiler(#[from] NotFound),
    /// The compiler does not make the object.
    #[error(transparent)]
    Compiler(#[from] ToolError),
}

/// Makes registration objects for one host.
#[derive(Debug)]
pub struct Registrar<'a> {
    /// The host.
    pub host: &'a Host,
    /// Knows the compiler of hosts that need one.
    pub toolchain: &'a Toolchain,
    /// Who the line is written for.
    pub style: Style,
    /// The LLVM whose runtimes load SPIR-V images.
    pub spirv_runtime: SpirvRuntime,
    /// Where files are kept on the way.
    pub work_dir: &'a WorkDir,
}

impl Registrar<'_> {
    /// Writes an object for each kind that has images and returns their paths,
    /// by kind in ascending order. They walk `entries`, of which each kind's have one
    /// form. A relocatable link wants others than a final one.
    ///
    /// # Errors
    /// [`RegisterError`] when the host is not supported or an object can't be
    /// made.
    pub fn write(
        &self,
        images: &[DeviceImage],
        entries: &Entries,
        compress: Compress,
        output_kind: OutputKind,
    ) -> Result<Vec<PathBuf>, RegisterError> {
        let mut objects = Vec::new();
        for kind in REGISTERED {
            let of_kind: Vec<Described<'_>> = images
                .iter()
                .filter(|image| image.kinds.contains(&kind))
                .map(|image| Described::linked(kind, &image.target, &image.data))
                .collect();
            if of_kind.is_empty() {
                continue;
            }
            let object = object_file(kind, self.work_dir);
            let form = entries.form(kind);
            if kind == OffloadKind::OpenMp {
                self.write_openmp(&of_kind, form, output_kind, &object)?;
            } else {
                let container = container_file(kind, self.work_dir);
                output_file::write(&container, |out| {
                    let (runtime, host) = (self.spirv_runtime, &self.host.triple);
                    bundle::write(kind, &of_kind, compress, runtime, host, out)
                        .map_err(RegisterError::from)
                })?;
                self.write_container(kind, &container, form, output_kind, &object)?;
            }
            objects.push(object);
        }
        Ok(objects)
    }

    /// Writes the object for images of OpenMP, each in an offload binary of its
    /// own, and for entries of this form.
    ///
    /// # Errors
    /// As [`Self::write()`].
    pub fn write_openmp(
        &self,
        images: &[Described<'_>],
        entries: Generation,
        output_kind: OutputKind,
        object: &Path,
    ) -> Result<(), RegisterError> {
        let of_images = images
            .iter()
            .map(|image| image.to_image(self.spirv_runtime))
            .collect::<Result<Vec<Image<'_>>, BundleError>>()?;
        if let Ok(host) = HostTarget::from_triple(&self.host.triple) {
            return output_file::write(object, |out| {
                let written = match output_kind {
                    OutputKind::Relocatable => {
                        openmp::write_for_relocatable_link(host, entries, &of_images, out)
                    }
                    _ => openmp::write(host, entries, &of_images, out),
                };
                written.map_err(RegisterError::from)
            });
        }
        let platform = Platform::from_triple(&self.host.triple)?;
        let container = self.work_dir.file("openmp.bundle");
        output_file::write(&container, |out| {
            bundle::offload_binary(images, Version::V1, self.spirv_runtime, out)
                .map_err(RegisterError::from)
        })?;
        let source = match output_kind {
            OutputKind::Relocatable => {
                openmp::source_for_relocatable_link(platform, entries, &of_images, &container)?
            }
            _ => openmp::source(platform, entries, &of_images, &container)?,
        };
        self.compile(OffloadKind::OpenMp, &source, platform, object)
    }

    /// Writes the object for a fatbin (CUDA), a HIP bundle or offload binaries of
    /// SYCL's images, which are in a file, and for entries of this form.
    ///
    /// # Errors
    /// As [`Self::write()`].
    pub fn write_container(
        &self,
        kind: OffloadKind,
        container: &Path,
        entries: Generation,
        output_kind: OutputKind,
        object: &Path,
    ) -> Result<(), RegisterError> {
        use host_object::{cuda, hip, sycl};
        let is_relocatable = output_kind == OutputKind::Relocatable;
        if let Ok(host) = HostTarget::from_triple(&self.host.triple) {
            let container = mapped_file::map(container)?;
            return output_file::write(object, |out| {
                let written = match kind {
                    OffloadKind::Hip => hip::write(host, entries, &container, out),
                    OffloadKind::Sycl if is_relocatable => {
                        sycl::write_for_relocatable_link(host, &container, out)
                    }
                    OffloadKind::Sycl => sycl::write(host, &container, out),
                    _ => cuda::write(host, entries, &container, out),
                };
                written.map_err(RegisterError::from)
            });
        }
        let platform = Platform::from_triple(&self.host.triple)?;
        let source = match kind {
            OffloadKind::Hip => hip::source(platform, entries, container),
            OffloadKind::Sycl => {
                let data = mapped_file::map(container)?;
                if is_relocatable {
                    sycl::source_for_relocatable_link(platform, &data, container)?
                } else {
                    sycl::source(platform, &data, container)?
                }
            }
            _ => cuda::source(platform, entries, container),
        };
        self.compile(kind, &source, platform, object)
    }

    fn compile(
        &self,
        kind: OffloadKind,
        source: &str,
        platform: Platform,
        object: &Path,
    ) -> Result<(), RegisterError> {
        let compiler = self
            .toolchain
            .compiler(self.style, platform, &self.host.triple)?;
        // The file's name goes into the program, so it does not depend on that's.
        let folder = self.work_dir.file("registration");
        let file = folder.join(format!("{}.c", kind.as_str()));
        compile(source, platform, &compiler, &file, object)
    }
}

/// The object that registers the images of a kind, by the name that LLVM's
/// wrapper has for it.
pub fn object_file(kind: OffloadKind, work_dir: &WorkDir) -> PathBuf {
    work_dir.file(&format!("{}.image.wrapper.o", kind.as_str()))
}

/// The container of the images of CUDA, HIP or SYCL.
pub fn container_file(kind: OffloadKind, work_dir: &WorkDir) -> PathBuf {
    work_dir.file(match kind {
        OffloadKind::Cuda => "fatbin",
        OffloadKind::Sycl => "bundle",
        _ => "hipfb",
    })
}
