// A library with a kernel of its own, linked statically or shared. The program
// has none, or one of its own in another image.
#include <cuda_runtime.h>

static __global__ void set(int *out) { *out = 42; }

int answer_of_library() {
  int *device, host = 0;
  cudaMalloc(&device, sizeof host);
  set<<<1, 1>>>(device);
  cudaMemcpy(&host, device, sizeof host, cudaMemcpyDeviceToHost);
  return host;
}
