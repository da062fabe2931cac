; A constructor that can't be run at compile time.
target triple = "nvptx64-nvidia-cuda"

@variable = addrspace(1) global i32 0
@llvm.global_ctors = appending global [1 x { i32, ptr, ptr }] [{ i32, ptr, ptr } { i32 65535, ptr @constructor, ptr null }]

define internal void @constructor() {
  store volatile i32 3, ptr addrspace(1) @variable
  ret void
}

define ptx_kernel void @kernel(ptr %p) {
  %x = load volatile i32, ptr addrspace(1) @variable
  store i32 %x, ptr %p
  ret void
}
