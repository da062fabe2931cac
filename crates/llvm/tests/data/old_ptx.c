// Asks for a GPU and a PTX version older than what the tests compile for.
__attribute__((nvptx_kernel)) void old_ptx(float *p) { *p += 1.0f; }
