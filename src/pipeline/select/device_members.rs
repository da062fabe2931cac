//! The members of archives that only device code needs: their host code stays
//! out of the program, and their device code comes in.

use super::{Members, serving};
use crate::device_input::DeviceInput;
use crate::pipeline::group;
use crate::pipeline::scan::contents::Contents;
use crate::pipeline::scan::host_object::HostObject;
use crate::pipeline::scan::{Item, ScanError, Scanned};
use crate::pipeline::symbols::{self, Names};
use crate::target::Target;
use std::collections::{BTreeMap, HashMap, HashSet};

/// Finds the members that define what `certain` device code needs, and what
/// they need in turn, for each target by itself. The first member of the line
/// that defines a symbol wins. Of a member, the code for targets that the link
/// has already is taken; it adds no target. `host` are the members that are
/// taken anyway.
///
/// # Errors
/// [`ScanError`] when an archive or the device code in it is damaged.
pub(super) fn find(
    scanned: &Scanned,
    certain: &[DeviceInput],
    host: &Members<HostObject>,
) -> Result<Members<Vec<DeviceInput>>, ScanError> {
    let mut needs = Needs::of(certain);
    let mut taken = Members::new();
    if needs.open.is_empty() {
        return Ok(taken);
    }
    let mut candidates = candidates(scanned, host)?;
    let mut providers: HashMap<(usize, String), usize> = HashMap::new();
    for (number, candidate) in candidates.iter_mut().enumerate() {
        let targets = &needs.targets;
        candidate.inputs = serving::addressed(std::mem::take(&mut candidate.inputs), targets);
        let fits = |input: &DeviceInput| targets.iter().any(|target| group::belongs(input, target));
        candidate.inputs.retain(fits);
        for input in &candidate.inputs {
            let names = symbols::of_code(&input.data);
            for (target, _) in needs.targets_of(input) {
                for name in &names.defined {
                    let key = (target, name.clone());
                    providers.entry(key).or_insert(number);
                }
            }
        }
    }
    while let Some(need) = needs.open.pop() {
        let Some(number) = providers.get(&need).copied() else {
            continue;
        };
        let candidate = &mut candidates[number];
        if needs.defined.contains(&need) || candidate.inputs.is_empty() {
            continue;
        }
        let inputs = std::mem::take(&mut candidate.inputs);
        inputs.iter().for_each(|input| needs.add(input));
        let archive: &mut BTreeMap<_, _> = taken.entry(candidate.position).or_default();
        archive.insert(candidate.offset, inputs);
    }
    Ok(taken)
}

/// A member with device code that is not taken yet.
struct Candidate {
    /// The position of the archive in the line.
    position: usize,
    /// The position of the member in the archive.
    offset: u64,
    inputs: Vec<DeviceInput>,
}

fn candidates(scanned: &Scanned, host: &Members<HostObject>) -> Result<Vec<Candidate>, ScanError> {
    let mut candidates = Vec::new();
    for (position, item) in scanned.items.iter().enumerate() {
        let Item::Archive(archive) = item else {
            continue;
        };
        if !archive.concerns_devices || scanned.takes_whole(archive) {
            continue;
        }
        for member in archive.members()? {
            let inputs = match member.contents {
                Contents::Host(object) if !is_taken(host, position, member.offset) => {
                    object.device_inputs()?
                }
                Contents::Device(inputs) => inputs,
                _ => continue,
            };
            candidates.push(Candidate {
                position,
                offset: member.offset,
                inputs,
            });
        }
    }
    Ok(candidates)
}

fn is_taken(host: &Members<HostObject>, position: usize, offset: u64) -> bool {
    host.get(&position)
        .is_some_and(|members| members.contains_key(&offset))
}

/// A name for one of the link's targets, by its number.
type Name = (usize, String);

struct Needs {
    targets: Vec<Target>,
    open: Vec<Name>,
    defined: HashSet<Name>,
}

impl Needs {
    fn of(inputs: &[DeviceInput]) -> Self {
        // What is no target is told when the code is sorted by target.
        let own = inputs.iter().filter_map(group::own_target);
        let mut targets: Vec<Target> = own.collect();
        targets.sort();
        targets.dedup();
        let mut needs = Self {
            targets,
            open: Vec::new(),
            defined: HashSet::new(),
        };
        inputs.iter().for_each(|input| needs.add(input));
        needs
    }

    fn targets_of(&self, input: &DeviceInput) -> impl Iterator<Item = (usize, &Target)> {
        let targets = self.targets.iter().enumerate();
        targets.filter(|(_, target)| group::belongs(input, target))
    }

    fn add(&mut self, input: &DeviceInput) {
        let Names { defined, needed } = symbols::of_code(&input.data);
        let targets: Vec<usize> = self.targets_of(input).map(|(target, _)| target).collect();
        for target in targets {
            let name = |name: &String| (target, name.clone());
            self.defined.extend(defined.iter().map(name));
            self.open.extend(needed.iter().map(name));
        }
    }
}
