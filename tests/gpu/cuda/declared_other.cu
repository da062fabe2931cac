__global__ void set(int *out) { *out = 42; }
