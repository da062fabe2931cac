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


# clang gives longer lines to clang-nvlink-wrapper 22 in a response file, which that
# does not read: "must pass in an explicit nvptx64 gpu architecture to 'nvlink'".
MOST_OF_PEER = 1000


def archive(bench):
    comparisons = []
    for count, used in ((60, 4),) if bench.quick else ((1000, 20), (2000, 20)):
        work = bench.fresh(f"archive-{count}")
        inputs, names = program(bench, work, count, used)
        ours, theirs = work / "program.ours", work / "program.peer"
        commands = [Command(OURS, bench.cuda.ours(inputs, ours), ours, verify.program(
            bench, ARCHS, names, bench.gpu.keep(f"archive-{count}")))]
        goals = []
        if count <= MOST_OF_PEER:
            commands.append(Command(PEER, bench.cuda.peers(inputs, theirs), theirs,
                                    verify.program(bench, ARCHS, names, more=True)))
            goals.append(Goal(OURS, 0.2, PEER))
        comparisons.append(bench.compare(f"{used} of {count} members used", commands, goals))
    return Row("archive", "Archives of which few members are used; "
               "clang-linker-wrapper can't link 2000", comparisons)


def program(bench, work, count, used):
    """A program's object and its archive, and the kernels that it has to have."""
    objects = bench.cuda.compile(members.members(count, bench.seed), ARCHS,
                                 "-nocudainc", "-nocudalib")
    # A line of 2,000 paths is too long for some.
    (work / "members").write_text("\n".join(map(str, objects)))
    library = work / "libmembers.a"
    tool("ar", "rcs", library, f"@{work}/members")
    chosen = random.Random(f"archive {bench.seed}").sample(range(count), used)
    user = bench.cuda.compile({"user": members.user(chosen, bench.seed)}, ARCHS)
    return [*user, library], members.names(chosen)
