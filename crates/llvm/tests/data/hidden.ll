; A hidden kernel, where clang makes it protected by itself; compiled for another GPU than the tests'.
target triple = "amdgcn-amd-amdhsa"

@device_variable = hidden addrspace(1) externally_initialized global i32 0

define hidden amdgpu_kernel void @hidden_kernel(ptr addrspace(1) %p) #0 {
  store i32 1, ptr addrspace(1) %p
  ret void
}

attributes #0 = { "target-cpu"="gfx906" "target-features"="+gfx8-insts,+wavefrontsize64,+xnack" }
