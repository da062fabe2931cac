/* Offload entries of each sort. */
#include "registration/declarations.h"

__constant__ float table[4] = {1, 2, 3, 4};
__managed__ int shared = 5;
texture<float, 2, 1> normalized;

extern "C" __global__ void kernel(int *out) {
  *out = shared + table[2];
}
