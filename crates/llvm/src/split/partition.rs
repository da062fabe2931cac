//! Which kernels are compiled together.
//!
//! The parts depend on the code alone: not on the number of cores, so that the same code gives the same image
//! everywhere, and as little as possible on kernels elsewhere, so that a change of one kernel leaves the other parts
//! as they were. Where a part ends therefore depends on a hash of a kernel's name.

use std::collections::{HashMap, HashSet};
use std::ops::Range;

/// A kernel and what it needs.
#[derive(Debug)]
pub(super) struct Kernel {
    /// [`hash`] of its name.
    pub hash: u64,
    /// The functions that it reaches, itself among them, by number, with their weights.
    pub reach: Vec<(usize, u64)>,
}

/// What a part may have of functions that other kernels have too, per weight of its own: copies cost time.
const MOST_SHARED: f64 = 0.25;

/// How big the parts of a module of this weight are at least: a power of two, which stays the same when the module
/// grows a little, and makes 32 to 64 parts, enough for the cores of today.
pub(super) fn least_of_big(weight: u64) -> u64 {
    (weight / 32)
        .checked_ilog2()
        .map_or(0, |exponent| 1 << exponent)
}

/// Cuts the list of kernels into parts of about `target` weight, in order.
///
/// A part ends before it is big enough only at the end of the list, and after twice the target anywhere, unless it
/// would be made of copies for the most part: then it goes on until that is not so, if need be to the end.
pub(super) fn partition(kernels: &[Kernel], target: u64) -> Vec<Range<usize>> {
    let mut reached_by: HashMap<usize, usize> = HashMap::new();
    for (function, _) in kernels.iter().flat_map(|kernel| &kernel.reach) {
        *reached_by.entry(*function).or_default() += 1;
    }
    let target = target as f64;
    let mut parts = Vec::new();
    let mut start = 0;
    let (mut own, mut shared) = (0.0, 0.0);
    let mut seen = HashSet::new();
    for (number, kernel) in kernels.iter().enumerate() {
        let mut weight = 0.0;
        for &(function, of_function) in &kernel.reach {
            weight += of_function as f64;
            if reached_by[&function] == 1 {
                own += of_function as f64;
            } else if seen.insert(function) {
                shared += of_function as f64;
            }
        }
        let size = own + shared;
        let is_enough = size >= target / 2.0 && shared <= own * MOST_SHARED;
        let chance = kernel.hash as f64 / u64::MAX as f64;
        if is_enough && (chance < weight / target || size >= target * 2.0) {
            parts.push(start..number + 1);
            start = number + 1;
            (own, shared) = (0.0, 0.0);
            seen.clear();
        }
    }
    if start < kernels.len() {
        let is_small = own + shared < target / 2.0 || shared > own * MOST_SHARED;
        match parts.last_mut() {
            Some(last) if is_small => last.end = kernels.len(),
            _ => parts.push(start..kernels.len()),
        }
    }
    parts
}

/// FNV-1a with the finish of MurmurHash3: the same on every machine and in every version.
pub(super) fn hash(bytes: &[u8]) -> u64 {
    let mut hash = bytes.iter().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3)
    });
    // The low bytes of a name hardly reach the high bits of FNV.
    for multiplier in [0xff51_afd7_ed55_8ccd_u64, 0xc4ce_b9fe_1a85_ec53] {
        hash = (hash ^ (hash >> 33)).wrapping_mul(multiplier);
    }
    hash ^ (hash >> 33)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Kernels of this weight that share function 0 of weight `shared`.
    fn kernels(names: impl Iterator<Item = String>, weight: u64, shared: u64) -> Vec<Kernel> {
        names
            .enumerate()
            .map(|(number, name)| Kernel {
                hash: hash(name.as_bytes()),
                reach: vec![(0, shared), (number + 1, weight)],
            })
            .collect()
    }

    fn names(count: usize) -> impl Iterator<Item = String> {
        (0..count).map(|number| format!("kernel_{number}"))
    }

    #[test]
    fn parts_cover_all_kernels_in_order_and_have_about_the_weight() {
        let parts = partition(&kernels(names(200), 10, 1), 100);
        let starts: Vec<usize> = parts.iter().map(|part| part.start).collect();
        let ends: Vec<usize> = parts.iter().map(|part| part.end).collect();
        assert_eq!(starts[0], 0);
        assert_eq!(starts[1..], ends[..ends.len() - 1]);
        assert_eq!(ends.last(), Some(&200));
        for part in &parts[..parts.len() - 1] {
            assert!((5..=20).contains(&part.len()), "{parts:?}");
        }
        assert!((12..=32).contains(&parts.len()), "{parts:?}");
    }

    #[test]
    fn a_new_kernel_changes_few_parts() {
        let all: Vec<String> = names(200).collect();
        let names_of = |all: &[String]| -> HashSet<Vec<String>> {
            partition(&kernels(all.iter().cloned(), 10, 1), 100)
                .into_iter()
                .map(|part| all[part].to_vec())
                .collect()
        };
        let mut more = all.clone();
        more.insert(40, "another".into());
        let (before, after) = (names_of(&all), names_of(&more));
        assert!(after.difference(&before).count() <= 3);
    }

    #[test]
    fn kernels_that_are_mostly_one_shared_function_stay_together() {
        let together = partition(&kernels(names(50), 10, 10_000), 100);
        assert!(matches!(together.as_slice(), [all] if *all == (0..50)));
        // With enough of their own, copies are worth it.
        let parts = partition(&kernels(names(50), 10_000, 10_000), 100);
        assert!(parts.len() > 5, "{parts:?}");
        assert!(parts.iter().all(|part| part.len() >= 4), "{parts:?}");
    }

    #[test]
    fn parts_of_big_modules_are_bigger() {
        assert_eq!(least_of_big(31), 0);
        assert_eq!(least_of_big(1_000_000), 16_384);
        assert_eq!(least_of_big(1_020_000), 16_384);
        assert_eq!(least_of_big(2_000_000), 32_768);
    }

    #[test]
    fn no_kernels_no_parts() {
        assert_eq!(partition(&[], 100), []);
    }
}
