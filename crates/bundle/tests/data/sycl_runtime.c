/* A stand-in for the SYCL runtime of LLVM 22 or, with BINARY, of LLVM 24, which
 * prints what it is given, and a program. */

#include <stddef.h>
#include <stdio.h>

static void print_bytes(const char *what, const void *start, size_t size) {
  const unsigned char *bytes = start;
  unsigned sum = 0;
  for (size_t i = 0; i < size; ++i)
    sum = sum * 31 + bytes[i];
  printf("%s size=%zu sum=%x aligned=%d\n", what, size, sum, (size_t)start % 8 == 0);
}

#ifdef BINARY

void __sycl_register_lib(const void *start, size_t size) {
  print_bytes("register", start, size);
}

void __sycl_unregister_lib(const void *start, size_t size) {
  print_bytes("unregister", start, size);
}

#else

struct entry {
  unsigned long long reserved;
  unsigned short version, kind;
  unsigned flags;
  void *address;
  const char *name;
  unsigned long long size, data;
  void *auxiliary;
};

struct image {
  unsigned short version;
  unsigned char kind, format;
  const char *triple, *compile_options, *link_options;
  const char *start, *end;
  const struct entry *entries, *entries_end;
  const void *properties, *properties_end;
};

struct descriptor {
  unsigned short version, count;
  const struct image *images;
  const void *entries, *entries_end;
};

static const struct descriptor *registered;

void __sycl_register_lib(const struct descriptor *it) {
  registered = it;
  printf("register version=%d count=%d entries=%p-%p\n", it->version, it->count, it->entries,
         it->entries_end);
  for (const struct image *image = it->images; image != it->images + it->count; ++image) {
    printf("image version=%d kind=%d format=%d triple=%s options='%s' '%s' properties=%p-%p\n",
           image->version, image->kind, image->format, image->triple, image->compile_options,
           image->link_options, image->properties, image->properties_end);
    print_bytes("bytes", image->start, image->end - image->start);
    for (const struct entry *entry = image->entries; entry != image->entries_end; ++entry)
      printf("entry reserved=%llu version=%d kind=%d flags=%d address=%p name=%s size=%llu "
             "data=%llu auxiliary=%p\n",
             entry->reserved, entry->version, entry->kind, entry->flags, entry->address,
             entry->name, entry->size, entry->data, entry->auxiliary);
  }
}

void __sycl_unregister_lib(const struct descriptor *it) {
  printf("unregister same=%d\n", it == registered);
}

#endif

__attribute__((constructor(101))) static void construct(void) {
  puts("constructor");
}

int main(void) {
  puts("main");
  return 0;
}
