//! Registration objects as C source, for hosts without embedded code: one file
//! that gcc and clang turn into the object, for ELF and COFF alike.
//!
//! The images are not in the source; the assembler takes them from a file.

use std::fmt::Write;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use super::platform::{Format, Platform};
use crate::entry::Generation;
use crate::offload_binary::OffloadKind;

const ENTRY: &str = include_str!("../../runtime/entry.h");
pub(super) const OPENMP: &str = include_str!("../../runtime/openmp.c");
pub(super) const CUDA: &str = include_str!("../../runtime/cuda.c");
pub(super) const HIP: &str = include_str!("../../runtime/hip.c");
pub(super) const SYCL_BINARY: &str = include_str!("../../runtime/sycl_binary.c");
pub(super) const SYCL_DESCRIPTOR: &str = include_str!("../../runtime/sycl_descriptor.c");

/// How C includes [`ENTRY`]; it is put in here, so that there is one file.
const INCLUDE: &str = "#include \"entry.h\"\n";

/// Where the contents of a file go.
pub(super) struct Blob<'a> {
    pub(super) section: &'a str,
    /// The type of the section, as in assembly: a name or a number.
    pub(super) elf_type: &'a str,
    /// In bytes, a power of two.
    pub(super) alignment: u64,
    /// The C name of its first byte, which no other object sees.
    pub(super) symbol: &'a str,
}

/// The source for `platform` of an object of `code` and the contents of `file`,
/// which has to be there when the source is compiled. The code walks the kind's
/// entries, of their form.
pub(super) fn whole(
    platform: Platform,
    code: &str,
    (kind, entries): (OffloadKind, Generation),
    blob: &Blob<'_>,
    file: &Path,
) -> String {
    let (section, end) = match platform.format {
        Format::Elf => (
            format!(".pushsection {},\"a\",@{}", blob.section, blob.elf_type),
            ".popsection",
        ),
        Format::Coff => (format!(".section {},\"dr\"", blob.section), ".text"),
    };
    let lines = [
        section,
        format!(".p2align {}", blob.alignment.trailing_zeros()),
        format!("{}:", blob.symbol),
        format!(".incbin \"{}\"", escaped(file.as_os_str().as_bytes())),
        end.to_owned(),
    ];
    let of_llvm = match entries {
        Generation::Llvm19 => 19,
        Generation::Llvm20 => 20,
        Generation::Llvm21 => 21,
    };
    let mut source = format!(
        "#define WHOLE_OBJECT\n#define ENTRIES {}\n#define ENTRIES_OF_LLVM {of_llvm}\n__asm__(",
        entries.section(kind)
    );
    for line in lines {
        source += &format!(
            "\"{}\\n\"\n",
            line.replace('\\', "\\\\").replace('"', "\\\"")
        );
    }
    source += ");\n";
    source += &code.replace(INCLUDE, ENTRY);
    source
}

/// The inside of a string of C or the assembler, in which all bytes but plain
/// ones are octal.
pub(super) fn escaped(bytes: &[u8]) -> String {
    let mut text = String::new();
    for byte in bytes {
        if byte.is_ascii_alphanumeric() || b"/._-".contains(byte) {
            text.push(char::from(*byte));
        } else {
            // Writing to a string does not fail.
            let _ = write!(text, "\\{byte:03o}");
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_path_is_a_string_for_c_and_the_assembler() {
        assert_eq!(
            escaped(b"/tmp/a b\"\\\xff\n.o"),
            r"/tmp/a\040b\042\134\377\012.o"
        );
        let platform = Platform::from_triple("aarch64-linux-gnu").unwrap();
        let source = super::super::cuda::source(platform, Generation::Llvm21, Path::new("a\"b"));
        assert!(source.contains(r#"".incbin \"a\\042b\"\n""#), "{source}");
    }

    #[test]
    fn the_source_needs_no_other_file() {
        for triple in ["riscv64-linux-gnu", "x86_64-pc-windows-msvc"] {
            let platform = Platform::from_triple(triple).unwrap();
            let file = Path::new("images");
            for source in [
                super::super::cuda::source(platform, Generation::Llvm19, file),
                super::super::hip::source(platform, Generation::Llvm20, file),
                super::super::openmp::source(platform, Generation::Llvm21, &[], file).unwrap(),
                super::super::sycl::source(platform, &[], file).unwrap(),
            ] {
                assert!(!source.contains("#include"), "{source}");
                assert!(source.contains("struct entry {"));
            }
        }
    }
}
