"""Results as text for a terminal, and as benches/RESULTS.md with plots."""

from pathlib import Path

import plot
from measure import spread
from results import QUANTITIES, number

HERE = Path(__file__).resolve().parent

METHOD = """# offlink measured

Written by `make bench` (`benches/bench`); what stands below "What bounds it" is
from `benches/bounds.md`.

## Method

- The commands of a comparison do the same work and run by turns in one session, the
  order changing from turn to turn. Inputs are in the page cache. Each output is
  removed before its command runs. A round of warm-up comes first; where a round takes
  more than 20 s it counts as a turn.
- Times are wall-clock times, from before the process is made until it has ended.
  Numbers are medians; in parentheses stand the first and third quartile. Ratios are
  those of the two commands in one turn, and their median.
- "CPU" is the processor time of the process and all below it, user and system.
- "Memory" is the peak of the tree of processes, looked at every 10 ms: what each
  process has for itself at that moment, added up, and the file pages of the one that
  maps most of them. It is at least the kernel's own figure for the largest process,
  which for a very short one includes what the measuring process had (about 20 MiB).
- Every output is checked in the same run. Of CUDA programs, NVIDIA's cuobjdump lists
  the kernels of each architecture, which must be those of the sources, for offlink and
  for the peer alike; wrapped images are compared byte by byte; links without device
  code must give the file that the bare linker gives. The programs check their results
  themselves on a GPU: the folder `gpu` beside what is kept of a run has them.
- clang-linker-wrapper gets the line that clang 22 gives to it, offlink the same. It
  uses one core by default; `--wrapper-jobs=2` is told apart. offlink uses all cores.
  Nothing is cached but where a row says so.
- offlink tells ptxas and the host linker by `GLIBC_TUNABLES` to allocate in larger steps
  and in huge pages. The linker beside which it is measured runs without, which is why a
  link through offlink can be the faster one.
- Kernels, constants, images and choices are drawn from the seed; `benches/bench
  --seed=N` measures others. Kernels have C's linkage, since clang-linker-wrapper drops
  hidden ones under device LTO.
"""


def quantity(samples, name, factor=1.0, with_spread=True):
    low, middle, high = (number(value * factor) for value in spread(
        [getattr(sample, name) for sample in samples]))
    return f"{middle} ({low} to {high})" if with_spread and len(samples) > 1 else middle


def table_of(comparison):
    """Rows of cells: command, time in ms, processor time in ms, memory in MiB."""
    return [(name, quantity(samples, "wall", 1000), quantity(samples, "cpu", 1000, False),
             quantity(samples, "peak", 1 / 2**20, False))
            for name, samples in comparison.samples.items()]


def turns(comparison):
    return len(next(iter(comparison.samples.values())))


def row_as_text(row):
    """A row for the terminal."""
    lines = [f"\n{row.title} [{row.name}]"]
    for comparison in row.comparisons:
        lines.append(f"  {comparison.title} ({turns(comparison)} turns)")
        for name, wall, cpu, peak in table_of(comparison):
            lines.append(f"    {name:<40} {wall:>28} ms {cpu:>8} ms CPU {peak:>7} MiB")
        lines += [f"    {verdict.goal}: {verdict}; goal {number(verdict.limit)}"
                  for verdict in comparison.verdicts]
        lines += [f"      {name}: {seconds * 1000:.0f} ms, {count}×"
                  for name, seconds, count in comparison.profile]
    lines += [f"  {verdict.goal}: {verdict}; goal {number(verdict.limit)}"
              for verdict in row.verdicts]
    return "\n".join(lines)


def write(folder, rows, machine, others):
    """RESULTS.md and plots/ in the folder. `others` has the rows of other seeds: {seed: rows}."""
    plots = folder / "plots"
    plots.mkdir(exist_ok=True)
    for old in plots.glob("*.svg"):
        old.unlink()
    parts = [METHOD, "## Machine and tools\n", table(("", ""), machine), "## Goals\n",
             table(("work", "what", "measured", "goal", "", "other seeds"), goals(rows, others))]
    bounds = read_bounds()
    for row in rows:
        parts += [f"## {row.title}\n"]
        parts += [f"![{caption}](plots/{name}.svg)\n" for name, caption in draw(row, plots)]
        for comparison in row.comparisons:
            parts += [f"**{comparison.title}**, {turns(comparison)} turns\n",
                      table(("", "time, ms", "CPU, ms", "memory, MiB"), table_of(comparison))]
        parts += missed(row, bounds)
    (folder / "RESULTS.md").write_text("\n".join(parts))


def table(head, rows):
    lines = ["| " + " | ".join(cells) + " |" for cells in (head, ("---",) * len(head), *rows)]
    return "\n".join(lines) + "\n"


def goals(rows, others):
    elsewhere = {}
    for seed, other_rows in others.items():
        for row in other_rows:
            for title, verdict in row.all_verdicts():
                elsewhere.setdefault((title, verdict.goal), []).append(
                    f"{number(verdict.measured[1])} (seed {seed})")
    for row in rows:
        for title, verdict in row.all_verdicts():
            measured, _, how = str(verdict).rpartition(", ")
            limit = f"at most {number(verdict.limit)} {verdict.unit}"
            yield (title, verdict.goal, measured, limit, how.replace("MISSED", "**missed**"),
                   ", ".join(elsewhere.get((title, verdict.goal), [])))


def missed(row, bounds):
    """Where the time goes if a goal of the row is missed, and what bounds it."""
    if all(verdict.met for _, verdict in row.all_verdicts()):
        return
    for comparison in row.comparisons:
        if comparison.profile:
            yield (f"Where the time goes in *{comparison.title}* (time trace of one run; what "
                   "runs at the same time is added up)\n")
            yield table(("phase or tool", "ms", "times"),
                        [(name, f"{seconds * 1000:.0f}", str(count))
                         for name, seconds, count in comparison.profile])
    if row.name in bounds:
        yield f"What bounds it: {bounds[row.name]}\n"


def read_bounds():
    """{name of a row: what bounds it} of the file that people write."""
    file = HERE / "bounds.md"
    sections = file.read_text().split("\n## ")[1:] if file.exists() else []
    return {name.strip(): words.strip()
            for name, _, words in (section.partition("\n") for section in sections)}


def draw(row, folder):
    """Draws time and memory of a row over its axis; yields name and caption of each plot."""
    placed = [comparison for comparison in row.comparisons if comparison.at is not None]
    if len(placed) < 2:
        return
    names = dict.fromkeys(name for comparison in placed for name in comparison.samples)
    for field, (what, factor, unit) in QUANTITIES.items():
        lines = [plot.Line(name, [
            (comparison.at, *(value * factor for value in spread(
                [getattr(sample, field) for sample in comparison.samples[name]])))
            for comparison in placed if name in comparison.samples]) for name in names]
        name, caption = f"{row.name}-{what}", f"{row.title}: {what}"
        (folder / f"{name}.svg").write_text(plot.svg(
            caption, row.axis, f"{what}, {unit}", lines, [comparison.at for comparison in placed]))
        yield name, caption
