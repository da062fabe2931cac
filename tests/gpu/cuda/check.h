// What every program here does at its end: say what was right, and exit with it.
#pragma once
#include <cstdio>

inline int report(const char *what, bool right) {
  cudaError_t error = cudaDeviceSynchronize();
  std::printf("%s: %s, %s\n", what, right ? "right" : "WRONG", cudaGetErrorString(error));
  return right && error == cudaSuccess ? 0 : 1;
}
