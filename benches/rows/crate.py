"""A crate of kernels by cargo: for nine GPUs of two vendors, and for one."""

import os
import shutil
import sys
from pathlib import Path

import verify
from measure import Command
from results import Row

ROOT = Path(__file__).resolve().parent.parent.parent
NVIDIA = ("sm_75", "sm_80", "sm_86", "sm_89", "sm_90", "sm_100")
AMD = ("gfx90a", "gfx942", "gfx1100")


def crate(bench):
    work = bench.fresh("crate")
    # The examples share files.
    shutil.copytree(ROOT / "examples", work / "examples",
                    ignore=shutil.ignore_patterns("target"))
    source = work / "examples/kernel-crate"

    def build(name, triples, archs):
        target = work / "-".join(archs)
        environment = {"PATH": f"{bench.offlink.parent}:{os.environ['PATH']}",
                       "CUDA_HOME": str(bench.cuda.cuda), "OFFLINK_ARCHS": ",".join(archs),
                       "CARGO_TARGET_DIR": str(target)}
        targets = " ".join(f"--target={triple}" for triple in triples)
        # cargo reads its configuration from the folder that it runs in.
        line = ("sh", "-c", f"cd {source} && cargo build -q --release {targets}")
        return Command(name, line, target / "nvptx64-nvidia-cuda/release/kernels.ptx",
                       check=images(bench, [arch for arch in archs if arch in NVIDIA]),
                       prepare=lambda turn: (source / "kernels/src/lib.rs").touch(),
                       environment=tuple(environment.items()))
    nine = build("nine GPUs", ("nvptx64-nvidia-cuda", "amdgcn-amd-amdhsa"), NVIDIA + AMD)
    one = build("sm_90 alone", ("nvptx64-nvidia-cuda",), ("sm_90",))
    return Row("crate", "A crate of kernels by cargo: six NVIDIA and three AMD GPUs, and one",
               [bench.compare("kernel crate", [nine, one], [])])


def images(bench, archs):
    """A check that the file has a cubin for each architecture, all with the same kernels.

    One cubin alone stands in no container that names its architecture."""
    named = sorted(archs) if len(archs) > 1 else [""]

    def check(output):
        file = verify.inspected(bench.offlink, output)
        found = {image["arch"]: image["kernels"] for image in file["images"]}
        cubins = all(image["format"] == "cubin" for image in file["images"])
        if sorted(found) != named or not cubins or any(
                names != ["saxpy"] for names in found.values()):
            sys.exit(f"bench: {output} has the images {found}")
    return check
