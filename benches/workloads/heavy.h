// Kernels with big bodies: loops of many steps, unrolled for the GPU, that share
// device functions, a table of constants and counters.
#pragma once
#include "check.h"

#ifdef __CUDA_ARCH__
#define UNROLLED _Pragma("unroll")
#define TABLE table
#else
#define UNROLLED
#define TABLE table_on_host
#endif

constexpr int COUNTERS = 64;
constexpr int LANES = 16;

extern __constant__ unsigned table[256];
extern __device__ unsigned counters[COUNTERS];
extern const unsigned table_on_host[256];
extern unsigned counters_of_host[COUNTERS];

// Not to be inlined, so that all kernels refer to them.
__host__ __device__ unsigned long_mix(unsigned a, unsigned b);
__host__ __device__ unsigned long_fold(unsigned a, unsigned b);

inline __host__ __device__ unsigned turned(unsigned value, int by) {
  return value << by | value >> (32 - by);
}

template <typename Body>
bool same_as_host(void (*kernel)(unsigned *), Body body, int counter) {
  constexpr int threads = 32;
  unsigned host[threads], result[threads], count = 0, *device;
  for (int i = 0; i < threads; i++)
    host[i] = i * 2654435761u;
  cudaMalloc(&device, sizeof host);
  cudaMemcpy(device, host, sizeof host, cudaMemcpyHostToDevice);
  kernel<<<1, threads>>>(device);
  cudaMemcpy(result, device, sizeof host, cudaMemcpyDeviceToHost);
  cudaFree(device);
  counters_of_host[counter] += threads;
  cudaMemcpyFromSymbol(&count, counters, sizeof count, counter * sizeof count);
  bool right = count == counters_of_host[counter];
  for (int i = 0; i < threads; i++)
    right &= body(host[i]) == result[i];
  return right;
}

#define KERNEL(name, body, counter)                                                  \
  extern "C" __global__ void name(unsigned *data) {                                  \
    data[threadIdx.x] = body(data[threadIdx.x]);                                     \
    atomicAdd(&counters[counter], 1);                                                \
  }                                                                                  \
  static Check check_##name(#name, [] { return same_as_host(name, body, counter); });
