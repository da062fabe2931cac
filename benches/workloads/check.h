// How a program of the benchmarks checks itself on a GPU: each kernel has a check
// that runs it and compares with the host, and the program counts what is wrong.
#pragma once
#include <cstdio>
#include <cuda_runtime.h>

struct Check {
  const char *name;
  bool (*right)();
  Check *next;
  inline static Check *first = nullptr;

  Check(const char *name, bool (*right)()) : name(name), right(right), next(first) {
    first = this;
  }
};

inline int run_checks() {
  int checks = 0, wrong = 0;
  for (Check *check = Check::first; check; check = check->next, checks++)
    if (!check->right()) {
      std::printf("%s is wrong\n", check->name);
      wrong++;
    }
  cudaError_t error = cudaDeviceSynchronize();
  std::printf("%d checks, %d wrong, %s\n", checks, wrong, cudaGetErrorString(error));
  return checks && !wrong && error == cudaSuccess ? 0 : 1;
}

// Numbers that look random and are the same everywhere.
inline unsigned next_number(unsigned &state) {
  state = state * 1664525u + 1013904223u;
  return state >> 8;
}
