; What front ends rarely make: a kernel of internal linkage, names that LLVM's pipeline strings
; can't hold, and a variable that only llvm.compiler.used refers to, through a cast.
target triple = "nvptx64-nvidia-cuda"

@only_used = addrspace(1) global i32 5
@llvm.compiler.used = appending global [1 x ptr] [ptr addrspacecast (ptr addrspace(1) @only_used to ptr)], section "llvm.metadata"
@dropped = addrspace(1) global i32 6

define internal ptx_kernel void @local(ptr %p) {
  store i32 2, ptr %p
  ret void
}

define i32 @"odd<name>,(with;marks)"(i32 %x) {
  ret i32 %x
}
