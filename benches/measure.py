"""Runs commands by turns; measures time, processor time and memory of each run.

The memory of a run is that of its whole tree of processes at one moment: what
each has for itself, added up, and the file pages (libraries, mapped inputs) of
the one that has most of them, since processes of one tool share most of those."""

import os
import statistics
import subprocess
import sys
import threading
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Callable

INTERVAL = 0.01
PAGE = os.sysconf("SC_PAGE_SIZE")
# A round of commands that takes longer than this is warm-up and turn in one.
LONG_ROUND = 20


def say(text):
    print(f"bench: {text}", file=sys.stderr, flush=True)


@dataclass(frozen=True)
class Command:
    """What is measured: a line, and how the output is made ready and checked."""
    name: str
    line: tuple
    output: Path
    # Takes the output and raises when something is wrong with it.
    check: Callable = field(default=lambda output: None)
    # Before each run, outside the measured time; takes the number of the turn.
    prepare: Callable = field(default=lambda turn: None)
    environment: tuple = ()


@dataclass
class Sample:
    """One run: seconds on the clock and on the processors, peak of the memory in bytes."""
    wall: float
    cpu: float
    peak: int


class Sampler(threading.Thread):
    """Follows the processes below one and keeps the largest memory seen."""

    def __init__(self, root):
        super().__init__(daemon=True)
        self.root = root
        self.peak = 0
        self.parents = {}
        self.over = threading.Event()

    def run(self):
        while not self.over.wait(INTERVAL):
            self.peak = max(self.peak, self.memory())

    def memory(self):
        own, files = 0, 0
        for process in self.tree():
            try:
                _, resident, shared, *_ = map(int, read(process, "statm").split())
                copy = self.is_copy(process)
            except OSError:
                continue
            own += 0 if copy else (resident - shared) * PAGE
            files = max(files, shared * PAGE)
        return own + files

    def is_copy(self, process):
        """Between fork and exec a child has its parent's memory and command line."""
        parent = self.parents[process]
        return process != self.root and read(process, "cmdline") == read(parent, "cmdline")

    def tree(self):
        """The root and all below it. The parent of a process is asked for once."""
        living = {int(name) for name in os.listdir("/proc") if name.isdigit()}
        self.parents = {child: parent for child, parent in self.parents.items()
                        if child in living}
        for process in sorted(living - self.parents.keys()):
            try:
                stat = read(process, "stat")
            except OSError:
                continue
            self.parents[process] = int(stat.rpartition(b")")[2].split()[1])
        found = {self.root}
        while True:
            more = {child for child, parent in self.parents.items() if parent in found}
            if more <= found:
                return found & self.parents.keys()
            found |= more


def read(process, name):
    with open(f"/proc/{process}/{name}", "rb") as file:
        return file.read()


def run(command, log):
    """One run of a command, its words into the file `log`."""
    environment = {**os.environ, "LC_ALL": "C", "OFFLINK_CACHE_DIR": "none",
                   **dict(command.environment)}
    line = [str(word) for word in command.line]
    with open(log, "wb") as words, open(os.devnull, "rb") as nothing:
        actions = [(os.POSIX_SPAWN_DUP2, nothing.fileno(), 0),
                   (os.POSIX_SPAWN_DUP2, words.fileno(), 1),
                   (os.POSIX_SPAWN_DUP2, words.fileno(), 2)]
        forget_own_peak()
        start = time.perf_counter()
        process = os.posix_spawnp(line[0], line, environment, file_actions=actions)
        sampler = Sampler(process)
        sampler.start()
        _, status, usage = os.wait4(process, 0)
        wall = time.perf_counter() - start
    sampler.over.set()
    sampler.join()
    if status:
        said = Path(log).read_text(errors="replace")[-2000:]
        sys.exit(f"bench: {command.name} failed: {' '.join(line)[:1000]}\n{said}")
    # The kernel's own number is exact, but for the largest single process.
    peak = max(sampler.peak, usage.ru_maxrss * 1024)
    return Sample(wall, usage.ru_utime + usage.ru_stime, peak)


def forget_own_peak():
    """Until it executes its program, a new process counts this one's memory as its own: the
    peak, if that isn't reset."""
    with open("/proc/self/clear_refs", "w") as file:
        file.write("5")


def compare(commands, work, budget, most=30, least=3):
    """{name of a command: its samples}, of as many turns as fit into `budget` seconds.

    Which command is first changes with the turn. Each output is checked; one with
    the bytes of a checked one is as right as that."""
    samples = {command.name: [] for command in commands}
    checked = set()

    def turn(number):
        order = commands if number % 2 == 0 else commands[::-1]
        for command in order:
            # Also the others': what isn't written to the disk yet would be during this run.
            for other in commands:
                other.output.unlink(missing_ok=True)
            command.prepare(number)
            sample = run(command, work / "log")
            check(command, checked)
            yield command.name, sample

    first = dict(turn(0))
    round_time = sum(sample.wall for sample in first.values())
    number = 1
    if round_time > LONG_ROUND:
        for name, sample in first.items():
            samples[name].append(sample)
    else:
        warm_up = 2 if round_time < 1 else 0
        for number in range(1, 1 + warm_up):
            dict(turn(number))
        number = 1 + warm_up
    turns = min(most, max(least, int(budget / round_time)))
    while len(samples[commands[0].name]) < turns:
        for name, sample in turn(number):
            samples[name].append(sample)
        number += 1
    return samples


def check(command, checked):
    identity = (command.name, digest(command.output))
    if identity not in checked:
        command.check(command.output)
        checked.add(identity)


def digest(path):
    """SHA-256 of a file, by a program: of 1 GiB Python would keep a buffer."""
    words = subprocess.run(["sha256sum", path], capture_output=True, check=True).stdout
    return words.split()[0]


def spread(values):
    """Quartiles: first, median, third."""
    if len(values) == 1:
        return values * 3
    return statistics.quantiles(values, n=4, method="inclusive")


def ratios(ours, theirs, quantity):
    """Quartiles of the ratio, turn by turn, of `quantity` (a field of Sample)."""
    return spread([getattr(mine, quantity) / getattr(other, quantity)
                   for mine, other in zip(ours, theirs)])
