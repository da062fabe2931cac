//! Symbols of ELF and COFF files and bitcode, as far as they decide what else is
//! linked.

use super::scan::coff;
use goblin::elf::{Elf, sym};
use object::read::coff::{CoffBigFile, CoffFile};
use object::{Object, ObjectSymbol};
use offlink_bundle::host_object::is_big_coff_object;

/// The global symbols of one file.
#[derive(Debug, Default)]
pub struct Symbols<'a> {
    /// Names that it defines.
    pub defined: Vec<&'a str>,
    /// Names that it needs; weak needs, which may stay unmet, are left out.
    pub needed: Vec<&'a str>,
}

/// Reads the symbol table of a relocatable object. A file that can't be read
/// has no symbols here; the linker that gets it will say what is wrong.
pub fn of_object(data: &[u8]) -> Symbols<'_> {
    if is_big_coff_object(data) {
        let object = CoffBigFile::<&[u8]>::parse(data);
        return object.map(|object| of_coff(&object)).unwrap_or_default();
    }
    if coff::is_object(data) {
        let object = CoffFile::<&[u8]>::parse(data);
        return object.map(|object| of_coff(&object)).unwrap_or_default();
    }
    Elf::parse(data)
        .map(|elf| collect(elf.syms.iter(), &elf.strtab))
        .unwrap_or_default()
}

/// Reads the dynamic symbol table of a shared library.
pub fn of_shared_library(data: &[u8]) -> Symbols<'_> {
    Elf::parse(data)
        .map(|elf| collect(elf.dynsyms.iter(), &elf.dynstrtab))
        .unwrap_or_default()
}

/// As [`Symbols`], with names of its own.
#[derive(Debug, Default)]
pub struct Names {
    /// Names that the code defines.
    pub defined: Vec<String>,
    /// Names that it needs.
    pub needed: Vec<String>,
}

/// Reads the names in code that is linked with other code: bitcode and
/// relocatable objects. Other code, and code that can't be read, has none here;
/// whatever links it will say what is wrong.
pub fn of_code(code: &[u8]) -> Names {
    if offlink_llvm::is_bitcode(code) {
        let symbols = offlink_llvm::Symbols::read(code).unwrap_or_default();
        return Names {
            defined: symbols.defined,
            needed: symbols.needed,
        };
    }
    let symbols = of_object(code);
    let owned = |names: Vec<&str>| names.into_iter().map(str::to_owned).collect();
    Names {
        defined: owned(symbols.defined),
        needed: owned(symbols.needed),
    }
}

fn of_coff<'a>(object: &impl Object<'a>) -> Symbols<'a> {
    let mut found = Symbols::default();
    for symbol in object.symbols().filter(ObjectSymbol::is_global) {
        let Ok(name) = symbol.name() else {
            continue;
        };
        if !symbol.is_undefined() {
            found.defined.push(name);
        } else if !symbol.is_weak() {
            found.needed.push(name);
        }
    }
    found
}

/// The section index of a symbol that the file does not define.
const UNDEFINED: usize = goblin::elf::section_header::SHN_UNDEF as usize;

fn collect<'a>(
    symbols: impl Iterator<Item = sym::Sym>,
    names: &goblin::strtab::Strtab<'a>,
) -> Symbols<'a> {
    let mut found = Symbols::default();
    for symbol in symbols.filter(|symbol| symbol.st_bind() != sym::STB_LOCAL) {
        let Some(name) = names.get_at(symbol.st_name).filter(|name| !name.is_empty()) else {
            continue;
        };
        if symbol.st_shndx != UNDEFINED {
            found.defined.push(name);
        } else if symbol.st_bind() != sym::STB_WEAK {
            found.needed.push(name);
        }
    }
    found
}
