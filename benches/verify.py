"""Is a measured output right? Each check takes the output's path and exits if not."""

import filecmp
import re
import subprocess
import sys
from pathlib import Path

from workloads.cuda import tool


def program(cuda, archs, kernels, keep=lambda output: None):
    """A check that a program has exactly these kernels for each architecture, as NVIDIA's
    cuobjdump reads it. A good output is given to `keep`."""
    wanted = {arch: set(kernels) for arch in archs}

    def check(output):
        found = device_kernels(cuda, output)
        if found != wanted:
            sys.exit(f"bench: {output.name} is wrong: {difference(wanted, found)}")
        keep(output)
    return check


def device_kernels(cuda, output):
    """{architecture: names of kernels} in a program."""
    found, arch = {}, ""
    for line in tool(cuda / "bin/cuobjdump", "-symbols", output).splitlines():
        if line.startswith("arch = "):
            arch = line.removeprefix("arch = ")
            found.setdefault(arch, set())
        elif " STO_ENTRY " in line:
            found[arch].add(line.split()[-1])
    return found


def difference(wanted, found):
    if wanted.keys() != found.keys():
        return f"images for {sorted(found)} in place of {sorted(wanted)}"
    return "; ".join(
        f"{arch} lacks {len(names - found[arch])} kernels ({sorted(names - found[arch])[:3]})"
        f" and has {len(found[arch] - names)} too many ({sorted(found[arch] - names)[:3]})"
        for arch, names in wanted.items() if names != found[arch])


def same_file(expected):
    """A check that the output has the bytes of another file."""
    def check(output):
        if not filecmp.cmp(output, expected, shallow=False):
            sys.exit(f"bench: {output} differs from {expected}")
    return check


def wraps(container):
    """A check that an object registers the images of an offload binary, all bytes of it."""
    def check(output):
        sections = tool("readelf", "-SW", output)
        place = re.search(r" \.llvm\.offloading +\S+ +\S+ +(\S+) +(\S+) ", sections)
        if not place or "init_array" not in sections:
            sys.exit(f"bench: {output} registers nothing")
        offset, size = (int(word, 16) for word in place.groups())
        command = ["cmp", f"--ignore-initial={offset}:0", f"--bytes={size}", output, container]
        if size != Path(container).stat().st_size or subprocess.run(command).returncode:
            sys.exit(f"bench: {output} has other images than {container}")
    return check
