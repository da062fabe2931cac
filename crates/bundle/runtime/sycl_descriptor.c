/* The code that registers device images with a SYCL runtime as LLVM 22 has it.
 *
 * It is compiled once, when the crate is built. What differs from program to
 * program, the descriptor and all that it points at, is added to the compiled
 * object by src/host_object/, which also makes the descriptor a local symbol. */

struct descriptor;

extern void __sycl_register_lib(const struct descriptor *);
extern void __sycl_unregister_lib(const struct descriptor *);

/* Hidden, so that its address is taken without a global offset table. */
extern const struct descriptor offlink_sycl_descriptor __attribute__((visibility("hidden")));

/* Priority 1 is before and, at the end, behind all that the program does. It is
 * the implementation's own, which a SYCL compiler is part of. */
__attribute__((constructor(1))) static void offlink_sycl_register(void) {
  __sycl_register_lib(&offlink_sycl_descriptor);
}

__attribute__((destructor(1))) static void offlink_sycl_unregister(void) {
  __sycl_unregister_lib(&offlink_sycl_descriptor);
}
