/* Two offload entries, for a program or a library that has no other code. */
#include <stdint.h>

struct entry {
  uint64_t reserved;
  uint16_t version, kind;
  uint32_t flags;
  void *address;
  const char *name;
  uint64_t size, data;
  void *auxiliary;
};

#ifdef __APPLE__
#define ENTRIES "__LLVM,offload_entries"
#else
#define ENTRIES "llvm_offload_entries"
#endif

static char kernel;
static int variable;

#ifdef DEVICE
int counter = 7;
int scale(int a) { return a * counter; }
static int hidden(int a) { return a; }
int (*use)(int) = hidden;
#endif

__attribute__((section(ENTRIES), used, aligned(8))) static struct entry
    kernel_entry = {0, 1, 1, 0, &kernel, "alpha", 0, 0, 0};
__attribute__((section(ENTRIES), used, aligned(8))) static struct entry
    variable_entry = {0, 1, 1, 16, &variable, "beta", sizeof variable, 7, 0};
