// Variables that the host looks up, a variable that it doesn't, shared memory of a size known at launch.
#define __device__ __attribute__((device))
#define __global__ __attribute__((global))
#define __shared__ __attribute__((shared))
#define __constant__ __attribute__((constant))
__device__ int counter;
__constant__ int table[4];
extern __shared__ int dynamic[];
__global__ void counts(int *p) { dynamic[*p] = table[*p]; *p = dynamic[0]; }
