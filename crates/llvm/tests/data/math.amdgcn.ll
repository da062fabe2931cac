; Mathematics under names that GPUs have no code for, and some that they have.
target triple = "amdgcn-amd-amdhsa"

define amdgpu_kernel void @kernel(ptr addrspace(1) %singles, ptr addrspace(1) %doubles) {
  %a = load float, ptr addrspace(1) %singles
  %b = call float @llvm.tan.f32(float %a)
  %c = call afn float @llvm.sin.f32(float %b)
  %d = call float @llvm.sqrt.f32(float %c)
  %e = call float @atan2f(float %d, float %a)
  store float %e, ptr addrspace(1) %singles
  %f = load double, ptr addrspace(1) %doubles
  %g = call double @llvm.sin.f64(double %f)
  %h = call double @llvm.pow.f64(double %g, double %f)
  %i = call double @cbrt(double %h)
  %j = call double @hypot(double %i)
  store double %j, ptr addrspace(1) %doubles
  ret void
}

declare float @llvm.tan.f32(float)
declare float @llvm.sin.f32(float)
declare float @llvm.sqrt.f32(float)
declare float @atan2f(float, float)
declare double @llvm.sin.f64(double)
declare double @llvm.pow.f64(double, double)
declare double @cbrt(double)
; C's takes two.
declare double @hypot(double)
