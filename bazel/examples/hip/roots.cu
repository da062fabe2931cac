// Without HIP's headers, so that no ROCm is needed to compile it.
#define __device__ __attribute__((device))
#define __global__ __attribute__((global))
struct dim3 {
  unsigned x, y, z;
};
extern "C" int hipLaunchKernel(const void *, dim3, dim3, void **, unsigned long, void *);

// From ROCm's device libraries, which the device link adds.
extern "C" __device__ double __ocml_sqrt_f64(double);

extern "C" __global__ void roots(double *values) {
  values[__builtin_amdgcn_workitem_id_x()] =
      __ocml_sqrt_f64(values[__builtin_amdgcn_workitem_id_x()]);
}
