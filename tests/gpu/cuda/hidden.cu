// A kernel that the compiler was told to hide. clang-linker-wrapper 22 drops it
// under -foffload-lto, registers it all the same and the launch does nothing.
#include "check.h"

__attribute__((visibility("hidden"))) __global__ void set(int *out) { *out = 42; }

int main() {
  int *device, host = 0;
  cudaMalloc(&device, sizeof host);
  set<<<1, 1>>>(device);
  cudaMemcpy(&host, device, sizeof host, cudaMemcpyDeviceToHost);
  return report("hidden", host == 42);
}
