//! The function that registers the kernels and variables of CUDA or HIP.

use super::{Entries, Runtime};
use offlink_bundle::entry::Generation;

/// The function, with declarations of what it calls. It returns whether there
/// is a managed variable, as offlink's own code does.
pub(super) fn text(runtime: &Runtime, entries: &Entries) -> String {
    let Runtime { name, kind, .. } = runtime;
    let Entries {
        generation,
        first,
        end,
        ..
    } = entries;
    let fields: &[(&str, u32, &str, u32)] = match generation {
        Generation::Llvm19 => &[
            ("addr", 0, "ptr", 8),
            ("name", 1, "ptr", 8),
            ("size", 2, "i64", 8),
            ("flags", 3, "i32", 4),
            ("data", 4, "i32", 4),
        ],
        Generation::Llvm20 | Generation::Llvm21 => &[
            ("addr", 4, "ptr", 8),
            ("aux", 8, "ptr", 8),
            ("kind", 2, "i16", 2),
            ("name", 5, "ptr", 8),
            ("size", 6, "i64", 8),
            ("flags", 3, "i32", 4),
            ("data", 7, "i64", 8),
        ],
    };
    let fields: String = fields.iter().map(|(field, index, of_type, alignment)| {
        format!(
            "  %{field}.at = getelementptr inbounds %struct.__tgt_offload_entry, ptr %item, i32 0, i32 {index}
  %{field} = load {of_type}, ptr %{field}.at, align {alignment}
"
        )
    }).collect();
    let calls = if *name == "hip" { HIP } else { CUDA };
    // What an entry of clang 19 does not tell, the section does, or nothing.
    let is_of_clang_19 = *generation == Generation::Llvm19;
    let dimension = if is_of_clang_19 {
        "add i32 %data, 0"
    } else {
        "trunc i64 %data to i32"
    };
    let ours = if *generation == Generation::Llvm21 {
        format!("icmp eq i16 %kind, {kind}")
    } else {
        "icmp eq i16 0, 0".to_owned()
    };
    let managed = if is_of_clang_19 { "" } else { calls.managed };
    format!(
        "define internal i1 @.{name}.globals_reg(ptr %handle) section \".text.startup\" {{
entry:
  %some = icmp ne ptr {first}, {end}
  br i1 %some, label %while.entry, label %while.end

while.entry:
  %item = phi ptr [ {first}, %entry ], [ %next, %if.end ]
  %before = phi i1 [ false, %entry ], [ %managed, %if.end ]
{fields}  %type = and i32 %flags, 7
  %extern.bit = and i32 %flags, 8
  %extern = lshr i32 %extern.bit, 3
  %constant.bit = and i32 %flags, 16
  %constant = lshr i32 %constant.bit, 4
  %normalized.bit = and i32 %flags, 32
  %normalized = lshr i32 %normalized.bit, 5
  %data.low = {dimension}
  %ours = {ours}
  br i1 %ours, label %if.kind, label %if.end

if.kind:
  %is.kernel = icmp eq i64 %size, 0
  br i1 %is.kernel, label %if.then, label %if.else

if.then:
  call void @__{name}RegisterFunction(ptr %handle, ptr %addr, ptr %name, ptr %name, i32 -1, ptr null, ptr null, ptr null, ptr null, ptr null)
  br label %if.end

if.else:
  switch i32 %type, label %if.end [
    i32 0, label %sw.global
    i32 1, label %sw.managed
    i32 2, label %sw.surface
    i32 3, label %sw.texture
  ]

sw.global:
  call void @__{name}RegisterVar(ptr %handle, ptr %addr, ptr %name, ptr %name, i32 %extern, i64 %size, i32 %constant, i32 0)
  br label %if.end

sw.managed:
{}  br label %if.end

sw.surface:
{}  br label %if.end

sw.texture:
{}  br label %if.end

if.end:
  %managed = phi i1 [ true, %sw.managed ], [ %before, %while.entry ], [ %before, %if.then ], [ %before, %if.else ], [ %before, %sw.global ], [ %before, %sw.surface ], [ %before, %sw.texture ]
  %next = getelementptr inbounds %struct.__tgt_offload_entry, ptr %item, i64 1
  %last = icmp eq ptr %next, {end}
  br i1 %last, label %while.end, label %while.entry

while.end:
  %any = phi i1 [ false, %entry ], [ %managed, %if.end ]
  ret i1 %any
}}

declare void @__{name}RegisterFunction(ptr, ptr, ptr, ptr, i32, ptr, ptr, ptr, ptr, ptr)

declare void @__{name}RegisterVar(ptr, ptr, ptr, ptr, i32, i64, i32, i32)

{}",
        managed, calls.surface, calls.texture, calls.declared
    )
}

/// The calls for variables that are not plain.
struct Calls {
    managed: &'static str,
    surface: &'static str,
    texture: &'static str,
    declared: &'static str,
}

/// Surfaces and textures have no functions in CUDA 12 and newer. Managed
/// variables are registered as CUDA 13.0's `crt/host_runtime.h` declares it.
const CUDA: Calls = Calls {
    managed: "  call void @__cudaRegisterManagedVar(ptr %handle, ptr %aux, ptr %name, ptr %name, i32 %extern, i64 %size, i32 %constant, i32 0)\n",
    surface: "",
    texture: "",
    declared: "declare void @__cudaRegisterManagedVar(ptr, ptr, ptr, ptr, i32, i64, i32, i32)\n",
};

const HIP: Calls = Calls {
    managed: "  call void @__hipRegisterManagedVar(ptr %handle, ptr %aux, ptr %addr, ptr %name, i64 %size, i32 %data.low)\n",
    surface: "  call void @__hipRegisterSurface(ptr %handle, ptr %addr, ptr %name, ptr %name, i32 %data.low, i32 %extern)\n",
    texture: "  call void @__hipRegisterTexture(ptr %handle, ptr %addr, ptr %name, ptr %name, i32 %data.low, i32 %normalized, i32 %extern)\n",
    declared: "declare void @__hipRegisterManagedVar(ptr, ptr, ptr, ptr, i64, i32)

declare void @__hipRegisterSurface(ptr, ptr, ptr, ptr, i32, i32)

declare void @__hipRegisterTexture(ptr, ptr, ptr, ptr, i32, i32, i32)
",
};
