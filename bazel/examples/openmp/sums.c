#include "openmp/sums.h"

#include <omp.h>

#pragma omp declare target
long scale = 1;
static long square(long i) { return i * i * scale; }
#pragma omp end declare target

long sum_of_squares(long n, int *on_host) {
  long sum = 0;
  int host = 1;
#pragma omp target map(from : host)
  host = omp_is_initial_device();
#pragma omp target teams distribute parallel for reduction(+ : sum)
  for (long i = 0; i < n; i++)
    sum += square(i);
  *on_host = host;
  return sum;
}
