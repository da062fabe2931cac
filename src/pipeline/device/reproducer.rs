//! Keeping what a failed compile needs to fail again.

use super::super::dry_run;
use super::super::plan::DeviceLink;
use crate::device_input::DeviceInput;
use crate::output_file;
use crate::target::Target;
use std::path::{Path, PathBuf};

/// Writes the bitcode of `link` and the command that links it to a new folder
/// that stays, and returns the folder; `None` if that is not possible.
pub(super) fn keep(target: &Target, link: &DeviceLink, llvm_options: &[String]) -> Option<PathBuf> {
    let dir = tempfile::Builder::new()
        .prefix("offlink-reproducer-")
        .tempdir()
        .ok()?
        .keep();
    write(&dir, target, link, llvm_options).ok()?;
    Some(dir)
}

fn write(
    dir: &Path,
    target: &Target,
    link: &DeviceLink,
    llvm_options: &[String],
) -> Result<(), output_file::OutputError> {
    let mut command = format!(
        "offlink link --triple={} --arch={} {} -o image",
        target.triple(),
        target.arch(),
        dry_run::quoted(&dry_run::device_options(&link.options, llvm_options))
    );
    for name in &link.exports {
        command += &format!(" '--export-symbol={name}'");
    }
    for (number, DeviceInput { data, .. }) in link.bitcode.iter().enumerate() {
        let file = format!("{number:04}.bc");
        output_file::write_bytes(&dir.join(&file), data)?;
        command += &format!(" {file}");
    }
    output_file::write_bytes(&dir.join("command"), (command + "\n").as_bytes())
}
