//! Correcting what a cubin says about functions that others define.

use std::borrow::Cow;
use std::collections::BTreeSet;

use goblin::elf::section_header::{SHN_UNDEF, SHT_SYMTAB};
use goblin::elf::sym::STT_FUNC;

use super::Error;
use super::symbols::STO_CUDA_ENTRY;
use crate::elf::Elf;

/// The size of a symbol and the place of `st_other` in it (ELF-64).
const SYMBOL_SIZE: usize = 24;
const ST_OTHER: usize = 5;

/// The cubin with its undefined functions that are among `kernels` declared to
/// be kernels; as it is if there are none.
///
/// clang 22 refers to a kernel that is only declared as to any function, from a
/// variable that keeps it alive for the host. nvlink 13.0 refuses that: the
/// function is "not declared __global__ in all source files". The difference is
/// one bit of the symbol.
///
/// # Errors
/// [`Error::Elf`] for broken files.
pub fn declare_kernels<'a>(
    cubin: &'a [u8],
    kernels: &BTreeSet<String>,
) -> Result<Cow<'a, [u8]>, Error> {
    let elf = Elf::parse(cubin)?;
    let mut places = Vec::new();
    for (index, header) in elf.sections.iter().enumerate() {
        if header.sh_type != SHT_SYMTAB {
            continue;
        }
        let table = elf.symbols(index)?;
        for (number, symbol) in table.iter().enumerate() {
            let is_undefined_function =
                symbol.st_shndx == SHN_UNDEF as usize && symbol.st_type() == STT_FUNC;
            let name = table.name(&symbol).map(std::str::from_utf8);
            if is_undefined_function && matches!(name, Some(Ok(name)) if kernels.contains(name)) {
                places.push(header.sh_offset as usize + number * SYMBOL_SIZE + ST_OTHER);
            }
        }
    }
    if places.is_empty() {
        return Ok(Cow::Borrowed(cubin));
    }
    let mut changed = cubin.to_vec();
    for place in places {
        // The symbol was read from there, so the place is within the file.
        if let Some(byte) = changed.get_mut(place) {
            *byte |= STO_CUDA_ENTRY;
        }
    }
    Ok(Cow::Owned(changed))
}

#[cfg(test)]
mod tests {
    use super::*;

    const USE: &[u8] = include_bytes!("../../tests/data/declared_kernel.cubin");

    #[test]
    fn only_the_named_functions_change() {
        let kernels = BTreeSet::from(["_Z1kPi".to_owned()]);
        let changed = declare_kernels(USE, &kernels).unwrap();
        let different: Vec<usize> = (0..USE.len())
            .filter(|at| USE[*at] != changed[*at])
            .collect();
        assert_eq!(different.len(), 1);
        assert_eq!(changed[different[0]], STO_CUDA_ENTRY);
        let none = declare_kernels(USE, &BTreeSet::from(["other".to_owned()])).unwrap();
        assert!(matches!(none, Cow::Borrowed(_)));
    }

    #[test]
    fn broken_files_are_errors() {
        let kernels = BTreeSet::from(["_Z1kPi".to_owned()]);
        for end in 0..USE.len() {
            let _ = declare_kernels(&USE[..end], &kernels);
        }
    }
}
