#include "cuda/square.cuh"
#include "cuda/sums.h"

__device__ float scale = 1;

__global__ void sum(int n, float *result) {
  float part = 0;
  for (int i = threadIdx.x; i < n; i += blockDim.x)
    part += square(static_cast<float>(i));
#if __CUDA_ARCH__ >= 900
  // Code for one architecture only.
  part = __fmaf_rn(part, scale, 0.0f);
#else
  part *= scale;
#endif
  atomicAdd(result, part);
}

float sum_of_squares(int n) {
  float *result, sum_of_all = 0;
  if (cudaMalloc(&result, sizeof *result) != cudaSuccess)
    return -1;
  cudaMemcpy(result, &sum_of_all, sizeof *result, cudaMemcpyHostToDevice);
  sum<<<1, 64>>>(n, result);
  cudaMemcpy(&sum_of_all, result, sizeof *result, cudaMemcpyDeviceToHost);
  cudaFree(result);
  return sum_of_all;
}
