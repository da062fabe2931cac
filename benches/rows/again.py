"""Links whose device code, or most of it, was linked before: what the cache saves.

Each turn gets a copy of the cache as the first link left it, and objects that no
turn had before, under the names that all turns have."""

import shutil

import verify
from measure import Command, run
from results import Goal, Row
from workloads import cub
from workloads.cuda import host_line

OURS = "offlink, linked before"
FULL = "offlink, without cache"
HOST = "host linker"
ARCHS = ("sm_90",)
# More turns than editions would find their own results in the cache.
EDITIONS = 10


class Again:
    """A program whose unit number `changing` has another edition in each turn."""

    def __init__(self, bench, name, objects, editions, kernels):
        self.work = bench.fresh(name)
        self.editions = editions
        self.units = [self.work / f"unit-{number}.o" for number in range(len(objects))]
        self.output = self.work / "program"
        self.cache, self.filled = self.work / "cache", self.work / "filled"
        self.line = bench.cuda.ours(self.units, self.output)
        self.check = verify.program(bench.cuda.cuda, ARCHS, kernels, bench.gpu.keep(name))
        for source, unit in zip(objects, self.units):
            shutil.copy(source, unit)
        run(self.cached(prepare=None), self.work / "log")
        if self.cache.exists():
            self.cache.rename(self.filled)

    def prepare(self, turn):
        shutil.rmtree(self.cache, ignore_errors=True)
        if self.filled.exists():
            shutil.copytree(self.filled, self.cache)
        number, edition = self.editions(turn)
        shutil.copy(edition, self.units[number])

    def cached(self, prepare):
        return Command(OURS, self.line, self.output, self.check, prepare,
                       (("OFFLINK_CACHE_DIR", str(self.cache)),))

    def compare(self, bench, title, against, limit):
        return bench.compare(title, [self.cached(self.prepare), against],
                             [Goal(OURS, limit, against.name)], most=EDITIONS - 2)


def relink(bench):
    """Only host code has changed: the object with `main` is another one each turn."""
    count = 16 if bench.quick else 64
    objects = bench.cuda.compile(cub.units(count, bench.seed), ARCHS)
    mains = bench.cuda.compile(
        {f"main_{turn}": f'#include "check.h"\nint edition = {turn};\n'
                         "int main() { return run_checks(); }\n"
         for turn in range(EDITIONS)}, [])
    again = Again(bench, "relink", [mains[0], *objects],
                  lambda turn: (0, mains[1 + turn % (EDITIONS - 1)]), cub.names(count))
    host = Command(HOST, host_line(again.line), again.output, prepare=again.prepare)
    return Row("relink", "Relink, device code unchanged",
               [again.compare(bench, f"{count} kernels", host, 1.15)])


def one_unit(bench):
    """One translation unit of 32 has changed: the constants of its kernels."""
    units, each = (4 if bench.quick else 32), cub.KERNELS_OF_UNIT
    texts = cub.units(units * each, bench.seed)
    objects = bench.cuda.program(bench.cuda.compile(texts, ARCHS))
    editions = bench.cuda.compile(
        {f"edition_{edition}": cub.unit(range(each), bench.seed, edition)
         for edition in range(1, EDITIONS)}, ARCHS)
    again = Again(bench, "one-unit", objects,
                  lambda turn: (1, editions[turn % len(editions)]), cub.names(units * each))
    full = Command(FULL, again.line, again.output, again.check, again.prepare)
    return Row("one-unit", f"One translation unit of {units} changed",
               [again.compare(bench, f"{units} units, {units * each} kernels", full, 0.25)])
