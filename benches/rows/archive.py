"""Links with an archive of many members, few of which are used.

clang-linker-wrapper takes the device code of all members that define kernels,
whether the host linker takes them or not, so its output has more."""

import random

import verify
from measure import Command
from results import Goal, Row
from workloads import members
from workloads.cuda import tool

OURS = "offlink"
PEER = "clang-linker-wrapper"
ARCHS = ("sm_90",)


def archive(bench):
    count, used = (60, 4) if bench.quick else (2000, 20)
    work = bench.fresh("archive")
    cuda = bench.cuda
    objects = cuda.compile(members.members(count, bench.seed), ARCHS,
                           "-nocudainc", "-nocudalib")
    # A line of 2,000 paths is too long for some.
    (work / "members").write_text("\n".join(map(str, objects)))
    library = work / "libmembers.a"
    tool("ar", "rcs", library, f"@{work}/members")
    chosen = random.Random(f"archive {bench.seed}").sample(range(count), used)
    inputs = [*cuda.compile({"user": members.user(chosen, bench.seed)}, ARCHS), library]
    ours, theirs = work / "program.ours", work / "program.peer"
    names = members.names(chosen)
    comparison = bench.compare(
        f"{used} of {count} members used",
        [Command(OURS, cuda.ours(inputs, ours), ours,
                 verify.program(bench, ARCHS, names, bench.gpu.keep("archive"))),
         Command(PEER, cuda.peers(inputs, theirs), theirs,
                 verify.program(bench, ARCHS, names, more=True))],
        [Goal(OURS, 0.2, PEER)])
    return Row("archive", f"An archive of {count} members, {used} of them used", [comparison])
