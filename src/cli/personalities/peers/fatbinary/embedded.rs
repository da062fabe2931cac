//! The C file by which nvcc takes a fatbin into a host object: the images as
//! an array, and the wrapper that the CUDA runtime is given. Names, sections
//! and values are those that fatbinary 13.0.88 writes and that nvcc's other
//! files refer to.

use std::io::{self, Write};

/// What becomes of the code that the fatbin holds.
#[derive(Clone, Copy, Debug)]
pub struct Linkage {
    /// It is relocatable (`--device-c`): nvlink will find it in a section of
    /// its own, and the wrapper has a name for the module's other files.
    pub relocatable: bool,
    /// It was linked (`--link`): the wrapper also refers to the fatbins that
    /// it was linked from.
    pub linked: bool,
}

/// The array's numbers stand in rows of so many.
const ROW: usize = 4;

/// Writes the C file. `fatbin` is a multiple of eight bytes long.
///
/// # Errors
/// What the sink says.
pub fn write(fatbin: &[u8], linkage: Linkage, out: &mut impl Write) -> io::Result<()> {
    let data_section = if linkage.relocatable {
        "__nv_relfatbin"
    } else {
        ".nv_fatbin"
    };
    write!(
        out,
        "#ifndef __SKIP_INTERNAL_FATBINARY_HEADERS\n\
         #include \"fatbinary_section.h\"\n\
         #endif\n\
         #define __CUDAFATBINSECTION \".nvFatBinSegment\"\n\
         #define __CUDAFATBINDATASECTION \"{data_section}\"\n\
         #ifdef __cplusplus\n\
         extern \"C\" {{\n\
         #endif\n\
         static const unsigned long long fatbinData[]\n    \
         __attribute__((aligned(8), section(__CUDAFATBINDATASECTION))) = {{\n"
    )?;
    let (words, _) = fatbin.as_chunks::<8>();
    for row in words.chunks(ROW) {
        for word in row {
            write!(out, "{:#018x}ull,", u64::from_le_bytes(*word))?;
        }
        writeln!(out)?;
    }
    writeln!(out, "}};")?;
    let name = if linkage.relocatable {
        write!(
            out,
            "#undef __FATIDNAME_CORE\n\
             #undef __FATIDNAME\n\
             #define __FATIDNAME_CORE(id) __fatbinwrap##id\n\
             #define __FATIDNAME(id) __FATIDNAME_CORE(id)\n"
        )?;
        "extern const __fatBinC_Wrapper_t __FATIDNAME(__NV_MODULE_ID)"
    } else {
        "static const __fatBinC_Wrapper_t __fatDeviceText"
    };
    let (version, prelinked) = if linkage.linked {
        (2, "(void **)__cudaPrelinkedFatbins")
    } else {
        (1, "0")
    };
    write!(
        out,
        "{name}\n    \
         __attribute__((aligned(8), section(__CUDAFATBINSECTION))) =\n    \
         {{0x466243b1, {version}, fatbinData, {prelinked}}};\n\
         #ifdef __cplusplus\n\
         }}\n\
         #endif\n"
    )
}
