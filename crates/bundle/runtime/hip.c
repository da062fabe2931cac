/* The code that registers a HIP bundle, its kernels and its variables with the
 * HIP runtime.
 *
 * It is compiled once, when the crate is built. What differs from program to
 * program, the bundle, is added to the compiled object by src/host_object/,
 * which also makes it a local symbol. The functions are those that ROCm's
 * hip_platform.cpp (clr) defines. */

#include "entry.h"

typedef __SIZE_TYPE__ size_t;

extern void **__hipRegisterFatBinary(const void *wrapper);
extern void __hipUnregisterFatBinary(void **handle);
extern void __hipRegisterFunction(void **handle, const void *host, char *device, const char *name,
                                  unsigned thread_limit, void *thread_index, void *block_index,
                                  void *block_dimension, void *grid_dimension, int *warp_size);
extern void __hipRegisterVar(void **handle, void *host, char *device, char *name, int external,
                             size_t size, int constant, int global);
extern void __hipRegisterManagedVar(void **handle, void **host, void *initial, const char *name,
                                    size_t size, unsigned alignment);
extern void __hipRegisterSurface(void **handle, void *host, char *device, char *name, int dimension,
                                 int external);
extern void __hipRegisterTexture(void **handle, void *host, char *device, char *name, int dimension,
                                 int normalized, int external);
extern int atexit(void (*)(void));

/* Hidden, so that its address is taken without a global offset table. */
extern const char offlink_hip_bundle[] __attribute__((visibility("hidden")));

/* The magic number ("HIPF") and the version of the wrapper, not of the bundle. */
static const struct {
  int magic;
  int version;
  const void *bundle;
  const void *unused;
} wrapper SECTION(".hipFatBinSegment", "__HIP,__fatbin")
    __attribute__((aligned(8))) = {0x48495046, 1, offlink_hip_bundle, 0};

/* In a section with contents, as objects that are copied together have those only. */
static void **handle SECTION(".data.offlink_hip_handle", "__DATA,__data");

static void register_kernel(const struct entry *entry) {
  char *name = (char *)entry->name;
  __hipRegisterFunction(handle, entry->address, name, name, -1u, 0, 0, 0, 0, 0);
}

static void register_variable(const struct entry *entry) {
  char *name = (char *)entry->name;
  int external = has(entry, EXTERN);
  switch (entry->flags & VARIABLE_MASK) {
  case VARIABLE:
    __hipRegisterVar(handle, entry->address, name, name, external, entry->size,
                     has(entry, CONSTANT), 0);
    break;
#if ENTRIES_OF_LLVM != 19 /* Links with such a variable of clang 19 are refused. */
  case MANAGED:
    __hipRegisterManagedVar(handle, entry->auxiliary, entry->address, name, entry->size,
                            (unsigned)entry->data);
    break;
#endif
  case SURFACE:
    __hipRegisterSurface(handle, entry->address, name, name, (int)entry->data, external);
    break;
  case TEXTURE:
    __hipRegisterTexture(handle, entry->address, name, name, (int)entry->data,
                         has(entry, NORMALIZED), external);
    break;
  }
}

static void offlink_hip_unregister(void) {
  __hipUnregisterFatBinary(handle);
}

/* Priority 101 is the first that is not the implementation's own: the program's
 * other constructors may launch kernels. The destructor is left to atexit, as
 * that runs before the destructors of libraries that were loaded earlier. */
__attribute__((constructor(101))) static void offlink_hip_register(void) {
  handle = __hipRegisterFatBinary(&wrapper);
  for (const struct entry *entry = first_entry(); entry != end_of_entries(); ++entry) {
    if (!is_of(entry, KIND_HIP))
      continue;
    if (entry->size == 0)
      register_kernel(entry);
    else
      register_variable(entry);
  }
  atexit(offlink_hip_unregister);
}
