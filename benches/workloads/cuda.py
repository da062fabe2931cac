"""Compiles CUDA with clang 22, and knows the line by which clang has it linked."""

import hashlib
import os
import shlex
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from measure import say

HERE = Path(__file__).resolve().parent
CLANG = "clang++-22"
PEER = "clang-linker-wrapper-22"
LIBRARIES = ("-lcudart_static", "-ldl", "-lrt", "-lpthread")
# What every unit includes, so that a change of it makes all objects anew.
HEADERS = ("check.h", "cub.h", "heavy.h")


class Cuda:
    """A CUDA tree, a folder for what is compiled, and offlink under its peer's name."""

    def __init__(self, cuda, work, offlink):
        self.cuda = cuda
        self.objects = work / "objects"
        self.headers = b"".join((HERE / name).read_bytes() for name in HEADERS)
        self.wrapper = work / "clang-linker-wrapper"
        self.wrapper.unlink(missing_ok=True)
        self.wrapper.symlink_to(offlink)

    def compile(self, units, archs, *flags):
        """Objects of {name: text}, device code as bitcode for each of `archs`.

        A unit with no architecture is C++ for the host."""
        say(f"compiling {len(units)} units for {' '.join(archs) or 'the host'}")
        with ThreadPoolExecutor(os.cpu_count()) as pool:
            return list(pool.map(lambda unit: self.object(*unit, archs, flags), units.items()))

    def object(self, name, text, archs, more_flags):
        flags = ["-std=c++17", "-O2", "-c", f"-I{HERE}", f"-I{self.cuda}/include"]
        if archs:
            flags += ["-x", "cuda", "--offload-new-driver", "-fgpu-rdc", "-foffload-lto",
                      "-Wno-unknown-cuda-version", f"--cuda-path={self.cuda}",
                      f"-I{self.cuda}/include/cccl",
                      *(f"--offload-arch={arch}" for arch in archs)]
        flags += more_flags
        key = hashlib.sha256(self.headers + repr((text, flags)).encode()).hexdigest()[:16]
        output = self.objects / key / f"{name}.o"
        if not output.exists():
            output.parent.mkdir(parents=True, exist_ok=True)
            source = output.with_suffix(".cu" if archs else ".cpp")
            source.write_text(text)
            new = output.with_suffix(".new")
            tool(CLANG, *flags, "-o", new, source)
            new.rename(output)
        return output

    def program(self, objects):
        """The main program that runs the checks of all its units, as a list of objects."""
        return [*self.compile({"main": '#include "check.h"\nint main() { return run_checks(); }\n'},
                              []), *objects]

    def line(self, inputs, output, *flags):
        """The arguments that clang gives to its linker wrapper."""
        driver = tool(CLANG, "-###", "--offload-link", f"--cuda-path={self.cuda}",
                     f"-L{self.cuda}/lib", *inputs, *LIBRARIES, "-o", output)
        # The device compiler that LLVM's wrapper starts has to find CUDA as well.
        device = "--device-compiler=nvptx64-nvidia-cuda="
        return (*shlex.split(driver.stderr.splitlines()[-1])[1:],
                f"{device}--cuda-path={self.cuda}", f"{device}-O2", *flags)

    def ours(self, inputs, output, *flags):
        return (self.wrapper, *self.line(inputs, output, *flags))

    def peers(self, inputs, output, *flags):
        return (PEER, *self.line(inputs, output, *flags))


def host_line(line):
    """The host linker's line within a wrapper's line."""
    words = [str(word) for word in line[1:]]
    linker = next(word for word in words if word.startswith("--linker-path="))
    wrappers = ("--linker-path=", "--host-triple=", "--cuda-path=", "--device-compiler=")
    return (linker.partition("=")[2], *(word for word in words if not word.startswith(wrappers)))


def tool(*command):
    """Runs what is not measured; what it says is in the result, `stdout` and `stderr`."""
    line = [str(word) for word in command]
    if not shutil.which(line[0]):
        sys.exit(f"bench: there is no {line[0]}; 'scripts/setup test' installs what is needed")
    result = subprocess.run(line, capture_output=True, text=True)
    if result.returncode:
        sys.exit(f"bench: {' '.join(line)[:1000]}\n{result.stderr[-2000:]}")
    return result
