#include "openmp/sums.h"

#include <stdio.h>

int main(void) {
  int on_host = 1;
  long sum = sum_of_squares(1000, &on_host);
  printf("openmp: sum %ld, on the %s\n", sum, on_host ? "host" : "device");
  return on_host || sum != 332833500;
}
