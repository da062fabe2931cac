// What a link in parts must not change: state that kernels share, addresses that they compare, the host's variables,
// memory of a block behind a function pointer, and printf.
#include "check.h"

typedef int (*Function)(int);

static __device__ int total;
static __device__ const int squares[8] = {0, 1, 4, 9, 16, 25, 36, 49};
__device__ int seen;
__constant__ int scale[4];
static __shared__ int of_block[32];

static __device__ __noinline__ int twice(int n) { return 2 * n; }
static __device__ __noinline__ int next(int n) { return n + 1; }
// Works on the memory of whichever block calls it.
static __device__ __noinline__ int neighbour(int n) { return of_block[(n + 1) % 32]; }

__device__ Function functions[3] = {twice, next, neighbour};

static __device__ const int *address_of(int n) { return squares + n; }
static __device__ __noinline__ void add(int n) { atomicAdd(&total, n); }

__global__ void first(const int **address, Function *function) {
  add(scale[threadIdx.x % 4]);
  *address = address_of(3);
  *function = twice;
}

__global__ void second(const int **address, Function *function, int *same) {
  add(squares[threadIdx.x % 8]);
  seen = scale[1];
  same[0] = *address == address_of(3);
  same[1] = *function == twice && *function == functions[0];
  same[2] = (*function)(scale[0]);
}

__global__ void third(int *out, int which) {
  extern __shared__ int of_launch[];
  __shared__ int of_kernel[32];
  int i = threadIdx.x;
  of_block[i] = 10 * i;
  of_kernel[i] = i;
  of_launch[i] = 100 * i;
  __syncthreads();
  // Of the thread behind this one, by a pointer that the compiler can't see through.
  out[i] = functions[which](i) + of_kernel[31 - i] + of_launch[31 - i];
}

__global__ void fourth(int *out) {
  __shared__ int of_kernel[32];
  int i = threadIdx.x;
  of_kernel[i] = total + seen;
  __syncthreads();
  out[i] = of_kernel[31 - i];
  if (i == 0)
    printf("split: printf of %d\n", total);
}

int main() {
  int host_scale[4] = {1, 2, 3, 4}, host[3 + 32 + 32];
  int *out;
  const int **address;
  Function *function;
  cudaMalloc(&out, sizeof host);
  cudaMalloc(&address, sizeof *address);
  cudaMalloc(&function, sizeof *function);
  cudaMemcpyToSymbol(scale, host_scale, sizeof scale);
  first<<<1, 32>>>(address, function);
  second<<<1, 32>>>(address, function, out);
  third<<<1, 32, 32 * sizeof(int)>>>(out + 3, 2);
  fourth<<<1, 32>>>(out + 35);
  cudaMemcpy(host, out, sizeof host, cudaMemcpyDeviceToHost);

  int total = 8 * (1 + 2 + 3 + 4) + 4 * (0 + 1 + 4 + 9 + 16 + 25 + 36 + 49), host_seen = 0;
  cudaMemcpyFromSymbol(&host_seen, seen, sizeof host_seen);
  bool right = host[0] == 1 && host[1] == 1 && host[2] == 2 && host_seen == 2;
  for (int i = 0; i < 32; i++) {
    right &= host[3 + i] == 10 * ((i + 1) % 32) + 101 * (31 - i);
    right &= host[35 + i] == total + 2;
  }
  return report("split", right);
}
