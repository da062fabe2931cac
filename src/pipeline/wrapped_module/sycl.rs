//! The registration code for SYCL, in the form of LLVM 22.1.8 or of LLVM 24.

use super::bytes;
use offlink_bundle::host_object::sycl;
use offlink_bundle::offload_binary::{self, Image};
use offlink_bundle::sycl_symbols;

/// What registers the offload binaries in `container`, which was just written. As
/// in offlink's own objects the kernels' entries stand beside the images only;
/// LLVM 22 has them among the program's too.
pub(super) fn text(container: &[u8]) -> String {
    if sycl::is_for_llvm_24(container) {
        return binary(container);
    }
    // A dry run has no container, and so no images.
    descriptor(&offload_binary::parse(container).unwrap_or_default())
}

fn descriptor(images: &[Image<'_>]) -> String {
    let mut text = String::from(
        "
%__sycl.tgt_device_image = type { i16, i8, i8, ptr, ptr, ptr, ptr, ptr, ptr, ptr, ptr, ptr }
%__sycl.tgt_bin_desc = type { i16, i16, ptr, ptr, ptr }

",
    );
    let mut rows = Vec::new();
    let mut names_so_far = 0;
    for (number, image) in images.iter().enumerate() {
        let size = image.data.len();
        text += &string(
            &format!(".sycl_offloading.target.{number}"),
            image.triple().as_bytes(),
        );
        text += &string(&format!(".sycl_offloading.opts.compile.{number}"), b"");
        text += &string(&format!(".sycl_offloading.opts.link.{number}"), b"");
        text += &format!(
            "@.sycl_offloading.{number}.data = internal unnamed_addr constant [{size} x i8] {}, \
             section \"{}\", align 8\n",
            bytes(&image.data),
            offload_binary::SECTION_NAME
        );
        let names = sycl_symbols::in_text(image.string(sycl_symbols::KEY).unwrap_or_default());
        let mut entries = Vec::new();
        for name in &names {
            let symbol = numbered(".offloading.entry_name", names_so_far);
            text += &string(&symbol, name.as_bytes());
            entries.push(format!(
                "%struct.__tgt_offload_entry {{ i64 0, i16 1, i16 8, i32 0, ptr null, \
                 ptr @{symbol}, i64 0, i64 0, ptr null }}"
            ));
            names_so_far += 1;
        }
        let count = entries.len();
        let array = numbered(".sycl_offloading.entries_arr", number);
        let ends = if entries.is_empty() {
            "ptr null, ptr null".to_owned()
        } else {
            let of_type = format!("[{count} x %struct.__tgt_offload_entry]");
            text += &format!(
                "@{array} = internal constant {of_type} [{}]\n",
                entries.join(", ")
            );
            format!("ptr @{array}, ptr getelementptr ({of_type}, ptr @{array}, i64 1)")
        };
        rows.push(format!(
            "%__sycl.tgt_device_image {{ i16 3, i8 8, i8 {}, ptr @.sycl_offloading.target.{number}, \
             ptr @.sycl_offloading.opts.compile.{number}, ptr @.sycl_offloading.opts.link.{number}, \
             ptr @.sycl_offloading.{number}.data, ptr getelementptr ([{size} x i8], \
             ptr @.sycl_offloading.{number}.data, i64 0, i64 {size}), {ends}, ptr null, ptr null }}",
            image.image_kind.number()
        ));
    }
    let count = rows.len();
    let structors = |list: &str, function: &str| {
        format!(
            "@llvm.global_{list} = appending global [1 x {{ i32, ptr, ptr }}] \
             [{{ i32, ptr, ptr }} {{ i32 1, ptr @{function}, ptr null }}]\n"
        )
    };
    text += &format!(
        "@.sycl_offloading.device_images = internal unnamed_addr constant \
         [{count} x %__sycl.tgt_device_image] [{}]\n\
         @.sycl_offloading.descriptor = internal constant %__sycl.tgt_bin_desc \
         {{ i16 1, i16 {count}, ptr @.sycl_offloading.device_images, ptr null, ptr null }}\n{}{}
define internal void @sycl.descriptor_reg() section \".text.startup\" {{
entry:
  call void @__sycl_register_lib(ptr @.sycl_offloading.descriptor)
  ret void
}}

define internal void @sycl.descriptor_unreg() section \".text.startup\" {{
entry:
  call void @__sycl_unregister_lib(ptr @.sycl_offloading.descriptor)
  ret void
}}

declare void @__sycl_register_lib(ptr)

declare void @__sycl_unregister_lib(ptr)
",
        rows.join(", "),
        structors("ctors", "sycl.descriptor_reg"),
        structors("dtors", "sycl.descriptor_unreg"),
    );
    text
}

fn binary(container: &[u8]) -> String {
    let size = container.len();
    let arguments = format!("ptr @.sycl_offloading.binary, i64 {size}");
    format!(
        "
@.sycl_offloading.binary = internal unnamed_addr constant [{size} x i8] {}, section \"{}\", align 8
{}
define internal void @sycl.descriptor_reg() section \".text.startup\" {{
entry:
  call void @__sycl_register_lib({arguments})
  %0 = call i32 @atexit(ptr @sycl.descriptor_unreg)
  ret void
}}

define internal void @sycl.descriptor_unreg() section \".text.startup\" {{
entry:
  call void @__sycl_unregister_lib({arguments})
  ret void
}}

declare void @__sycl_register_lib(ptr, i64)

declare void @__sycl_unregister_lib(ptr, i64)

declare i32 @atexit(ptr)
",
        bytes(container),
        offload_binary::SECTION_NAME,
        super::constructor("sycl.descriptor_reg")
    )
}

/// A constant string, ended by a NUL.
fn string(symbol: &str, text: &[u8]) -> String {
    let contents = [text, &[0]].concat();
    format!(
        "@{symbol} = internal unnamed_addr constant [{} x i8] {}\n",
        contents.len(),
        bytes(&contents)
    )
}

/// LLVM numbers equal names from the second on.
fn numbered(name: &str, number: usize) -> String {
    match number {
        0 => name.to_owned(),
        _ => format!("{name}.{number}"),
    }
}
