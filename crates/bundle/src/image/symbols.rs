//! The symbols that a device image defines.

use std::collections::BTreeSet;

use goblin::elf::section_header::{SHN_UNDEF, SHT_DYNSYM, SHT_SYMTAB};
use goblin::elf::sym::{STB_LOCAL, STT_COMMON, STT_FUNC, STT_OBJECT, Sym};

use super::format::{EM_AMDGPU, EM_CUDA};
use super::{Error, ImageFormat, module_in_one_omp, ptx, spirv};
use crate::elf::Elf;

/// The bit of `st_other` that marks a kernel in a cubin (seen in the output of
/// ptxas 13.0).
pub(super) const STO_CUDA_ENTRY: u8 = 0x10;

/// The type of variables in a relocatable cubin (seen in the output of ptxas 13.0).
const STT_CUDA_OBJECT: u8 = 13;

/// What the name of a kernel's descriptor has behind the kernel's own (AMDGPU
/// code object version 3 and newer).
const KERNEL_DESCRIPTOR: &str = ".kd";

/// The names that `image` defines and host code may ask for: functions and
/// variables of an ELF image, in its symbol table and its dynamic one; kernels
/// and variables of PTX; entry points and exports of SPIR-V. A kernel descriptor
/// of AMD counts by its kernel's name.
/// Local symbols count in a cubin only, where CUDA's driver finds them too.
///
/// # Errors
/// [`Error`] for broken images and those of formats that hide their symbols:
/// containers and bitcode.
pub fn device_symbols(image: &[u8]) -> Result<BTreeSet<String>, Error> {
    match ImageFormat::detect(image) {
        ImageFormat::Ptx => Ok(ptx::symbols(image).all),
        ImageFormat::SpirV => {
            let mut names = spirv::names(image)?;
            names.kernels.append(&mut names.exports);
            Ok(names.kernels)
        }
        ImageFormat::OneOmp => device_symbols(module_in_one_omp(image)?),
        format => elf_symbols(image, format, &[SHT_SYMTAB, SHT_DYNSYM], is_device_symbol),
    }
}

/// The names of the kernels that `image` defines: entry functions of a cubin or
/// of PTX, entry points of SPIR-V, functions with a descriptor in an AMD image, and in an image for a
/// CPU all functions of the dynamic symbol table, as any may be a kernel there.
///
/// # Errors
/// As for [`device_symbols`].
pub fn kernels(image: &[u8]) -> Result<BTreeSet<String>, Error> {
    match ImageFormat::detect(image) {
        ImageFormat::Ptx => Ok(ptx::symbols(image).kernels),
        ImageFormat::SpirV => Ok(spirv::names(image)?.kernels),
        ImageFormat::OneOmp => kernels(module_in_one_omp(image)?),
        format @ ImageFormat::ElfShared(_) => elf_symbols(image, format, &[SHT_DYNSYM], is_kernel),
        format => elf_symbols(image, format, &[SHT_SYMTAB, SHT_DYNSYM], is_kernel),
    }
}

/// The names that a SPIR-V module uses and leaves for other modules to define.
///
/// # Errors
/// [`Error::Spirv`] for anything but an intact module.
pub fn spirv_imports(module: &[u8]) -> Result<BTreeSet<String>, Error> {
    match ImageFormat::detect(module) {
        ImageFormat::SpirV => Ok(spirv::names(module)?.imports),
        _ => Err(Error::Spirv),
    }
}

/// The names of the symbols in tables of the given types that `is_wanted`,
/// which gets the machine, the symbol and its name.
fn elf_symbols(
    image: &[u8],
    format: ImageFormat,
    tables: &[u32],
    is_wanted: fn(u16, &Sym, &str) -> bool,
) -> Result<BTreeSet<String>, Error> {
    if !image.starts_with(b"\x7fELF") {
        return Err(Error::Format(format));
    }
    let elf = Elf::parse(image)?;
    let machine = elf.header.e_machine;
    let mut found = BTreeSet::new();
    for (index, header) in elf.sections.iter().enumerate() {
        if !tables.contains(&header.sh_type) {
            continue;
        }
        let table = elf.symbols(index)?;
        for symbol in table.iter().filter(is_defined) {
            let name = table.name(&symbol).map(std::str::from_utf8);
            let Some(Ok(name)) = name else { continue };
            if !name.is_empty() && is_wanted(machine, &symbol, name) {
                let kernel = name
                    .strip_suffix(KERNEL_DESCRIPTOR)
                    .filter(|_| machine == EM_AMDGPU);
                found.insert(kernel.unwrap_or(name).to_owned());
            }
        }
    }
    Ok(found)
}

fn is_defined(symbol: &Sym) -> bool {
    symbol.st_shndx != SHN_UNDEF as usize
}

fn is_device_symbol(machine: u16, symbol: &Sym, _name: &str) -> bool {
    let is_visible = machine == EM_CUDA || symbol.st_bind() != STB_LOCAL;
    let is_cuda_object = machine == EM_CUDA && symbol.st_type() == STT_CUDA_OBJECT;
    is_visible && (matches!(symbol.st_type(), STT_FUNC | STT_OBJECT | STT_COMMON) || is_cuda_object)
}

fn is_kernel(machine: u16, symbol: &Sym, name: &str) -> bool {
    match machine {
        EM_CUDA => symbol.st_type() == STT_FUNC && symbol.st_other & STO_CUDA_ENTRY != 0,
        EM_AMDGPU => name.ends_with(KERNEL_DESCRIPTOR),
        _ => symbol.st_type() == STT_FUNC && symbol.st_bind() != STB_LOCAL,
    }
}
