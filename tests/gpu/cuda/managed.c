// The host side of managed.ptx, with its offload entries written out: host code
// reads the managed variable through a pointer that registration sets.
#include <cuda_runtime.h>
#include <stdint.h>
#include <stdio.h>

struct entry {
  uint64_t reserved;
  uint16_t version, kind;
  uint32_t flags;
  void *address;
  const char *name;
  uint64_t size, data;
  void *auxiliary;
};

enum { CUDA = 2, MANAGED = 1 };

static int *shared_value;
static int shadow;
static void add(void) {}

__attribute__((section("llvm_offload_entries"), used, aligned(8)))
static struct entry entries[] = {
    {0, 1, CUDA, 0, (void *)add, "add", 0, 0, 0},
    {0, 1, CUDA, MANAGED, &shadow, "shared_value", sizeof(int), 4, &shared_value},
};

int main(void) {
  if (!shared_value) {
    puts("managed: WRONG, no pointer at start");
    return 1;
  }
  int at_start = *shared_value;
  dim3 one = {1, 1, 1};
  cudaLaunchKernel((void *)add, one, one, 0, 0, 0);
  cudaError_t error = cudaDeviceSynchronize();
  int right = at_start == 5 && *shared_value == 42;
  printf("managed: %s, %s\n", right ? "right" : "WRONG", cudaGetErrorString(error));
  return !(right && error == cudaSuccess);
}
