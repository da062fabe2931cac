"""Is a measured output right? Each check takes the output's path and exits if not."""

import filecmp
import json
import re
import struct
import subprocess
import sys
from pathlib import Path

from workloads.cuda import tool


def program(bench, archs, kernels, keep=lambda output: None, more=False):
    """A check that a program has these kernels for each architecture, as NVIDIA's cuobjdump
    reads it, and an entry for each; no others, unless there may be `more`.

    A good output is given to `keep`."""
    wanted = {arch: set(kernels) for arch in archs}

    def check(output):
        found = device_kernels(bench.cuda.cuda, output)
        part = {arch: found.get(arch, set()) & wanted[arch] for arch in wanted}
        if (part if more else found) != wanted:
            sys.exit(f"bench: {output.name} is wrong: {difference(wanted, found)}")
        entries = {entry["name"] for entry in inspected(bench.offlink, output)["entries"]}
        if not entries >= set(kernels):
            sys.exit(f"bench: {output.name} has no entries for {set(kernels) - entries}")
        keep(output)
    return check


def inspected(offlink, path):
    """What `offlink inspect` finds in a file."""
    [file] = json.loads(tool(offlink, "inspect", "--json", path).stdout)
    return file


def device_kernels(cuda, output):
    """{architecture: names of kernels} in a program."""
    found, arch = {}, ""
    for line in tool(cuda / "bin/cuobjdump", "-symbols", output).stdout.splitlines():
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


def wraps(image):
    """A check that an object registers an image, all bytes of it, in an offload binary."""
    def check(output):
        sections = tool("readelf", "-SW", output).stdout
        place = re.search(r" \.llvm\.offloading +\S+ +\S+ +(\S+) +(\S+) ", sections)
        if not place or "init_array" not in sections:
            sys.exit(f"bench: {output} registers nothing")
        start, size = image_in_offload_binary(output, int(place[1], 16))
        command = ["cmp", f"--ignore-initial={start}:0", f"--bytes={size}", output, image]
        if size != Path(image).stat().st_size or subprocess.run(command).returncode:
            sys.exit(f"bench: {output} has other images than {image}")
    return check


def image_in_offload_binary(path, start):
    """Place and size of the first image of the offload binary at `start` (version 1,
    little endian: its header leads to an entry, that to the image)."""
    with open(path, "rb") as file:
        file.seek(start)
        magic, _, _, entry = struct.unpack("<4sIQQ", file.read(24))
        if magic != b"\x10\xff\x10\xad":
            sys.exit(f"bench: {path} has no offload binary where it should")
        # Kinds and flags take eight bytes, the strings' place and number sixteen.
        file.seek(start + entry + 24)
        offset, size = struct.unpack("<QQ", file.read(16))
    return start + offset, size
