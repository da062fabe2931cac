"""Full links of CUDA programs with device LTO, beside clang-linker-wrapper 22."""

import verify
from measure import Command
from results import Goal, Row, growth
from workloads import cub, heavy

OURS = "offlink"
PEER = "clang-linker-wrapper"
PEER_2 = "clang-linker-wrapper --wrapper-jobs=2"
SIX = ("sm_75", "sm_80", "sm_86", "sm_89", "sm_90", "sm_100")
TWO = ("sm_90", "sm_100")
ONE = ("sm_90",)


def commands(bench, name, objects, archs, kernels, peers=(PEER,)):
    """The links of one program: offlink's, and the peer's in the ways named."""
    work = bench.fresh(name)
    cuda = bench.cuda
    outputs = [work / f"program.{number}" for number in range(1 + len(peers))]
    check = verify.program(bench, archs, kernels)
    result = [Command(OURS, cuda.ours(objects, outputs[0]), outputs[0],
                      verify.program(bench, archs, kernels, bench.gpu.keep(name)))]
    for peer, output in zip(peers, outputs[1:]):
        flags = peer.split()[1:]
        result.append(Command(peer, cuda.peers(objects, output, *flags), output, check))
    return result


def cub_program(bench, kernels, archs):
    return bench.cuda.program(bench.cuda.compile(cub.units(kernels, bench.seed), archs))


def archs(bench):
    """A small program for one to six architectures."""
    comparisons = []
    for count in (1, 6) if bench.quick else range(1, 7):
        # sm_90, on which the results are run, is always among them.
        chosen = tuple(sorted({*ONE, *SIX[:count - 1], *(SIX[5:] if count == 6 else ())},
                              key=SIX.index))
        objects = cub_program(bench, 1, chosen)
        peers = (PEER,) if count == 1 else (PEER, PEER_2)
        goals = {1: [Goal(OURS, 0.4, PEER)],
                 6: [Goal(OURS, 0.3, PEER), Goal(OURS, 0.45, PEER_2)]}.get(count, [])
        comparisons.append(bench.compare(
            f"{count} architecture{'s' if count > 1 else ''}",
            commands(bench, f"archs-{count}", objects, chosen, cub.names(1), peers),
            goals, at=count))
    return Row("archs", "Full link of one small kernel for 1 to 6 architectures", comparisons,
               "architectures")


def lto(bench):
    """Device LTO of CUB's kernels for two architectures."""
    goals = [Goal(OURS, 0.7, PEER_2), Goal(OURS, 1.0, PEER_2, "peak")]
    comparisons = []
    for count in (16,) if bench.quick else (16, 64):
        objects = cub_program(bench, count, TWO)
        comparisons.append(bench.compare(
            f"{count} kernels × 2 architectures",
            commands(bench, f"lto-{count}", objects, TWO, cub.names(count), (PEER_2,)), goals))
    return Row("lto", "Device LTO of CUB kernels for two architectures", comparisons)


def heavy_lto(bench):
    """Device LTO of a big program for one architecture."""
    count = 32 if bench.quick else heavy.KERNELS
    objects = bench.cuda.program(bench.cuda.compile(heavy.units(count, bench.seed), ONE))
    goals = [Goal(OURS, 0.55, PEER), Goal(OURS, 0.5, PEER, "peak")]
    comparison = bench.compare(
        f"{count} kernels", commands(bench, "heavy", objects, ONE, heavy.names(count)), goals)
    return Row("heavy", "Heavy device LTO for one architecture", [comparison])


def kernels(bench):
    """CUB's kernels for one architecture, 1 to 256 of them."""
    counts = (1, 8, 16) if bench.quick else (1, 2, 4, 8, 16, 32, 64, 128, 256)
    comparisons = []
    for count in counts:
        objects = cub_program(bench, count, ONE)
        goals = [Goal(OURS, 0.5, PEER, "peak")] if count == counts[-1] else []
        comparisons.append(bench.compare(
            f"{count} kernel{'s' if count > 1 else ''}",
            commands(bench, f"kernels-{count}", objects, ONE, cub.names(count)), goals, at=count))
    return Row("kernels", f"1 to {counts[-1]} CUB kernels for one architecture", comparisons,
               "kernels", [growth(comparisons, OURS, "kernels")])
