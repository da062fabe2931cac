// sin, exp and pow, compiled without libdevice, which offlink then links: each
// result is as close to the right one as NVIDIA states in the CUDA C++ Programming
// Guide's tables of standard functions.
#include "check.h"
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <cstring>

constexpr int count = 1 << 20;

struct Sin {
  static constexpr double low = -1e5, high = 1e5;
  template <typename T> __host__ __device__ static T of(T x, T) { return std::sin(x); }
};
struct Exp {
  static constexpr double low = -80, high = 80;
  template <typename T> __host__ __device__ static T of(T x, T) { return std::exp(x); }
};
struct Pow {
  static constexpr double low = 0.01, high = 100;
  template <typename T> __host__ __device__ static T of(T x, T y) { return std::pow(x, y); }
};

template <typename F, typename T> __global__ void compute(const T *x, const T *y, T *z) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  z[i] = F::of(x[i], y[i]);
}

// Bits of floating-point numbers as integers that are in the same order.
int64_t ordered(double value) {
  int64_t bits;
  std::memcpy(&bits, &value, sizeof bits);
  return bits < 0 ? INT64_MIN - bits : bits;
}
int64_t ordered(float value) {
  int32_t bits;
  std::memcpy(&bits, &value, sizeof bits);
  return bits < 0 ? int64_t{INT32_MIN} - bits : bits;
}

template <typename F, typename T> bool check(const char *name, int64_t allowed) {
  static T x[count], y[count], z[count];
  for (int i = 0; i < count; i++) {
    x[i] = F::low + (F::high - F::low) * i / (count - 1);
    y[i] = i % 37 / 4.0 - 4.5;
  }
  T *device_x, *device_y, *device_z;
  cudaMalloc(&device_x, sizeof x);
  cudaMalloc(&device_y, sizeof y);
  cudaMalloc(&device_z, sizeof z);
  cudaMemcpy(device_x, x, sizeof x, cudaMemcpyHostToDevice);
  cudaMemcpy(device_y, y, sizeof y, cudaMemcpyHostToDevice);
  // Told to leave libdevice out, clang 22 doesn't learn the version of CUDA, and
  // takes <<<>>> for that of an old one.
  const void *kernel = reinterpret_cast<const void *>(compute<F, T>);
  void *arguments[] = {&device_x, &device_y, &device_z};
  cudaLaunchKernel(kernel, count / 256, 256, arguments, 0, nullptr);
  cudaMemcpy(z, device_z, sizeof z, cudaMemcpyDeviceToHost);
  int64_t worst = 0;
  for (int i = 0; i < count; i++) {
    // Rounded once, from the 64 bits of x86's long double.
    T right = F::template of<long double>(x[i], y[i]);
    int64_t error = std::llabs(ordered(z[i]) - ordered(right));
    worst = error > worst ? error : worst;
  }
  std::printf("%s: at most %lld ulp, %lld allowed\n", name, (long long)worst, (long long)allowed);
  return worst <= allowed;
}

int main() {
  bool right = check<Sin, float>("sinf", 2);
  right &= check<Exp, float>("expf", 2);
  right &= check<Pow, float>("powf", 4);
  right &= check<Sin, double>("sin", 2);
  right &= check<Exp, double>("exp", 1);
  right &= check<Pow, double>("pow", 2);
  return report("math", right);
}
