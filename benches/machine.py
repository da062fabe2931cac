"""Where and with what was measured, without the names of hosts and folders."""

import os
import re
import subprocess
from pathlib import Path


# Results, and words about them, change nothing that is measured.
MEASURED = ("src", "crates", "benches", "Cargo.toml", "Cargo.lock",
            ":!benches/RESULTS.md", ":!benches/bounds.md", ":!benches/plots")

# For whom the system has huge pages: the mode in brackets.
HUGE_PAGES = Path("/sys/kernel/mm/transparent_hugepage/enabled")


def commit(root):
    """The newest commit of what is measured, marked if files differ from it."""
    def git(*words):
        return subprocess.run(["git", "-C", root, *words, "--", *MEASURED], capture_output=True,
                              text=True, check=True).stdout.strip()
    changed = git("status", "--porcelain")
    return git("log", "-1", "--format=%h", "--abbrev=12") + ("-changed" if changed else "")


def describe(root, cuda, seed):
    """[(what, value)]."""
    return [
        ("Processor", f"{processor()}, {os.cpu_count()} cores"),
        ("Memory", f"{memory_gib():.0f} GiB"),
        ("System", f"{distribution()}, Linux {os.uname().release.split('-')[0]}"),
        ("Huge pages", HUGE_PAGES.read_text().strip()),
        ("offlink", f"commit {commit(root)}"),
        ("LLVM", version("clang-linker-wrapper-22", "--version")),
        ("CUDA", version(cuda / "bin/ptxas", "--version")),
        ("Linker", version("ld", "--version")),
        ("Compilers", f"{version('cc', '--version')}; {version('rustc', '--version')}"),
        ("Seed", str(seed)),
    ]


def processor():
    found = re.search(r"^model name\s*: (.*)$", Path("/proc/cpuinfo").read_text(), re.M)
    return found[1] if found else os.uname().machine


def memory_gib():
    return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") / 2**30


def distribution():
    found = re.search(r'^PRETTY_NAME="?(.*?)"?$', Path("/etc/os-release").read_text(), re.M)
    return found[1] if found else "unknown"


def version(*command):
    """The line of a tool's version text that has the version in it."""
    text = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    lines = [line.strip() for line in text.splitlines() if re.search(r"\d+\.\d+", line)]
    return max(lines[:3], key=lambda line: "release" in line)
