/* The offload entries of the program that the registration code is linked into,
 * in the form that LLVM 21 and later give them on a 64-bit host: one for each
 * kernel and variable that host code names.
 *
 * WHOLE_OBJECT is defined where the compiler makes the whole registration object
 * (src/host_object/source.rs), and not where its output is a template. */

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

#if defined(_WIN32)
/* Linkers sort what follows the dollar sign, and entries have $OE. What has no
 * bytes may be dropped, so each end is one zero entry, of which a program of
 * several registration objects gets one. */
#define FIRST_ENTRY (&offlink_before_entries + 1)
#define END_OF_ENTRIES (&offlink_after_entries)
extern const struct entry offlink_before_entries, offlink_after_entries;
/* Aligned no further than entries are, or there were padding among them. */
__attribute__((selectany, section("llvm_offload_entries$OA"), aligned(8)))
const struct entry offlink_before_entries = {0};
__attribute__((selectany, section("llvm_offload_entries$OZ"), aligned(8)))
const struct entry offlink_after_entries = {0};
#else
#define FIRST_ENTRY __start_llvm_offload_entries
#define END_OF_ENTRIES __stop_llvm_offload_entries
/* The linker defines these at the ends of the section. Hidden, so that each
 * program and library goes through its own. */
extern const struct entry __start_llvm_offload_entries[] __attribute__((visibility("hidden")));
extern const struct entry __stop_llvm_offload_entries[] __attribute__((visibility("hidden")));
#ifdef WHOLE_OBJECT
/* Without any section of the name, linkers leave the ends undefined. */
static struct entry no_entries[0]
    __attribute__((section("llvm_offload_entries"), used, retain, aligned(8)));
#endif
#endif

static inline const struct entry *first_entry(void) {
  const struct entry *first = FIRST_ENTRY;
  /* A compiler may take two arrays to lie at different addresses, and leave
   * out the comparison that ends the loop when there are no entries. */
  __asm__("" : "+r"(first));
  return first;
}

static inline const struct entry *end_of_entries(void) {
  return END_OF_ENTRIES;
}

static inline int has(const struct entry *entry, unsigned flag) {
  return (entry->flags & flag) != 0;
}
