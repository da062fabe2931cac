#include "units.h"

__device__ int shared_counter = 7;
__constant__ int factors[4];

__device__ int scaled(int value) { return value * factors[value]; }

static __global__ void own(int *out, int *sum, int count) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count)
    atomicAdd(sum, out[i]);
}

int sum_by_other_unit(int *device, int count) {
  int *sum, host = 0;
  cudaMalloc(&sum, sizeof host);
  cudaMemset(sum, 0, sizeof host);
  fill<int><<<4, 256>>>(device, 3, count);
  own<<<4, 256>>>(device, sum, count);
  cudaMemcpy(&host, sum, sizeof host, cudaMemcpyDeviceToHost);
  return host;
}
