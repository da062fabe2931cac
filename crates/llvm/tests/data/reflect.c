// What libdevice does: code that is chosen by the GPU that it is linked for.
extern int reflect(const char *) __asm__("__nvvm_reflect");
__attribute__((noinline)) float pick(float x) {
  if (reflect("__CUDA_ARCH") >= 700)
    return x * 123.0f;
  return x * 321.0f;
}
__attribute__((nvptx_kernel)) void reflects(float *p) { *p = pick(*p); }
