/* The code that registers an offload binary with a SYCL runtime as LLVM 24 has
 * it.
 *
 * It is compiled once, when the crate is built. What differs from program to
 * program, the offload binary and where it is, is added to the compiled object
 * by src/host_object/, which also makes `offlink_sycl_binary` a local symbol.
 * Where a compiler makes the whole registration object, WHOLE_OBJECT is defined,
 * and SIZE as the size of the offload binary. */

typedef __SIZE_TYPE__ size_t;

extern void __sycl_register_lib(const void *start, size_t size);
extern void __sycl_unregister_lib(const void *start, size_t size);
extern int atexit(void (*)(void));

struct binary {
  const void *start;
  size_t size;
};

#ifdef WHOLE_OBJECT
#include "entry.h"

extern const char offlink_sycl_images[] __attribute__((visibility("hidden")));
static const struct binary offlink_sycl_binary = {offlink_sycl_images, SIZE};
#else
/* Hidden, so that its address is taken without a global offset table. */
extern const struct binary offlink_sycl_binary __attribute__((visibility("hidden")));
#endif

static void offlink_sycl_unregister(void) {
  __sycl_unregister_lib(offlink_sycl_binary.start, offlink_sycl_binary.size);
}

/* Priority 101 is the first that is not the implementation's own: the program's
 * other constructors may launch kernels. The destructor is left to atexit, as
 * that runs before the destructors of libraries that were loaded earlier. */
__attribute__((constructor(101))) static void offlink_sycl_register(void) {
  __sycl_register_lib(offlink_sycl_binary.start, offlink_sycl_binary.size);
  atexit(offlink_sycl_unregister);
}
