; A library for GPUs, as old as libdevice in its triple and its silence about denormal numbers.
target datalayout = "e-i64:64-v16:16-v32:32-n16:32:64"
target triple = "nvptx64-nvidia-gpulibs"

@table = addrspace(1) constant [2 x float] [float 5.0, float 7.0]
@state = addrspace(1) global i32 0

define float @lib_used(float %x) #0 {
  %index = fptosi float %x to i32
  %place = getelementptr [2 x float], ptr addrspace(1) @table, i32 0, i32 %index
  %y = load float, ptr addrspace(1) %place
  %z = call float @inner(float %y)
  ret float %z
}

define internal float @inner(float %x) #0 {
  %y = fmul float %x, %x
  ret float %y
}

define float @lib_unused(float %x) #0 {
  store i32 1, ptr addrspace(1) @state
  %y = call float @nowhere_either(float %x)
  ret float %y
}

define float @own(float %x) #0 {
  ret float 99.0
}

declare float @nowhere_either(float)

attributes #0 = { noinline }
