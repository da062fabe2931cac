#ifdef WHOLE
int elsewhere(int value) {
  return value;
}
#else
int elsewhere(int value);
#endif

__constant int factor = 3;

int twice(int value) {
  return 2 * value;
}

__kernel void scale(__global int *numbers, int by) {
  numbers[get_global_id(0)] *= elsewhere(by) * factor;
}

__kernel void fill(__global int *numbers, int value) {
  numbers[get_global_id(0)] = twice(value);
}
