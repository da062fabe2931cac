"""Links of which a part was linked before: what the cache saves.

The cache is filled by a link; then one object becomes another, and each turn gets a
copy of the cache as that first link left it."""

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


class Again:
    """A program that was linked once, and of which `changed` then replaces one object."""

    def __init__(self, bench, name, objects, number, changed, kernels):
        self.work = bench.fresh(name)
        units = [self.work / f"unit-{index}.o" for index in range(len(objects))]
        for source, unit in zip(objects, units):
            shutil.copy(source, unit)
        self.output = self.work / "program"
        self.cache, self.filled = self.work / "cache", self.work / "filled"
        self.line = bench.cuda.ours(units, self.output)
        self.check = verify.program(bench, ARCHS, kernels, bench.gpu.keep(name))
        self.cached = Command(OURS, self.line, self.output, self.check, self.prepare,
                              (("OFFLINK_CACHE_DIR", str(self.cache)),))
        run(self.cached, self.work / "log")
        if self.cache.exists():
            self.cache.rename(self.filled)
        shutil.copy(changed, units[number])

    def prepare(self, _turn):
        shutil.rmtree(self.cache, ignore_errors=True)
        if self.filled.exists():
            shutil.copytree(self.filled, self.cache)


def relink(bench):
    """Only host code has changed: the object with `main`."""
    count = 16 if bench.quick else 64
    objects = bench.cuda.compile(cub.units(count, bench.seed), ARCHS)
    before, after = bench.cuda.compile(
        {name: f'#include "check.h"\nconst char *edition = "{name}";\n'
               "int main() { return run_checks(); }\n" for name in ("before", "after")}, [])
    again = Again(bench, "relink", [before, *objects], 0, after, cub.names(count))
    # Its program has no image, so that only success can be asked of it.
    host = Command(HOST, host_line(again.line), again.output)
    return Row("relink", "Relink, device code unchanged", [bench.compare(
        f"{count} kernels", [again.cached, host], [Goal(OURS, 1.15, HOST)])])


def one_unit(bench):
    """One translation unit of 32 has changed: the constants of its kernels."""
    units, each = (4 if bench.quick else 32), cub.KERNELS_OF_UNIT
    objects = bench.cuda.program(
        bench.cuda.compile(cub.units(units * each, bench.seed), ARCHS))
    [changed] = bench.cuda.compile(
        {"changed": cub.unit(range(each), bench.seed, edition=1)}, ARCHS)
    again = Again(bench, "one-unit", objects, 1, changed, cub.names(units * each))
    full = Command(FULL, again.line, again.output, again.check)
    return Row("one-unit", f"One translation unit of {units} changed", [bench.compare(
        f"{units} units, {units * each} kernels", [again.cached, full],
        [Goal(OURS, 0.25, FULL)])])
