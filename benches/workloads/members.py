"""An archive of many small CUDA objects, of which a program uses a few.

The members include no header of CUDA, so that thousands compile in minutes. The
program launches kernels by the host functions that stand for them, which is what
makes the host linker take their members. It has a kernel of its own, as
clang-linker-wrapper makes no image where all kernels are an archive's."""

import random

MEMBER = """struct dim3 {{ unsigned x, y, z; }};
extern "C" int cudaLaunchKernel(const void *, dim3, dim3, void **, unsigned long,
                                struct CUstream_st *);
extern "C" __attribute__((global)) void member_{number}(unsigned *data) {{
  unsigned value = data[0];
  for (unsigned i = 0; i < {turns}; i++)
    value = value * {factor}u + i;
  data[0] = value;
}}
"""

USER = """#include "check.h"
extern "C" __global__ void user(unsigned *data) { data[0] = 1; }
static Check check_user("user", [] {
  unsigned result = 0, *device;
  cudaMalloc(&device, sizeof result);
  user<<<1, 1>>>(device);
  cudaMemcpy(&result, device, sizeof result, cudaMemcpyDeviceToHost);
  cudaFree(device);
  return result == 1;
});
static bool right(void (*stub)(unsigned *), unsigned turns, unsigned factor) {
  unsigned expected = 1, result = 1, *device;
  for (unsigned i = 0; i < turns; i++)
    expected = expected * factor + i;
  cudaMalloc(&device, sizeof result);
  cudaMemcpy(device, &result, sizeof result, cudaMemcpyHostToDevice);
  void *arguments[] = {&device};
  cudaLaunchKernel((const void *)stub, dim3(1), dim3(1), arguments, 0, nullptr);
  cudaMemcpy(&result, device, sizeof result, cudaMemcpyDeviceToHost);
  cudaFree(device);
  return result == expected;
}
"""

USE = """extern "C" void __device_stub__member_{number}(unsigned *);
static Check check_{number}("member_{number}", [] {{
  return right(__device_stub__member_{number}, {turns}, {factor}u);
}});
"""


def numbers(number, seed):
    draw = random.Random(f"member {seed} {number}")
    return {"number": number, "turns": draw.randint(8, 64),
            "factor": draw.randrange(1 << 32) | 1}


def members(count, seed):
    """{name: text} of all members."""
    return {f"member_{number}": MEMBER.format(**numbers(number, seed))
            for number in range(count)}


def user(used, seed):
    """The text of the program that uses the members of these numbers."""
    uses = "".join(USE.format(**numbers(number, seed)) for number in used)
    return f"{USER}{uses}int main() {{ return run_checks(); }}\n"


def names(used):
    return {"user", *(f"member_{number}" for number in used)}
