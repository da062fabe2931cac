// Uses of what nobody defines, of which one goes away with dead code.
extern int missing_function(int);
extern int missing_for_the_dead(int);
extern int missing_weak(int) __attribute__((weak));
extern int missing_variable;
static int (*const table[1])(int) = {missing_function};
int dead(int x) { return missing_for_the_dead(x); }
__attribute__((nvptx_kernel)) void uses(int *p, int i) {
  *p = table[i](missing_variable);
  if (missing_weak)
    *p += missing_weak(1);
}
