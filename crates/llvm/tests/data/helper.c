// A hidden kernel and functions of every fate: internalised, exported, used, hidden.
#ifdef __NVPTX__
#define KERNEL __attribute__((nvptx_kernel))
#else
#define KERNEL __attribute__((amdgpu_kernel))
#endif
#define HIDDEN __attribute__((visibility("hidden")))
__attribute__((noinline)) int helper(int x) { return x * 3; }
HIDDEN KERNEL void hidden_kernel(int *p) { *p = helper(*p); }
__attribute__((used)) int used_function(int x) { return x + 1; }
HIDDEN int hidden_function(int x) { return x + 2; }
int visible_function(int x) { return x + 4; }
