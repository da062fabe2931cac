/* The code that registers device images with a SYCL runtime as LLVM 22 has it.
 *
 * It is compiled once, when the crate is built. What differs from program to
 * program, the descriptor and all that it points at, is added to the compiled
 * object by src/host_object/, which also makes the descriptor a local symbol.
 * Where a compiler makes the whole registration object, WHOLE_OBJECT is defined,
 * KERNELS as the names of all images' kernels, and IMAGES as the images, each
 * with its format, its triple, its place and that of its entries. */

#ifdef WHOLE_OBJECT
#include "entry.h"

struct image {
  unsigned short version;
  unsigned char kind, format;
  const char *triple, *compile_options, *link_options;
  const char *start, *end;
  const struct entry *first_entry, *end_of_entries;
  const void *properties, *end_of_properties;
};

struct descriptor {
  unsigned short version, count;
  const struct image *images;
  const void *first_entry, *end_of_entries;
};

/* Offload binaries, with the images in them. */
extern const char offlink_sycl_images[] __attribute__((visibility("hidden")));

/* The last row of each table is none: C has no empty tables. */
#define KERNEL(name) {0, 1, KIND_SYCL, 0, 0, name, 0, 0, 0},
static const struct entry entries[] = {KERNELS{0, 0, 0, 0, 0, 0, 0, 0, 0}};
#define ENTRY_AT(first, end, at) ((first) == (end) ? 0 : entries + (at))
#define IMAGE(format, triple, start, end, first, last)                                             \
  {3,                                                                                              \
   KIND_SYCL,                                                                                      \
   format,                                                                                         \
   triple,                                                                                         \
   "",                                                                                             \
   "",                                                                                             \
   offlink_sycl_images + (start),                                                                  \
   offlink_sycl_images + (end),                                                                    \
   ENTRY_AT(first, last, first),                                                                   \
   ENTRY_AT(first, last, last),                                                                    \
   0,                                                                                              \
   0},
static const struct image images[] = {IMAGES{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}};
static const struct descriptor offlink_sycl_descriptor = {
    1, sizeof images / sizeof *images - 1, images, 0, 0};
#else
struct descriptor;
/* Hidden, so that its address is taken without a global offset table. */
extern const struct descriptor offlink_sycl_descriptor __attribute__((visibility("hidden")));
#endif

extern void __sycl_register_lib(const struct descriptor *);
extern void __sycl_unregister_lib(const struct descriptor *);

/* Priority 1 is before and, at the end, behind all that the program does. It is
 * the implementation's own, which a SYCL compiler is part of. */
__attribute__((constructor(1))) static void offlink_sycl_register(void) {
  __sycl_register_lib(&offlink_sycl_descriptor);
}

__attribute__((destructor(1))) static void offlink_sycl_unregister(void) {
  __sycl_unregister_lib(&offlink_sycl_descriptor);
}
