/* The code that registers a fatbin, its kernels and its variables with the CUDA
 * runtime.
 *
 * It is compiled once, when the crate is built. What differs from program to
 * program, the fatbin, is added to the compiled object by src/host_object/,
 * which also makes it a local symbol. The functions are those that NVIDIA's
 * crt/host_runtime.h declares, version 13.0. */

#include "entry.h"

typedef __SIZE_TYPE__ size_t;

extern void **__cudaRegisterFatBinary(const void *wrapper);
extern void __cudaRegisterFatBinaryEnd(void **handle);
extern void __cudaUnregisterFatBinary(void **handle);
extern void __cudaRegisterFunction(void **handle, const char *host, char *device, const char *name,
                                   int thread_limit, void *thread_index, void *block_index,
                                   void *block_dimension, void *grid_dimension, int *warp_size);
extern void __cudaRegisterVar(void **handle, char *host, char *device, const char *name,
                              int external, size_t size, int constant, int global);
extern void __cudaRegisterManagedVar(void **handle, void **host, char *device, const char *name,
                                     int external, size_t size, int constant, int global);
/* Weak, as a stand-in for the runtime may know nothing of managed variables. Only
 * ELF has such references without further ado. */
#ifdef __ELF__
__attribute__((weak))
#endif
extern char __cudaInitModule(void **handle);
extern int atexit(void (*)(void));

/* Hidden, so that its address is taken without a global offset table. */
extern const char offlink_cuda_fatbin[] __attribute__((visibility("hidden")));

/* The magic number and the version of the wrapper, not of the fatbin. */
static const struct {
  int magic;
  int version;
  const void *fatbin;
  const void *unused;
} wrapper SECTION(".nvFatBinSegment", "__NV_CUDA,__fatbin")
    __attribute__((aligned(8))) = {0x466243b1, 1, offlink_cuda_fatbin, 0};

/* In a section with contents, as objects that are copied together have those only. */
static void **handle SECTION(".data.offlink_cuda_handle", "__DATA,__data");

/* Returns whether there is a managed variable. */
static int register_entries(void) {
  int managed = 0;
  for (const struct entry *entry = first_entry(); entry != end_of_entries(); ++entry) {
    if (!is_of(entry, KIND_CUDA))
      continue;
    char *name = (char *)entry->name;
    int external = has(entry, EXTERN);
    int constant = has(entry, CONSTANT);
    if (entry->size == 0) {
      __cudaRegisterFunction(handle, entry->address, name, name, -1, 0, 0, 0, 0, 0);
      continue;
    }
    switch (entry->flags & VARIABLE_MASK) {
    case VARIABLE:
      __cudaRegisterVar(handle, entry->address, name, name, external, entry->size, constant, 0);
      break;
#if ENTRIES_OF_LLVM != 19 /* Links with such a variable of clang 19 are refused. */
    case MANAGED:
      __cudaRegisterManagedVar(handle, entry->auxiliary, name, name, external, entry->size,
                               constant, 0);
      managed = 1;
      break;
#endif
    default:
      /* Surface and texture references: CUDA 12 took them out of the runtime,
       * and with them the functions that registered them. */
      break;
    }
  }
  return managed;
}

static void offlink_cuda_unregister(void) {
  __cudaUnregisterFatBinary(handle);
}

/* Priority 101 is the first that is not the implementation's own: the program's
 * other constructors may launch kernels. The destructor is left to atexit, as
 * that runs before the destructors of libraries that were loaded earlier. */
__attribute__((constructor(101))) static void offlink_cuda_register(void) {
  handle = __cudaRegisterFatBinary(&wrapper);
  int managed = register_entries();
  __cudaRegisterFatBinaryEnd(handle);
  /* Host code uses a managed variable through a pointer. The runtime sets it
   * here or, too late for code that uses the variable first, when the program
   * calls it for the first time. nvcc makes this call before each use. */
#ifdef __ELF__
  managed = managed && __cudaInitModule;
#endif
  if (managed)
    __cudaInitModule(handle);
  atexit(offlink_cuda_unregister);
}
