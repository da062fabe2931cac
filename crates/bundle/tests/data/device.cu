__attribute__((device)) int counter = 7;
static __attribute__((device)) int hidden_counter;
__attribute__((constant)) float table[4];
extern "C" __attribute__((device, noinline)) int helper(int a) { return a * 3 + counter; }
extern "C" __attribute__((global)) void scale(float *x, float a) { x[0] *= a + helper(counter) + table[1] + hidden_counter++; }
static __attribute__((global)) void local_kernel(float *x) { *x = 1; }
__attribute__((used)) void launch() { (void)&local_kernel; }
