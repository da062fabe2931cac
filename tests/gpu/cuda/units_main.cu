// Kernels and variables over two translation units: a variable and a constant
// that the other unit defines, a device function of the other unit, a template
// that both instantiate, and a kernel of the same name in both.
#include "check.h"
#include "units.h"

static __global__ void own(int *out, int count) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) {
    out[i] = scaled(i % 4) + out[i];
    atomicAdd(&shared_counter, 1);
  }
}

int main() {
  const int count = 1024;
  int *device, host[count], counter = 0;
  cudaMalloc(&device, sizeof host);
  int table[4] = {1, 10, 100, 1000};
  cudaMemcpyToSymbol(factors, table, sizeof table);
  fill<int><<<4, 256>>>(device, 5, count);
  own<<<4, 256>>>(device, count);
  cudaMemcpy(host, device, sizeof host, cudaMemcpyDeviceToHost);
  cudaMemcpyFromSymbol(&counter, shared_counter, sizeof counter);
  bool right = counter == 7 + count;
  for (int i = 0; i < count; i++)
    right &= host[i] == i % 4 * table[i % 4] + 5;
  right &= sum_by_other_unit(device, count) == 3 * count;
  return report("units", right);
}
