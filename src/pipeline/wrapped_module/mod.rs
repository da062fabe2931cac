//! The registration code as LLVM IR, for `--print-wrapped-module` and
//! llvm-offload-wrapper.
//!
//! offlink's registration objects are not made from IR: their code is compiled
//! when offlink is built. This says the same in IR, with the names that LLVM
//! 22.1.8's wrapper gives to the parts.

mod globals_reg;
mod sycl;

use super::bundle::{self, BundleError, Described};
use crate::spirv_runtime::SpirvRuntime;
use offlink_bundle::entry::Generation;
use offlink_bundle::host_object::{Format, Platform};
use offlink_bundle::offload_binary::{self, OffloadKind, Version};
use std::borrow::Cow;
use std::fmt::Write;

/// The module that registers the images of one kind: for OpenMP these, for the
/// others their container.
///
/// # Errors
/// [`BundleError`] when an image does not fit into an offload binary.
pub fn text(
    kind: OffloadKind,
    entries: Generation,
    images: &[Described<'_>],
    container: &[u8],
    runtime_of_spirv: SpirvRuntime,
    host_triple: &str,
) -> Result<String, BundleError> {
    let program = Entries::new(entries, kind, host_triple);
    let fields = match entries {
        Generation::Llvm19 => "ptr, ptr, i64, i32, i32",
        Generation::Llvm20 | Generation::Llvm21 => "i64, i16, i16, i32, ptr, ptr, i64, i64, ptr",
    };
    let mut module = format!(
        "; ModuleID = 'offload.wrapper.module'
source_filename = \"offload.wrapper.module\"
target triple = \"{host_triple}\"

%struct.__tgt_offload_entry = type {{ {fields} }}
"
    );
    if kind == OffloadKind::Sycl {
        return Ok(module + &sycl::text(container));
    }
    module += &program.declared;
    match kind {
        OffloadKind::OpenMp => module += &openmp(images, &program, runtime_of_spirv)?,
        OffloadKind::Hip => module += &runtime(&HIP, &program, container),
        _ => module += &runtime(&CUDA, &program, container),
    }
    Ok(module)
}

/// The program's entries.
struct Entries {
    /// The form that they have.
    generation: Generation,
    /// What the module needs to refer to them.
    declared: String,
    /// The first, as a constant of the module.
    first: String,
    /// What is behind the last.
    end: String,
}

impl Entries {
    fn new(generation: Generation, kind: OffloadKind, host_triple: &str) -> Self {
        let section = generation.section(kind);
        let (start, end) = (format!("@__start_{section}"), format!("@__stop_{section}"));
        let platform = Platform::from_triple(host_triple);
        let is_coff = platform.is_ok_and(|platform| platform.format() == Format::Coff);
        if is_coff {
            // As in offlink's own objects one empty entry is at each end, which
            // no linker drops; LLVM's wrapper has ends without size.
            let edge = "weak_odr hidden constant %struct.__tgt_offload_entry zeroinitializer";
            return Self {
                generation,
                declared: format!(
                    "
$__start_{section} = comdat any
$__stop_{section} = comdat any

{start} = {edge}, section \"{section}$OA\", comdat, align 8
{end} = {edge}, section \"{section}$OZ\", comdat, align 8
"
                ),
                first: format!("getelementptr (%struct.__tgt_offload_entry, ptr {start}, i64 1)"),
                end,
            };
        }
        let none = "[0 x %struct.__tgt_offload_entry]";
        Self {
            generation,
            declared: format!(
                "
{start} = external hidden constant {none}
{end} = external hidden constant {none}
@__dummy.{section} = internal constant {none} zeroinitializer, section \"{section}\", align 8
@llvm.compiler.used = appending global [1 x ptr] [ptr @__dummy.{section}], section \"llvm.metadata\"
"
            ),
            first: start,
            end,
        }
    }
}

fn constructor(function: &str) -> String {
    format!(
        "@llvm.global_ctors = appending global [1 x {{ i32, ptr, ptr }}] \
         [{{ i32, ptr, ptr }} {{ i32 101, ptr @{function}, ptr null }}]\n"
    )
}

fn openmp(
    images: &[Described<'_>],
    entries: &Entries,
    runtime_of_spirv: SpirvRuntime,
) -> Result<String, BundleError> {
    let mut text = String::from(
        "\n%__tgt_device_image = type { ptr, ptr, ptr, ptr }\n\
         %__tgt_bin_desc = type { i32, ptr, ptr, ptr }\n\n",
    );
    let ends = format!("ptr {}, ptr {}", entries.first, entries.end);
    let mut rows = Vec::new();
    for (number, image) in images.iter().enumerate() {
        let mut binary = Vec::new();
        let image = std::slice::from_ref(image);
        bundle::offload_binary(image, Version::V1, runtime_of_spirv, &mut binary)?;
        let name = match number {
            0 => ".omp_offloading.device_image".to_owned(),
            _ => format!(".omp_offloading.device_image.{number}"),
        };
        let (start, end) = bounds(&binary);
        let size = binary.len();
        text += &format!(
            "@{name} = internal unnamed_addr constant [{size} x i8] {}, section \"{}\", align 8\n",
            bytes(&binary),
            offload_binary::SECTION_NAME
        );
        let at =
            |offset| format!("ptr getelementptr ([{size} x i8], ptr @{name}, i64 0, i64 {offset})");
        rows.push(format!(
            "%__tgt_device_image {{ {}, {}, {ends} }}",
            at(start),
            at(end)
        ));
    }
    let count = rows.len();
    text += &format!(
        "@.omp_offloading.device_images = internal unnamed_addr constant \
         [{count} x %__tgt_device_image] [{}]\n\
         @.omp_offloading.descriptor = internal constant %__tgt_bin_desc \
         {{ i32 {count}, ptr @.omp_offloading.device_images, {ends} }}\n{}
define internal void @.omp_offloading.descriptor_reg() section \".text.startup\" {{
entry:
  call void @__tgt_register_lib(ptr @.omp_offloading.descriptor)
  %0 = call i32 @atexit(ptr @.omp_offloading.descriptor_unreg)
  ret void
}}

define internal void @.omp_offloading.descriptor_unreg() section \".text.startup\" {{
entry:
  call void @__tgt_unregister_lib(ptr @.omp_offloading.descriptor)
  ret void
}}

declare void @__tgt_register_lib(ptr)

declare void @__tgt_unregister_lib(ptr)

declare i32 @atexit(ptr)
",
        rows.join(", "),
        constructor(".omp_offloading.descriptor_reg")
    );
    Ok(text)
}

/// Where the image of an offload binary that was just written starts and ends.
fn bounds(binary: &[u8]) -> (usize, usize) {
    let images = offload_binary::parse(binary).unwrap_or_default();
    let whole = (binary.len(), binary.len());
    images.first().map_or(whole, |image| match &image.data {
        Cow::Borrowed(data) => {
            let start = (data.as_ptr() as usize).saturating_sub(binary.as_ptr() as usize);
            (start, start + data.len())
        }
        Cow::Owned(_) => whole,
    })
}

/// What is different between CUDA and HIP.
struct Runtime {
    /// `cuda` or `hip`, in the names of the module and of the runtime.
    name: &'static str,
    /// The number of the kind in entries.
    kind: u16,
    magic: u32,
    image_section: &'static str,
    image_alignment: usize,
    wrapper_section: &'static str,
}

const CUDA: Runtime = Runtime {
    name: "cuda",
    kind: 2,
    magic: 0x466243b1,
    image_section: ".nv_fatbin",
    image_alignment: 16,
    wrapper_section: ".nvFatBinSegment",
};

const HIP: Runtime = Runtime {
    name: "hip",
    kind: 4,
    magic: 0x48495046,
    image_section: ".hip_fatbin",
    image_alignment: 4096,
    wrapper_section: ".hipFatBinSegment",
};

fn runtime(runtime: &Runtime, entries: &Entries, container: &[u8]) -> String {
    let Runtime {
        name,
        magic,
        image_section,
        image_alignment,
        wrapper_section,
        ..
    } = runtime;
    let size = container.len();
    let is_cuda = *name == "cuda";
    // nvcc's own way to set managed variables up before they are used.
    let after = if is_cuda {
        "  call void @__cudaRegisterFatBinaryEnd(ptr %handle)
  %known = icmp ne ptr @__cudaInitModule, null
  %wanted = and i1 %managed, %known
  br i1 %wanted, label %init, label %done

init:
  %initialised = call i8 @__cudaInitModule(ptr %handle)
  br label %done

done:
"
    } else {
        ""
    };
    let declared = if is_cuda {
        "\ndeclare void @__cudaRegisterFatBinaryEnd(ptr)\n\n\
         declare extern_weak i8 @__cudaInitModule(ptr)\n"
    } else {
        ""
    };
    format!(
        "
%fatbin_wrapper = type {{ i32, i32, ptr, ptr }}

@.fatbin_image = internal constant [{size} x i8] {}, section \"{image_section}\", align {image_alignment}
@.fatbin_wrapper = internal constant %fatbin_wrapper {{ i32 {magic}, i32 1, ptr @.fatbin_image, ptr null }}, section \"{wrapper_section}\", align 8
@.{name}.binary_handle = internal global ptr null
{}
define internal void @.{name}.fatbin_reg() section \".text.startup\" {{
entry:
  %handle = call ptr @__{name}RegisterFatBinary(ptr @.fatbin_wrapper)
  store ptr %handle, ptr @.{name}.binary_handle, align 8
  %managed = call i1 @.{name}.globals_reg(ptr %handle)
{after}  %registered = call i32 @atexit(ptr @.{name}.fatbin_unreg)
  ret void
}}

define internal void @.{name}.fatbin_unreg() section \".text.startup\" {{
entry:
  %handle = load ptr, ptr @.{name}.binary_handle, align 8
  call void @__{name}UnregisterFatBinary(ptr %handle)
  ret void
}}

declare ptr @__{name}RegisterFatBinary(ptr)
{declared}
declare void @__{name}UnregisterFatBinary(ptr)

declare i32 @atexit(ptr)

{}",
        bytes(container),
        constructor(&format!(".{name}.fatbin_reg")),
        globals_reg::text(runtime, entries)
    )
}

/// A constant of bytes: `c"…"`, with all but plain characters as `\XX`.
fn bytes(data: &[u8]) -> String {
    if data.is_empty() {
        return "zeroinitializer".into();
    }
    let mut text = String::with_capacity(data.len() * 3 + 3);
    text.push_str("c\"");
    for byte in data {
        match byte {
            b'"' | b'\\' => {}
            b' '..=b'~' => {
                text.push(char::from(*byte));
                continue;
            }
            _ => {}
        }
        // Writing to a string can't fail.
        let _ = write!(text, "\\{byte:02X}");
    }
    text.push('"');
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_escaped() {
        assert_eq!(bytes(b"a\"\\\0 \xff"), "c\"a\\22\\5C\\00 \\FF\"");
        assert_eq!(bytes(b""), "zeroinitializer");
    }

    #[test]
    fn an_image_lies_behind_the_head_of_its_binary() {
        let image = Described {
            kind: OffloadKind::OpenMp,
            triple: "t".into(),
            arch: "a".into(),
            data: b"0123456789abcdef",
        };
        let mut binary = Vec::new();
        bundle::offload_binary(&[image], Version::V1, SpirvRuntime::default(), &mut binary)
            .unwrap();
        let (start, end) = bounds(&binary);
        assert_eq!(&binary[start..end], b"0123456789abcdef");
    }
}
