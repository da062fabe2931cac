//! Looking for what would give other bytes the next time, or on another machine.

use super::device::{self, DeviceImage, Setting};
use super::plan::Job;
use super::work_dir::WorkDir;
use crate::Error;
use crate::options::{Choice, Elsewhere, Options};
use crate::request::Style;
use crate::toolchain::Toolchain;
use thiserror::Error as ThisError;

/// The tools of a device link made other bytes of the same inputs.
#[derive(Debug, ThisError)]
#[error(
    "the device link for {target} gave {} bytes at first and {} bytes the second time, which \
     differ from byte {position} on; its tools do not always make the same image",
    sizes.0,
    sizes.1
)]
pub struct Differs {
    target: String,
    sizes: (usize, usize),
    position: usize,
}

/// Runs the jobs of these images once more, in another folder and without a cache,
/// and compares.
///
/// # Errors
/// [`Error::Differs`] for the first image that is not the same; or a failure of the
/// second run.
pub fn verify(
    images: &[DeviceImage],
    jobs: &[Job],
    toolchain: &Toolchain,
    options: &Options,
    style: Style,
) -> Result<(), Error> {
    let options = Options {
        cache_dir: Choice::None,
        explain_cache: false,
        // What was made elsewhere is compared with what is made here.
        elsewhere: Elsewhere::default(),
        // What is to be said was said.
        verbose: false,
        ..options.clone()
    };
    let work_dir = WorkDir::new(None, "offlink-again")?;
    let output = work_dir.file("image");
    let setting = Setting::new(jobs, toolchain, &options, style, &work_dir, &output);
    let again = device::link_all(&setting)?;
    for (first, second) in images.iter().zip(&again) {
        let (target, first, second) = (&first.target, &first.data, &second.data);
        if first != second {
            let mut pairs = first.iter().zip(second.iter());
            let shorter = first.len().min(second.len());
            return Err(Error::Differs(Differs {
                target: target.to_string(),
                sizes: (first.len(), second.len()),
                position: pairs.position(|(a, b)| a != b).unwrap_or(shorter),
            }));
        }
    }
    Ok(())
}

/// What to tell the user about names of entries that no two machines share.
pub fn warning<'a>(mut names: impl Iterator<Item = &'a str>) -> Option<String> {
    let name = names.find(|name| has_inode(name))?;
    Some(format!(
        "the kernel '{name}' is named after the device and inode numbers of its source file, as \
         clang names OpenMP's, so that other copies of the sources give other objects, images and \
         cache keys; 'ompx_name' or builds from one place give names that stay"
    ))
}

/// `__omp_offloading_fe00_9c803f_main_l2` (clang 22).
fn has_inode(name: &str) -> bool {
    let is_hexadecimal =
        |part: &str| !part.is_empty() && part.chars().all(|c| matches!(c, '0'..='9' | 'a'..='f'));
    name.strip_prefix("__omp_offloading_").is_some_and(|rest| {
        let mut parts = rest.splitn(3, '_');
        let numbers: Vec<&str> = parts.by_ref().take(2).collect();
        numbers.len() == 2 && numbers.into_iter().all(is_hexadecimal) && parts.next().is_some()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_with_inodes() {
        assert!(has_inode("__omp_offloading_fe00_9c803f_main_l2"));
        assert!(!has_inode("__omp_offloading_fe00_main_l2"));
        assert!(!has_inode("saxpy"));
        let names = ["saxpy", "__omp_offloading_1_2_f_l3"];
        let warning = warning(names.into_iter()).unwrap();
        assert!(warning.contains("'__omp_offloading_1_2_f_l3'"), "{warning}");
    }
}
