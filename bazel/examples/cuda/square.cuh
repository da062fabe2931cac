__device__ float square(float x);
