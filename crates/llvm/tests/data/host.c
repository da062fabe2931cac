/* Host code with the offload entries of a kernel and a variable, and one that is padding. */
struct entry {
  unsigned long reserved;
  unsigned short version, kind;
  unsigned flags;
  const void *address;
  const char *name;
  unsigned long size, data;
  void *auxiliary;
};

static const char region;
static int variable;

#define ENTRY(id) __attribute__((section("llvm_offload_entries"), used)) static struct entry id
ENTRY(kernel) = {0, 1, 1, 0, &region, "kernel", 0, 0, 0};
ENTRY(data) = {0, 1, 2, 16, &variable, "variable", 4, 70000, 0};
ENTRY(padding);
