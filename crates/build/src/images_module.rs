//! The Rust source that `offlink_rt::images!` includes.

use crate::{Error, Image};
use std::fmt::Write;
use std::fs;
use std::path::Path;

/// Writes an expression of type `offlink_rt::Images` to `file`.
///
/// # Errors
/// [`Error::File`] if a file can't be read or written.
pub fn write(file: &Path, images: &[Image]) -> Result<(), Error> {
    let mut source = String::from("{\nconst IMAGES: &[::offlink_rt::Image] = &[\n");
    for image in images {
        if image.is_ptx {
            // CUDA's driver takes PTX as a C string.
            let mut text = fs::read(&image.file).map_err(|e| Error::file(&image.file, e))?;
            text.push(0);
            fs::write(&image.file, text).map_err(|e| Error::file(&image.file, e))?;
        }
        let (triple, arch) = (&image.target.triple, &image.target.arch);
        let _ = writeln!(
            source,
            "    ::offlink_rt::Image {{ triple: {triple:?}, arch: {arch:?}, is_ptx: {}, \
             bytes: ::offlink_rt::image_bytes!({:?}) }},",
            image.is_ptx, image.file
        );
    }
    source.push_str("];\n::offlink_rt::Images::new(IMAGES)\n}\n");
    fs::write(file, source).map_err(|e| Error::file(file, e))
}
