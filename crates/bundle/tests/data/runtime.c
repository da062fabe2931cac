/* A stand-in for libomptarget. It tells when it is called, and `main` checks
 * what it was given against the file that it is called with.
 *
 * With LIBRARY it loads and unloads that shared library in between. */
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct entry {
  uint64_t reserved;
  uint16_t version, kind;
  uint32_t flags;
  void *address;
  const char *name;
  uint64_t size, data;
  void *auxiliary;
};

struct device_image {
  const char *start, *end;
  struct entry *entries_begin, *entries_end;
};

struct descriptor {
  int32_t count;
  struct device_image *images;
  struct entry *entries_begin, *entries_end;
};

static struct descriptor *registered[4];
static int count;

void __tgt_register_lib(struct descriptor *descriptor) {
  printf("register: images %d, entries", descriptor->count);
  for (struct entry *entry = descriptor->entries_begin; entry != descriptor->entries_end; ++entry)
    printf(" %s", entry->name);
  printf("\n");
  registered[count++] = descriptor;
}

void __tgt_unregister_lib(struct descriptor *descriptor) {
  int known = 0;
  for (int i = 0; i < count; ++i)
    known |= registered[i] == descriptor;
  printf(known ? "unregister\n" : "unregister of what was never registered\n");
}

static void fail(const char *what) {
  fprintf(stderr, "%s\n", what);
  exit(1);
}

static void check(const char *path) {
  FILE *file = fopen(path, "rb");
  if (!file)
    fail("no image to compare with");
  fseek(file, 0, SEEK_END);
  long size = ftell(file);
  rewind(file);
  char *bytes = malloc(size);
  if (fread(bytes, 1, size, file) != (size_t)size)
    fail("cannot read the image to compare with");
  fclose(file);
  for (int i = 0; i < count; ++i)
    for (int j = 0; j < registered[i]->count; ++j) {
      struct device_image *image = &registered[i]->images[j];
      if (image->end - image->start != size || memcmp(image->start, bytes, size))
        fail("the image is not the one that was wrapped");
      if ((uintptr_t)image->start % 8)
        fail("the image is not aligned");
      if (image->entries_begin != registered[i]->entries_begin ||
          image->entries_end != registered[i]->entries_end)
        fail("the image has other entries than the program");
    }
}

int main(int argc, char **argv) {
  printf("main\n");
  if (argc < 2)
    fail("no image to compare with");
#ifdef LIBRARY
  void *library = dlopen(LIBRARY, RTLD_NOW);
  if (!library)
    fail(dlerror());
  check(argv[1]);
  dlclose(library);
#else
  check(argv[1]);
#endif
  printf("end\n");
  return 0;
}
