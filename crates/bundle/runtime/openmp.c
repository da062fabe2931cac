/* The code that registers OpenMP device images with libomptarget.
 *
 * It is compiled once, when the crate is built. What differs from program to
 * program, the descriptor and the images that it points at, is added to the
 * compiled object by src/host_object/, which also makes the descriptor a local
 * symbol. No header is included, so that cross compilers without a sysroot do.
 */

struct descriptor;

extern void __tgt_register_lib(const struct descriptor *);
extern void __tgt_unregister_lib(const struct descriptor *);
extern int atexit(void (*)(void));

/* Hidden, so that its address is taken without a global offset table. */
extern const struct descriptor offlink_openmp_descriptor __attribute__((visibility("hidden")));

static void offlink_openmp_unregister(void) {
  __tgt_unregister_lib(&offlink_openmp_descriptor);
}

/* Priority 101 is the first that is not the implementation's own: the program's
 * other constructors may launch kernels. The destructor is left to atexit, as
 * that runs before the destructors of libraries that were loaded earlier. */
__attribute__((constructor(101))) static void offlink_openmp_register(void) {
  __tgt_register_lib(&offlink_openmp_descriptor);
  atexit(offlink_openmp_unregister);
}
