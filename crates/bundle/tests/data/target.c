int total = 1;
#pragma omp declare target(total)

int add(int a) {
#pragma omp target map(tofrom : a)
  a += total;
  return a;
}
