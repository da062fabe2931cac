// Kernels of CUB's block algorithms, and the same on the host.
#pragma once
#include "check.h"
#include <algorithm>
#include <cub/block/block_merge_sort.cuh>
#include <cub/block/block_radix_sort.cuh>
#include <cub/block/block_reduce.cuh>
#include <cub/block/block_scan.cuh>
#include <vector>

template <typename T, int ITEMS>
__device__ void load(const T *in, T (&items)[ITEMS]) {
  for (int i = 0; i < ITEMS; i++)
    items[i] = in[threadIdx.x * ITEMS + i];
}

template <typename T, int ITEMS>
__device__ void store(T *out, const T (&items)[ITEMS]) {
  for (int i = 0; i < ITEMS; i++)
    out[threadIdx.x * ITEMS + i] = items[i];
}

struct Less {
  template <typename T> __host__ __device__ bool operator()(T a, T b) const { return a < b; }
};

template <typename T, int THREADS, int ITEMS> struct RadixSort {
  static __device__ void run(T (&items)[ITEMS]) {
    using Block = cub::BlockRadixSort<T, THREADS, ITEMS>;
    __shared__ typename Block::TempStorage storage;
    Block(storage).Sort(items);
  }
  static void run_on_host(T *items) { std::sort(items, items + THREADS * ITEMS); }
};

template <typename T, int THREADS, int ITEMS> struct MergeSort {
  static __device__ void run(T (&items)[ITEMS]) {
    using Block = cub::BlockMergeSort<T, THREADS, ITEMS>;
    __shared__ typename Block::TempStorage storage;
    Block(storage).Sort(items, Less());
  }
  static void run_on_host(T *items) { std::sort(items, items + THREADS * ITEMS); }
};

template <typename T, int THREADS, int ITEMS> struct Scan {
  static __device__ void run(T (&items)[ITEMS]) {
    using Block = cub::BlockScan<T, THREADS>;
    __shared__ typename Block::TempStorage storage;
    Block(storage).InclusiveSum(items, items);
  }
  static void run_on_host(T *items) {
    for (int i = 1; i < THREADS * ITEMS; i++)
      items[i] += items[i - 1];
  }
};

// The first thread of a block gets the sum, so the others keep their items.
template <typename T, int THREADS, int ITEMS> struct Reduce {
  static __device__ void run(T (&items)[ITEMS]) {
    using Block = cub::BlockReduce<T, THREADS>;
    __shared__ typename Block::TempStorage storage;
    T sum = Block(storage).Sum(items);
    if (threadIdx.x == 0)
      items[0] = sum;
  }
  static void run_on_host(T *items) {
    T sum = 0;
    for (int i = 0; i < THREADS * ITEMS; i++)
      sum += items[i];
    items[0] = sum;
  }
};

template <typename Algorithm, typename T>
bool same_as_host(void (*kernel)(const T *, T *), unsigned seed, int threads, int items) {
  std::vector<T> host(threads * items), result(host.size());
  for (T &item : host)
    item = T(next_number(seed));
  T *in, *out;
  size_t size = host.size() * sizeof(T);
  cudaMalloc(&in, size);
  cudaMalloc(&out, size);
  cudaMemcpy(in, host.data(), size, cudaMemcpyHostToDevice);
  kernel<<<1, threads>>>(in, out);
  cudaMemcpy(result.data(), out, size, cudaMemcpyDeviceToHost);
  cudaFree(in);
  cudaFree(out);
  Algorithm::run_on_host(host.data());
  return result == host;
}

// The kernel `name`: C's linkage, since clang-linker-wrapper 22 drops hidden kernels.
#define KERNEL(name, Algorithm, T, THREADS, ITEMS, SEED)                            \
  extern "C" __global__ void __launch_bounds__(THREADS) name(const T *in, T *out) { \
    T items[ITEMS];                                                                 \
    load(in, items);                                                                \
    for (T &item : items)                                                           \
      item ^= T(SEED);                                                              \
    Algorithm<T, THREADS, ITEMS>::run(items);                                       \
    store(out, items);                                                              \
  }                                                                                 \
  struct name##_on_host {                                                           \
    static void run_on_host(T *items) {                                             \
      for (int i = 0; i < THREADS * ITEMS; i++)                                     \
        items[i] ^= T(SEED);                                                        \
      Algorithm<T, THREADS, ITEMS>::run_on_host(items);                             \
    }                                                                               \
  };                                                                                \
  static Check check_##name(#name, [] {                                             \
    return same_as_host<name##_on_host>(name, SEED, THREADS, ITEMS);                \
  });
