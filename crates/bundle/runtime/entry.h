/* The offload entries of the program that the registration code is linked into,
 * in the form that LLVM 21 and later give them on a 64-bit host: one for each
 * kernel and variable that host code names. */

struct entry {
  unsigned long long reserved;
  unsigned short version;
  unsigned short kind;
  unsigned flags;
  char *address;
  const char *name;
  /* In bytes; 0 for a kernel. */
  unsigned long long size;
  /* Managed variables: the alignment. Surfaces and textures: the dimension. */
  unsigned long long data;
  /* Managed variables: the host's pointer to the variable. */
  void **auxiliary;
};

enum { KIND_CUDA = 2, KIND_HIP = 4 };

/* What a variable is, in the low bits of its flags. */
enum { VARIABLE = 0, MANAGED = 1, SURFACE = 2, TEXTURE = 3, VARIABLE_MASK = 7 };

/* What a variable has, in the other bits of its flags. */
enum { EXTERN = 1 << 3, CONSTANT = 1 << 4, NORMALIZED = 1 << 5 };

/* The linker defines these at the ends of the section. Hidden, so that each
 * program and library goes through its own. */
extern const struct entry __start_llvm_offload_entries[] __attribute__((visibility("hidden")));
extern const struct entry __stop_llvm_offload_entries[] __attribute__((visibility("hidden")));

static inline const struct entry *first_entry(void) {
  const struct entry *first = __start_llvm_offload_entries;
  /* A compiler may take two arrays to lie at different addresses, and leave
   * out the comparison that ends the loop when there are no entries. */
  __asm__("" : "+r"(first));
  return first;
}

static inline const struct entry *end_of_entries(void) {
  return __stop_llvm_offload_entries;
}

static inline int has(const struct entry *entry, unsigned flag) {
  return (entry->flags & flag) != 0;
}
