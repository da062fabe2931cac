; A kernel that needs a library, a function that the library has too, and dead code that needs what nobody has.
target triple = "nvptx64-nvidia-cuda"

define ptx_kernel void @kernel(ptr addrspace(1) %out) #0 {
  %x = load float, ptr addrspace(1) %out
  %y = call float @lib_used(float %x)
  %z = call float @own(float %y)
  store float %z, ptr addrspace(1) %out
  ret void
}

define float @own(float %x) #0 {
  %y = fadd float %x, 2.0
  ret float %y
}

define float @dead(float %x) #0 {
  %y = call float @nowhere(float %x)
  ret float %y
}

declare float @lib_used(float)
declare float @nowhere(float)

attributes #0 = { noinline "denormal-fp-math-f32"="preserve-sign,preserve-sign" }
