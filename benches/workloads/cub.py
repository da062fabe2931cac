"""Translation units of kernels made of CUB's block algorithms.

Which algorithm, type, block and number of items a kernel has is drawn from the
seed and the number of the kernel."""

import random

ALGORITHMS = ("RadixSort", "MergeSort", "Scan", "Reduce")
TYPES = ("uint8_t", "uint16_t", "uint32_t", "uint64_t")
KERNELS_OF_UNIT = 8


def kernel(number, seed, edition=0):
    """The line that makes one kernel. Editions differ in what the kernel computes."""
    draw = random.Random(f"cub {seed} {number}")
    algorithm, item = draw.choice(ALGORITHMS), draw.choice(TYPES)
    threads, items = draw.choice((64, 128, 256)), draw.randint(2, 12)
    salt = draw.randrange(1, 1 << 16) + edition
    return f"KERNEL(cub_{number}, {algorithm}, {item}, {threads}, {items}, {salt}u)\n"


def unit(kernels, seed, edition=0):
    """The text of the translation unit with the kernels of these numbers."""
    return '#include "cub.h"\n' + "".join(kernel(number, seed, edition) for number in kernels)


def units(kernels, seed):
    """{name: text} of translation units that have kernels 0 to `kernels` - 1."""
    starts = range(0, kernels, KERNELS_OF_UNIT)
    return {f"cub_from_{start}":
            unit(range(start, min(start + KERNELS_OF_UNIT, kernels)), seed)
            for start in starts}


def names(kernels):
    return {f"cub_{number}" for number in range(kernels)}
