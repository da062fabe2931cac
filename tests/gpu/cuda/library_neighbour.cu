// A program with a kernel of its own beside the shared library's.
#include "check.h"

int answer_of_library();

static __global__ void set(int *out) { *out = 24; }

int main() {
  int *device, host = 0;
  cudaMalloc(&device, sizeof host);
  set<<<1, 1>>>(device);
  cudaMemcpy(&host, device, sizeof host, cudaMemcpyDeviceToHost);
  return report("neighbours", host == 24 && answer_of_library() == 42);
}
