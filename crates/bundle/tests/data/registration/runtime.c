/* A stand-in for the CUDA, HIP and OpenMP runtimes that prints each call it
 * gets as a line. Addresses in the program are printed as offsets into it.
 *
 * The environment variables CUDA_FATBIN and HIP_FATBIN name files with what
 * should be registered. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

extern char __executable_start[];
static void *the_handle;

static void print_address(const char *label, const void *address) {
  if (address)
    printf(" %s=+%#lx", label, (unsigned long)((char *)address - __executable_start));
  else
    printf(" %s=null", label);
}

static void print_call(const char *call, void **handle) {
  printf("%s%s", call, handle == &the_handle ? "" : " (of a handle that was never given out)");
}

static const char *compare(const char *bytes, const char *variable) {
  const char *path = getenv(variable);
  FILE *file = path ? fopen(path, "rb") : 0;
  if (!file)
    return "compared with nothing";
  const char *result = "as expected";
  for (int byte; (byte = fgetc(file)) != EOF; ++bytes)
    if ((unsigned char)*bytes != byte)
      result = "of other bytes";
  fclose(file);
  return result;
}

struct wrapper {
  int magic, version;
  const char *bytes;
  void *unused;
};

static void **register_fatbin(const char *call, struct wrapper *wrapper, const char *variable) {
  printf("%s magic=%#x version=%d unused=%s aligned=%d %s\n", call, wrapper->magic,
         wrapper->version, wrapper->unused ? "used" : "null", (uintptr_t)wrapper->bytes % 16 == 0,
         compare(wrapper->bytes, variable));
  return &the_handle;
}

static void register_function(const char *call, void **handle, void *host, char *device,
                              const char *name, int limit, void *const rest[5]) {
  print_call(call, handle);
  print_address("host", host);
  printf(" device=%s name=%s limit=%d", device, name, limit);
  for (int i = 0; i < 5; ++i)
    printf(" %s", rest[i] ? "something" : "null");
  printf("\n");
}

static void register_variable(const char *call, void **handle, void *host, char *device,
                              const char *name, int external, size_t size, int constant,
                              int global) {
  print_call(call, handle);
  print_address("host", host);
  printf(" device=%s name=%s external=%d size=%zu constant=%d global=%d\n", device, name, external,
         size, constant, global);
}

void **__cudaRegisterFatBinary(void *wrapper) {
  return register_fatbin("cudaRegisterFatBinary", wrapper, "CUDA_FATBIN");
}

void __cudaRegisterFatBinaryEnd(void **handle) {
  print_call("cudaRegisterFatBinaryEnd", handle);
  printf("\n");
}

void __cudaUnregisterFatBinary(void **handle) {
  print_call("cudaUnregisterFatBinary", handle);
  printf("\n");
}

void __cudaRegisterFunction(void **handle, void *host, char *device, const char *name, int limit,
                            void *thread, void *block, void *block_size, void *grid_size,
                            void *warp) {
  void *rest[] = {thread, block, block_size, grid_size, warp};
  register_function("cudaRegisterFunction", handle, host, device, name, limit, rest);
}

void __cudaRegisterVar(void **handle, void *host, char *device, const char *name, int external,
                       size_t size, int constant, int global) {
  register_variable("cudaRegisterVar", handle, host, device, name, external, size, constant,
                    global);
}

void __cudaRegisterManagedVar(void **handle, void *host, char *device, const char *name,
                              int external, size_t size, int constant, int global) {
  register_variable("cudaRegisterManagedVar", handle, host, device, name, external, size, constant,
                    global);
}

#ifndef WITHOUT_INIT_MODULE
char __cudaInitModule(void **handle) {
  print_call("cudaInitModule", handle);
  printf("\n");
  return 0;
}
#endif

void **__hipRegisterFatBinary(void *wrapper) {
  return register_fatbin("hipRegisterFatBinary", wrapper, "HIP_FATBIN");
}

void __hipUnregisterFatBinary(void **handle) {
  print_call("hipUnregisterFatBinary", handle);
  printf("\n");
}

void __hipRegisterFunction(void **handle, void *host, char *device, const char *name,
                           unsigned limit, void *thread, void *block, void *block_size,
                           void *grid_size, void *warp) {
  void *rest[] = {thread, block, block_size, grid_size, warp};
  register_function("hipRegisterFunction", handle, host, device, name, limit, rest);
}

void __hipRegisterVar(void **handle, void *host, char *device, char *name, int external,
                      size_t size, int constant, int global) {
  register_variable("hipRegisterVar", handle, host, device, name, external, size, constant, global);
}

void __hipRegisterManagedVar(void **handle, void **host, void *initial, const char *name,
                             size_t size, unsigned alignment) {
  print_call("hipRegisterManagedVar", handle);
  print_address("host", host);
  print_address("initial", initial);
  printf(" name=%s size=%zu alignment=%u\n", name, size, alignment);
}

void __hipRegisterSurface(void **handle, void *host, char *device, char *name, int dimension,
                          int external) {
  print_call("hipRegisterSurface", handle);
  print_address("host", host);
  printf(" device=%s name=%s dimension=%d external=%d\n", device, name, dimension, external);
}

void __hipRegisterTexture(void **handle, void *host, char *device, char *name, int dimension,
                          int normalized, int external) {
  print_call("hipRegisterTexture", handle);
  print_address("host", host);
  printf(" device=%s name=%s dimension=%d normalized=%d external=%d\n", device, name, dimension,
         normalized, external);
}

void __tgt_register_lib(int *descriptor) {
  printf("tgt_register_lib images=%d\n", *descriptor);
}

void __tgt_unregister_lib(int *descriptor) {
  printf("tgt_unregister_lib images=%d\n", *descriptor);
}

/* What the launch stubs of the kernels refer to; no test launches one. */
int cudaLaunchKernel(void) {
  abort();
}
int __cudaPopCallConfiguration(void) {
  abort();
}
int hipLaunchKernel(void) {
  abort();
}
int __hipPopCallConfiguration(void) {
  abort();
}
void use(const volatile void *address) {
  (void)address;
}

int main(void) {
  printf("main\n");
  return 0;
}
