; Inline assembly that no assembler knows: an error that LLVM reports without stopping.
target triple = "amdgcn-amd-amdhsa"

define amdgpu_kernel void @kernel() {
  call void asm sideeffect "no_such_instruction v0", ""()
  ret void
}
