#include "declarations.h"

__device__ int elsewhere;
__constant__ short far_away[2] = {7, 8};
static __device__ long hidden = 9;
#ifdef __HIP__
extern __managed__ int shared;
static __managed__ long local[2];
#endif

/* Host code must use what it is to have an entry for; before the kernels, or clang 22
 * gives variables with internal linkage two names. */
static __global__ void internal();
extern "C" void use(const volatile void *);

void use_second() {
  use(&hidden), use((void *)internal);
#ifdef __HIP__
  use(local);
#endif
}

static __global__ void internal() {
  hidden = 2;
}

extern "C" __global__ void second(int *out) {
  *out = elsewhere;
#ifdef __HIP__
  *out += shared + local[1];
#endif
}
template <class T> __global__ void generic(T *out) {
  *out = T();
}
template __global__ void generic(float *);
