/* The code that registers OpenMP device images with libomptarget.
 *
 * It is compiled once, when the crate is built. What differs from program to
 * program, the descriptor and the images that it points at, is added to the
 * compiled object by src/host_object/, which also makes the descriptor a local
 * symbol. Where a compiler makes the whole registration object, WHOLE_OBJECT is
 * defined, and IMAGES as the images' places. No header of the system is included,
 * so that cross compilers without a sysroot do.
 */

#ifdef WHOLE_OBJECT
#include "entry.h"

struct device_image {
  const char *start, *end;
  const struct entry *first_entry, *end_of_entries;
};

struct descriptor {
  int count;
  const struct device_image *images;
  const struct entry *first_entry, *end_of_entries;
};

/* Offload binaries, with the images in them. */
extern const char offlink_openmp_images[] __attribute__((visibility("hidden")));
#define IMAGE(start, end)                                                                          \
  {offlink_openmp_images + (start), offlink_openmp_images + (end), FIRST_ENTRY, END_OF_ENTRIES},

/* The last row is none of an image: C has no empty tables. */
static const struct device_image images[] = {IMAGES{0, 0, 0, 0}};
static const struct descriptor offlink_openmp_descriptor = {
    sizeof images / sizeof *images - 1, images, FIRST_ENTRY, END_OF_ENTRIES};
#else
struct descriptor;
/* Hidden, so that its address is taken without a global offset table. */
extern const struct descriptor offlink_openmp_descriptor __attribute__((visibility("hidden")));
#endif

extern void __tgt_register_lib(const struct descriptor *);
extern void __tgt_unregister_lib(const struct descriptor *);
extern int atexit(void (*)(void));

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
