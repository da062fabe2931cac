//! Symbols of ELF, COFF and Mach-O files and bitcode, as far as they decide what else is
//! linked.

use super::scan::{coff, mach_o};
use goblin::elf::{Elf, sym};
use object::elf::{FileHeader64, SHT_DYNSYM};
use object::read::coff::{CoffBigFile, CoffFile};
use object::read::elf::{FileHeader, VersionTable};
use object::read::macho::MachOFile64;
use object::{Endianness, LittleEndian, Object, ObjectSymbol};
use offlink_bundle::host_object::is_big_coff_object;

/// The global symbols of one file.
#[derive(Debug, Default)]
pub struct Symbols<'a> {
    /// Names that it defines.
    pub defined: Vec<&'a str>,
    /// Names that it needs; weak needs, for which no linker of its format takes
    /// members of archives, are left out.
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
    if mach_o::is_mach_o(data) {
        return of_mach_o(data);
    }
    Elf::parse(data)
        .map(|elf| collect(elf.syms.iter(), &elf.strtab))
        .unwrap_or_default()
}

/// Reads the dynamic symbol table of a shared library.
pub fn of_shared_library(data: &[u8]) -> Symbols<'_> {
    if mach_o::is_mach_o(data) {
        return of_mach_o(data);
    }
    Elf::parse(data)
        .map(|elf| collect(elf.dynsyms.iter(), &elf.dynstrtab))
        .unwrap_or_default()
}

/// Whether a 64-bit shared library defines a symbol: its hash table tells, without
/// a look at the other symbols, which are ten thousands in libLLVM. A library that
/// can't be read, or has no such table, is searched as [`of_shared_library`] does.
pub fn shared_library_defines(data: &[u8], name: &str) -> bool {
    by_hash(data, name.as_bytes())
        .unwrap_or_else(|| of_shared_library(data).defined.contains(&name))
}

fn by_hash(data: &[u8], name: &[u8]) -> Option<bool> {
    let header = FileHeader64::<Endianness>::parse(data).ok()?;
    let endian = header.endian().ok()?;
    let sections = header.sections(endian, data).ok()?;
    let (table, _) = sections.gnu_hash(endian, data).ok()??;
    let symbols = sections.symbols(endian, data, SHT_DYNSYM).ok()?;
    let any_version = VersionTable::default();
    let hash = object::elf::gnu_hash(name);
    let found = table.find(endian, name, hash, None, &symbols, &any_version);
    Some(found.is_some())
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

/// ld64.lld (22) takes members of archives for weak needs as for others.
fn of_mach_o(data: &[u8]) -> Symbols<'_> {
    let mut found = Symbols::default();
    let Ok(file) = MachOFile64::<LittleEndian>::parse(data) else {
        return found;
    };
    for symbol in file.symbols().filter(ObjectSymbol::is_global) {
        let Ok(name) = symbol.name() else {
            continue;
        };
        if symbol.is_undefined() {
            found.needed.push(name);
        } else {
            found.defined.push(name);
        }
    }
    found
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

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Command;

    /// A library as the linker makes it with this option.
    fn library(option: &str) -> Vec<u8> {
        let folder = tempfile::tempdir().unwrap();
        let (source, output) = (folder.path().join("x.c"), folder.path().join("libx.so"));
        let text = "extern int needed; int defined, other;\n\
                    int use(void) { return needed; }\n";
        std::fs::write(&source, text).unwrap();
        let status = Command::new("cc")
            .args(["-shared", "-fPIC", option, "-o"])
            .args([&output, &source])
            .status();
        assert!(status.unwrap().success());
        std::fs::read(output).unwrap()
    }

    #[test]
    fn symbols_of_libraries_with_and_without_the_hash_table() {
        for (option, has_table) in [
            ("-Wl,--hash-style=gnu", true),
            ("-Wl,--hash-style=sysv", false),
        ] {
            let library = library(option);
            assert_eq!(by_hash(&library, b"defined").is_some(), has_table);
            for name in ["defined", "other", "use"] {
                assert!(shared_library_defines(&library, name), "{option} {name}");
            }
            for name in ["needed", "define", ""] {
                assert!(!shared_library_defines(&library, name), "{option} {name}");
            }
        }
    }

    #[test]
    fn what_is_no_library_defines_nothing() {
        let library = library("-Wl,--hash-style=gnu");
        for end in (0..library.len()).step_by(7) {
            shared_library_defines(&library[..end], "defined");
        }
        assert!(!shared_library_defines(b"INPUT(libx.so)", "defined"));
    }
}
