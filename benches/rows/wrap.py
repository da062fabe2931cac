"""Wrapping of finished images, from 1 MiB to 1 GiB."""

import random

import verify
from measure import Command
from results import Goal, Row
from workloads.cuda import tool

SIZES = (1, 4, 16, 64, 256, 1024)
QUICK_SIZES = (1, 16)
# LLVM's way needs more than ten times the size in memory.
LARGEST_FOR_PEER = 256
HAS_GOAL = (256, 1024)
CHUNK = 1 << 16
MOST_MEMORY = 48
OURS = "offlink wrap"
PEER = "llvm-offload-wrapper + llc"


def image(path, size, seed):
    """A file of `size` MiB that no compression makes smaller."""
    draw = random.Random(f"image {seed} {size}")
    with open(path, "wb") as file:
        for start in range(0, size << 20, CHUNK):
            file.write(draw.randbytes(min(CHUNK, (size << 20) - start)))


def wrap(bench):
    comparisons = []
    for size in QUICK_SIZES if bench.quick else SIZES:
        work = bench.fresh("wrap")
        image(work / "image", size, bench.seed)
        container = work / "images.bin"
        tool("llvm-offload-binary-22", "-o", container,
             f"--image=file={work}/image,triple=nvptx64-nvidia-cuda,arch=sm_90,kind=openmp")
        output = work / "wrapped.o"
        check = verify.wraps(work / "image")
        peer = (f"llvm-offload-wrapper-22 --kind=openmp --triple=x86_64-unknown-linux-gnu"
                f" -o {work}/module.bc {container} && "
                f"llc-22 -filetype=obj -relocation-model=pic -o {output} {work}/module.bc")
        commands = [
            Command(OURS, (bench.offlink, "wrap", "-o", output, container), output, check),
            Command("cp", ("cp", container, work / "copy"), work / "copy",
                    verify.same_file(container)),
        ]
        if size <= LARGEST_FOR_PEER:
            commands.append(Command(PEER, ("sh", "-c", peer), output, check))
        goals = [Goal(OURS, 1.5, "cp"), Goal(OURS, MOST_MEMORY, quantity="peak")]
        comparisons.append(bench.compare(
            f"{size} MiB", commands, goals if size in HAS_GOAL or bench.quick else [], at=size))
        bench.fresh("wrap")
    return Row("wrap", "Wrapping of images into a host object", comparisons,
               "size of the image, MiB")
