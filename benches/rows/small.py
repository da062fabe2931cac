"""One small kernel of OpenMP's kind, from bitcode to a shared library."""

import sys
from pathlib import Path

import verify
from measure import Command
from results import Goal, Row
from workloads.cuda import PEER as PEER_PROGRAM
from workloads.cuda import tool

ROOT = Path(__file__).resolve().parent.parent.parent
OURS = "offlink"
PEER = "clang-linker-wrapper"


def small(bench):
    work = bench.fresh("small")
    cuda = bench.cuda.cuda
    example = ROOT / "examples/c-make"
    tool("clang-22", "--target=nvptx64-nvidia-cuda", "-march=sm_90", f"--cuda-path={cuda}",
         "-nogpulib", "-nogpuinc", "-O2", "-emit-llvm", "-c",
         "-o", work / "saxpy.bc", example / "saxpy.c")
    image = f"file={work}/saxpy.bc,triple=nvptx64-nvidia-cuda,arch=sm_90,kind=openmp"
    tool("llvm-offload-binary-22", "-o", work / "images.bin", f"--image={image}")
    tool("clang-22", "-O2", "-fPIC", "-c", "-Xclang",
         f"-fembed-offload-object={work}/images.bin",
         "-o", work / "launch.o", example / "launch.c")

    def link(name, program, output):
        line = (program, "--host-triple=x86_64-unknown-linux-gnu", "--linker-path=/usr/bin/ld",
                f"--device-compiler=nvptx64-nvidia-cuda=--cuda-path={cuda}",
                f"--cuda-path={cuda}", "-shared", "-o", output, work / "launch.o")
        return Command(name, line, output, has_saxpy(bench))

    return Row("small", "Full link of one small OpenMP kernel for one architecture", [
        bench.compare("shared library with one sm_90 kernel",
                      [link(OURS, bench.cuda.wrapper, work / "a.so"),
                       link(PEER, PEER_PROGRAM, work / "b.so")],
                      [Goal(OURS, 0.4, PEER)])])


def has_saxpy(bench):
    """A check for the one image. cuobjdump looks for images of CUDA's kind only."""
    def check(output):
        file = verify.inspected(bench.offlink, output)
        images = [(image["arch"], image["kernels"]) for image in file["images"]]
        if images != [("sm_90", ["saxpy"])] or not file["entries"]:
            sys.exit(f"bench: {output} has the images {images}")
    return check
