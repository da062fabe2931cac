/* The offload entries of the program that the registration code is linked into,
 * in the form that LLVM gives them on a 64-bit host: one for each kernel and
 * variable that host code names.
 *
 * ENTRIES is the section that they are in, ENTRIES_OF_LLVM the first LLVM with
 * entries of their form (src/entry/generation.rs): 19, 20 or 21.
 *
 * WHOLE_OBJECT is defined where the compiler makes the whole registration object
 * (src/host_object/source.rs), and not where its output is a template. */

#ifndef ENTRIES
#define ENTRIES llvm_offload_entries
#define ENTRIES_OF_LLVM 21
#endif

#if ENTRIES_OF_LLVM == 19
struct entry {
  char *address;
  const char *name;
  /* In bytes; 0 for a kernel. */
  unsigned long long size;
  unsigned flags;
  /* Surfaces and textures: the dimension. */
  unsigned data;
};
#else
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
#endif

enum { KIND_CUDA = 2, KIND_HIP = 4, KIND_SYCL = 8 };

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
#define JOINED(a, b) a##b
#define NAME(prefix, section) JOINED(prefix, section)
#define QUOTED(text) #text
#define TEXT(text) QUOTED(text)
#define FIRST_ENTRY NAME(__start_, ENTRIES)
#define END_OF_ENTRIES NAME(__stop_, ENTRIES)
/* The linker defines these at the ends of the section. Hidden, so that each
 * program and library goes through its own. */
extern const struct entry FIRST_ENTRY[] __attribute__((visibility("hidden")));
extern const struct entry END_OF_ENTRIES[] __attribute__((visibility("hidden")));
#ifdef WHOLE_OBJECT
/* Without any section of the name, linkers leave the ends undefined. */
static struct entry no_entries[0]
    __attribute__((section(TEXT(ENTRIES)), used, retain, aligned(8)));
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

/* Before LLVM 21 each kind has a section of its own, and HIP another number. */
static inline int is_of(const struct entry *entry, unsigned short kind) {
#if ENTRIES_OF_LLVM == 21
  return entry->kind == kind;
#else
  (void)entry, (void)kind;
  return 1;
#endif
}

static inline int has(const struct entry *entry, unsigned flag) {
  return (entry->flags & flag) != 0;
}
