// A second definition of the kernel of helper.cpp.
__attribute__((nvptx_kernel)) void hidden_kernel(int *p) { *p = 0; }
