// Launches a kernel that is defined in declared_other.cu. Without -foffload-lto
// nvlink refuses what clang makes of this, unless the linker mends it.
#include "check.h"

__global__ void set(int *out);

int main() {
  int *device, host = 0;
  cudaMalloc(&device, sizeof host);
  set<<<1, 1>>>(device);
  cudaMemcpy(&host, device, sizeof host, cudaMemcpyDeviceToHost);
  return report("declared", host == 42);
}
