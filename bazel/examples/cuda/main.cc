#include "cuda/sums.h"

#include <cstdio>

int main() {
  float sum = sum_of_squares(10);
  if (sum < 0) {
    std::puts("cuda: no GPU");
    return 3;
  }
  std::printf("cuda: sum %g\n", sum);
  return sum != 285;
}
