"""A program whose device code is big: hundreds of kernels with unrolled bodies.

All kernels share functions and variables that another unit defines. What a
kernel computes is drawn from the seed and its number."""

import random

KERNELS = 288
KERNELS_OF_UNIT = 16
STEPS = 32
OPERATIONS = (
    "v[{a}] += v[{b}] % (v[{c}] | {odd}u);",
    "v[{a}] ^= v[{b}] / (v[{c}] >> {turn} | 1);",
    "v[{a}] += turned(v[{b}] ^ {constant}u, {turn});",
    "v[{a}] ^= v[{b}] * {odd}u + step;",
    "v[{a}] -= TABLE[(v[{b}] + step) & 255] ^ v[{c}];",
    "v[{a}] = turned(v[{a}], {turn}) + (v[{b}] & v[{c}]);",
    "v[{a}] ^= v[{b}] > v[{c}] ? v[{b}] : v[{c}] + {constant}u;",
)


def operation(draw):
    lanes = dict(zip("abc", draw.sample(range(16), 3)))
    constant = draw.randrange(1, 1 << 32)
    return draw.choice(OPERATIONS).format(
        **lanes, constant=constant, odd=constant | 1, turn=draw.randrange(1, 31))


def kernel(number, seed, steps):
    """The text of one kernel and of its body, which the host runs as well."""
    draw = random.Random(f"heavy {seed} {number}")
    operations = "".join(f"    {operation(draw)}\n" for _ in range(24))
    return (f"static __host__ __device__ unsigned body_{number}(unsigned seed) {{\n"
            "  unsigned v[LANES];\n"
            "  UNROLLED for (int i = 0; i < LANES; i++) v[i] = seed + TABLE[i * 16];\n"
            f"  UNROLLED for (unsigned step = 0; step < {steps}; step++) {{\n{operations}"
            f"    if (step % 8 == 0) v[{draw.randrange(16)}] ^= long_mix(v[0], v[1]);\n"
            f"    if (step % 8 == 4) v[{draw.randrange(16)}] += long_fold(v[2], v[3]);\n"
            "  }\n"
            "  unsigned sum = 0;\n"
            "  UNROLLED for (int i = 0; i < LANES; i++) sum = sum * 31 + v[i];\n"
            "  return sum;\n}\n"
            f"KERNEL(heavy_{number}, body_{number}, {number} % COUNTERS)\n")


def shared_unit(seed):
    """The unit that defines what the kernels share."""
    draw = random.Random(f"heavy {seed} shared")
    numbers = ", ".join(f"{draw.randrange(1 << 32)}u" for _ in range(256))
    functions = ""
    for name in ("long_mix", "long_fold"):
        constants = [draw.randrange(1 << 32) | 1 for _ in range(3)]
        functions += (
            f"__host__ __device__ __attribute__((noinline)) "
            f"unsigned {name}(unsigned a, unsigned b) {{\n"
            "  for (int i = 0; i < 4; i++) {\n"
            f"    a = turned(a ^ b * {constants[0]}u, 13) + TABLE[(a + i) & 255];\n"
            f"    b = turned(b + a * {constants[1]}u, 7) ^ {constants[2]}u;\n"
            "  }\n  return a ^ b;\n}\n")
    return ('#include "heavy.h"\n'
            f"__constant__ unsigned table[256] = {{{numbers}}};\n"
            f"extern const unsigned table_on_host[256] = {{{numbers}}};\n"
            "__device__ unsigned counters[COUNTERS];\n"
            f"unsigned counters_of_host[COUNTERS];\n{functions}")


def units(kernels, seed, steps=STEPS):
    """{name: text} of the translation units with kernels 0 to `kernels` - 1."""
    result = {"heavy_shared": shared_unit(seed)}
    for start in range(0, kernels, KERNELS_OF_UNIT):
        end = min(start + KERNELS_OF_UNIT, kernels)
        result[f"heavy_from_{start}"] = '#include "heavy.h"\n' + "".join(
            kernel(number, seed, steps) for number in range(start, end))
    return result


def names(kernels):
    return {f"heavy_{number}" for number in range(kernels)}
