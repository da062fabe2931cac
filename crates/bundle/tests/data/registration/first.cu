#include "declarations.h"

__device__ int counter = 3;
__constant__ float table[4] = {1, 2, 3, 4};
static __device__ long hidden = 9;
extern __device__ int elsewhere;
extern __constant__ short far_away[2];
__device__ __attribute__((weak)) char weak;
namespace {
__device__ int unnamed[3] = {1, 2, 3};
}
struct Sums {
  static __device__ double total;
};
__device__ double Sums::total;
template <class T> __device__ T zero;

#ifdef __HIP__
__managed__ int shared = 5;
#endif
texture<float, 2, 1> normalized;
texture<int, 3, 0> plain;
surface<void, 1> written;

/* Host code must use what it is to have an entry for; before the kernels, or clang 22
 * gives variables with internal linkage two names. */
static __global__ void internal();
extern "C" void use(const volatile void *);

void use_first() {
  use(&counter), use(&elsewhere), use(&hidden), use(far_away), use(unnamed), use(&zero<int>);
  use((void *)internal);
#ifdef __HIP__
  use(&shared);
#endif
}

extern "C" __global__ void first(int *out) {
  *out = counter + elsewhere + far_away[1] + weak + unnamed[0] + hidden + table[2] + Sums::total +
         zero<int>;
}

template <class T> __global__ void generic(T *out) {
  *out = T();
}
template __global__ void generic(int *);
template __global__ void generic(double *);

static __global__ void internal() {
  hidden = 1;
}
__attribute__((visibility("hidden"))) __global__ void unseen() {}
