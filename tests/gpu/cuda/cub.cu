// CUB's kernels are hidden templates; clang-linker-wrapper 22 drops them all
// under -foffload-lto.
#include "check.h"
#include <algorithm>
#include <cub/device/device_radix_sort.cuh>
#include <cub/device/device_scan.cuh>
#include <numeric>
#include <vector>

constexpr int count = 1 << 20;

template <typename T> T *on_device(const std::vector<T> &host) {
  T *device;
  cudaMalloc(&device, host.size() * sizeof(T));
  cudaMemcpy(device, host.data(), host.size() * sizeof(T), cudaMemcpyHostToDevice);
  return device;
}

template <typename T> std::vector<T> on_host(const T *device) {
  std::vector<T> host(count);
  cudaMemcpy(host.data(), device, count * sizeof(T), cudaMemcpyDeviceToHost);
  return host;
}

// Calls an algorithm twice, as CUB wants it: for the size, then for the work.
template <typename Call> void with_storage(Call call) {
  void *storage = nullptr;
  size_t bytes = 0;
  call(storage, bytes);
  cudaMalloc(&storage, bytes);
  call(storage, bytes);
}

bool sorts() {
  std::vector<unsigned> keys(count);
  unsigned state = 12345;
  for (unsigned &key : keys)
    key = state = state * 1664525u + 1013904223u;
  unsigned *in = on_device(keys), *out = on_device(keys);
  with_storage([&](void *storage, size_t &bytes) {
    cub::DeviceRadixSort::SortKeys(storage, bytes, in, out, count);
  });
  std::sort(keys.begin(), keys.end());
  return on_host(out) == keys;
}

bool scans() {
  std::vector<int> values(count, 1);
  int *in = on_device(values), *out = on_device(values);
  with_storage([&](void *storage, size_t &bytes) {
    cub::DeviceScan::InclusiveSum(storage, bytes, in, out, count);
  });
  std::iota(values.begin(), values.end(), 1);
  return on_host(out) == values;
}

int main() {
  bool sorted = sorts(), scanned = scans();
  return report("cub", sorted && scanned);
}
