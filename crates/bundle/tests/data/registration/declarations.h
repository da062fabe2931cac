/* What clang needs to know of the runtimes to compile kernels and their launch
 * stubs, for CUDA or HIP, without either's headers. */
#define __device__ __attribute__((device))
#define __constant__ __attribute__((constant))
#define __global__ __attribute__((global))
#define __managed__ __attribute__((managed))

struct dim3 {
  unsigned x, y, z;
};

#ifdef __HIP__
extern "C" int hipLaunchKernel(const void *, dim3, dim3, void **, __SIZE_TYPE__, void *);
extern "C" unsigned __hipPopCallConfiguration(dim3 *, dim3 *, __SIZE_TYPE__ *, void *);
#else
typedef int cudaError_t;
typedef struct stream *cudaStream_t;
extern "C" cudaError_t cudaLaunchKernel(const void *, dim3, dim3, void **, __SIZE_TYPE__,
                                        cudaStream_t);
extern "C" unsigned __cudaPopCallConfiguration(dim3 *, dim3 *, __SIZE_TYPE__ *, void *);
#endif

struct reference {
  int filler[4];
};
template <class T, int Dimension> struct __attribute__((device_builtin_surface_type)) surface;
template <class T, int Dimension, int Mode>
struct __attribute__((device_builtin_texture_type)) texture;

template <class T, int Dimension>
struct __attribute__((device_builtin_surface_type)) surface : reference {};
template <class T, int Dimension, int Mode>
struct __attribute__((device_builtin_texture_type)) texture : reference {};
